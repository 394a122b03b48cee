"""Watch a run's student: episodes on levels of one's own or on a suite's, as text or as pictures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..envs.base import Task
from ..errors import UserError, require
from ..evaluation.record import Episode, record
from ..evaluation.suite_file import find_suite
from ..pictures import gif, mp4, png, strip, write
from ..plugins import label
from .session import Run


class Watched(NamedTuple):
    """An episode on a named level."""

    name: str
    episode: Episode
    solved: bool

    def __str__(self) -> str:
        steps = f"{self.episode.length} step{'s' * (self.episode.length != 1)}"
        how = f"solved in {steps}" if self.solved else f"not solved in {steps}"
        return f"{self.name}: {how}, return {self.episode.total:.3f}"


def play(
    run: Run,
    levels: str = "",
    seed: int = 0,
    number: int = 0,
    greedy: bool = False,
    student: int = 0,
) -> list[Watched]:
    """Play episode ``number`` on every level of a file (see docs/suite-files.md) or of a suite, and keep all of it.

    Without levels, those of the suite that the run watched in training. The episodes are those that ``evaluate`` counts
    with the same seed.
    """
    require(number >= 0, f"Episode {number} was asked for; they are counted from 0.")
    chosen = find_suite(run.domain, levels or run.settings.train.suite)
    state = run.student(student)
    return [_watched(run, task, record(run.agent, state, task, seed, number, greedy)) for task in chosen.tasks]


def _watched(run: Run, task: Task, episode: Episode) -> Watched:
    return Watched(task.name, episode, episode.total > run.domain.rules.success)


def frames(run: Run, episode: Episode) -> list[np.ndarray]:
    """An episode as pictures, one a step and one for its beginning."""
    viewer = run.domain.viewer
    if viewer is None or viewer.frames is None:
        raise UserError(
            f"Episodes of {label(run.settings.environment)} cannot be drawn; leave the picture out. An environment of "
            'your own is drawn if its make() takes render_mode="rgb_array", or if it has a render().'
        )
    return list(viewer.frames(episode.level, episode.states))


def save(run: Run, watched: list[Watched], path: Path | str) -> list[Path]:
    """Write episodes as ``.gif``, ``.mp4`` or ``.png`` (up to twelve frames side by side), by the name of the file. Of
    several episodes each has a file, with the name of its level.
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise UserError(f"{path} is not a picture format that can be written; give a name with {', '.join(_WRITERS)}.")
    viewer = run.domain.viewer
    pace = viewer.pace if viewer else 120
    written = []
    for one in watched:
        name = re.sub(r"[^\w.-]+", "-", one.name).strip("-") or "level"
        file = path if len(watched) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")
        write(file, _WRITERS[path.suffix](frames(run, one.episode), pace))
        written.append(file)
    return written


_WRITERS: dict[str, Callable[[list[np.ndarray], int], bytes]] = {
    ".gif": gif,
    ".mp4": mp4,
    ".png": lambda pictures, pace: png(strip(pictures)),
}


def as_text(run: Run, level: Any) -> str:
    """A level for a terminal."""
    viewer = run.domain.viewer
    if viewer is not None:
        return viewer.text(level)
    return str(jax.tree.map(lambda x: np.asarray(x).tolist(), level))
