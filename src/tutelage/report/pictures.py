"""What a run has to show: the levels that its buffer values, how one of them came to be, and its student at play.

The only part of a report that opens a checkpoint, and so needs JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from PIL import Image, ImageChops, ImageFilter

from ..curricula.base import Kept
from ..envs.base import Viewer
from ..errors import UserError
from ..evaluation.record import Episode, record
from ..evaluation.suite_file import is_file
from ..pictures import gif, png
from ..runs.levels import LevelCard, exhibit, generated_levels, kept_levels, top_levels
from ..runs.session import Run, load
from ..types import Level
from .records import EvaluationRecord, RunRecord

CANDIDATES = 100
"""So many of the best levels are looked at for the longest lineage."""
ATTEMPTS = 5
"""Episodes that are played on a task, to show the shortest that is solved, or one that is not."""
LONGEST, LONGEST_FAILURE = 400, 150
"""Steps of an episode that are shown at most: more would make the page heavy. A failure is seen early."""
CHANGED = (213, 94, 0)
COLOURS = 64
"""Of a picture, for small files."""

Draw = Callable[[Level], np.ndarray]


class Picture(NamedTuple):
    """Bytes to be embedded, and what to say beneath."""

    title: str
    text: str
    kind: str
    """``png`` or ``gif``."""
    data: bytes
    still: bytes = b""
    """For a moving picture: its last frame as PNG, for who wants no movement."""


class Lineage(NamedTuple):
    """A level and those it was edited from, oldest first."""

    pictures: tuple[Picture, ...]
    text: str


class RunPictures(NamedTuple):
    """The pictures of one run. Whatever it has none of, ``remarks`` says why."""

    iteration: int
    levels: tuple[Picture, ...]
    kept: bool
    """The levels are a buffer's best, and not new ones of the generator."""
    lineage: Lineage | None
    episodes: tuple[Picture, ...]
    remarks: tuple[str, ...]


def run_pictures(source: RunRecord, suite: str, top: int, warn: Callable[[str], None]) -> RunPictures:
    """Draw what a run has to show, from its newest checkpoint."""
    run = load(source.path, warn)
    remarks: list[str] = []
    buffer = _buffer(run)
    if buffer is None:
        remarks.append(f"{source.settings.method} keeps no levels; these are new ones from its generator.")
    elif not int(buffer.size):
        remarks.append("The buffer is still empty; these are new levels from the generator.")
    kept = buffer is not None and int(buffer.size) > 0
    levels: tuple[Picture, ...] = ()
    lineage = None
    viewer = run.domain.viewer
    if viewer is None or viewer.picture is None:
        remarks = [f"Levels of {source.settings.environment} cannot be drawn."]
    else:
        exhibits = top_levels(run, top) if kept else generated_levels(run, top)
        levels = tuple(_pictured(viewer.picture, entry) for entry in exhibits)
        if kept and buffer is not None:
            lineage = _lineage(run, viewer.picture, buffer)
            if lineage is None:
                remarks.append("None of the best levels in the buffer was edited, so there is no lineage to draw.")
    if viewer is None or viewer.frames is None:
        remarks.append(f"Episodes of {source.settings.environment} cannot be drawn.")
        episodes: tuple[Picture, ...] = ()
    elif is_file(suite):
        remarks.append(f"The levels of {suite} are not part of the run, so there are no episodes on them to draw.")
        episodes = ()
    else:
        episodes = _episodes(run, viewer, source.last(suite), suite)
    return RunPictures(run.iteration, levels, kept, lineage, episodes, tuple(remarks))


# --- levels


def _buffer(run: Run) -> Kept | None:
    try:
        return kept_levels(run)
    except UserError:  # the method keeps none
        return None


def _pictured(draw: Draw, entry: LevelCard) -> Picture:
    return Picture(entry.title, _figures(entry), "png", png(draw(entry.level), COLOURS))


def _figures(entry: LevelCard) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in entry.metrics.items())


# --- where a level comes from


def ancestry(buffer: Kept, slot: int) -> list[int]:
    """The slots of a level and of its ancestors, oldest first, as far back as the buffer still has them."""
    slots = {int(number): at for at, number in enumerate(np.asarray(buffer.id)[: int(buffer.size)])}
    chain = [slot]
    while (parent := int(buffer.parent[chain[-1]])) in slots and slots[parent] not in chain:
        chain.append(slots[parent])
    return chain[::-1]


def _lineage(run: Run, draw: Draw, buffer: Kept) -> Lineage | None:
    """Of the best levels, the one with the most ancestors that are still there."""
    best = np.argsort(-np.asarray(buffer.score)[: int(buffer.size)], kind="stable")[:CANDIDATES]
    chains = [ancestry(buffer, int(slot)) for slot in best]
    rank = max(range(len(chains)), key=lambda i: (len(chains[i]), int(buffer.generation[best[i]]), -i))
    chain = chains[rank]
    generation = int(buffer.generation[chain[-1]])
    if generation == 0:
        return None
    pictures = []
    before: tuple[np.ndarray, dict[str, float]] | None = None
    for slot in chain:
        born = int(buffer.generation[slot])
        title = "generated" if born == 0 else f"after edit {born}"
        entry = exhibit(run, buffer.levels, slot, title)
        image = draw(entry.level)
        text = _figures(entry) if before is None else _changes(before[1], entry.metrics)
        shown = image if before is None else _outlined(before[0], image)
        pictures.append(Picture(title, text, "png", png(shown, COLOURS)))
        before = image, entry.metrics
    return Lineage(tuple(pictures), lineage_text(rank + 1, generation, len(chain) - 1))


def lineage_text(rank: int, generation: int, ancestors: int) -> str:
    """What is drawn, and what cannot be, because a full buffer lets levels go."""
    edits = "once" if generation == 1 else f"{generation} times"
    missing = generation - ancestors
    text = f"The level at place {rank} of the buffer, which was edited {edits} since it was generated. "
    if missing == 0:
        return text + "All its ancestors are still in the buffer."
    gone = "1 ancestor has" if missing == 1 else f"{missing} ancestors have"
    found = "none is" if ancestors == 0 else "1 is" if ancestors == 1 else f"{ancestors} are"
    return text + f"{gone} left the buffer and cannot be drawn; {found} still there."


def _changes(before: dict[str, float], now: dict[str, float]) -> str:
    """The figures of a level, and by how much an edit has changed them."""
    shifts = {name: value - before[name] for name, value in now.items()}
    return ", ".join(f"{name} {now[name]:g}" + (f" ({shift:+g})" if shift else "") for name, shift in shifts.items())


def _outlined(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """A picture with a line around what differs from another; as it is where the two cannot be laid on each other."""
    if before.shape != now.shape:
        return now
    changed = Image.fromarray((before != now).any(-1).astype(np.uint8) * 255)
    around = ImageChops.subtract(changed.filter(ImageFilter.MaxFilter(5)), changed)
    return np.where(np.asarray(around)[..., None], np.array(CHANGED, np.uint8), now)


# --- the student at play


def _episodes(run: Run, viewer: Viewer, last: EvaluationRecord, suite: str) -> tuple[Picture, ...]:
    """Two tasks that are solved most often, and one that is solved least."""
    tasks = {task.name: task for task in run.domain.suites[suite].tasks}
    by_rate = sorted((name for name in last.tasks if name in tasks), key=lambda name: -last.tasks[name].solved)
    solved = [name for name in by_rate if last.tasks[name].solved > 0][:2]
    failed = [name for name in by_rate[::-1] if last.tasks[name].solved < 1 and name not in solved][:1]
    if not failed:
        failed = [name for name in by_rate[::-1] if last.tasks[name].solved < 1][:1]
    wishes = [(name, True) for name in solved] + [(name, False) for name in failed]
    state = run.student()
    pictures = []
    for name, wish in wishes:
        episodes = [record(run.agent, state, tasks[name], 0, number) for number in range(ATTEMPTS)]
        wished = [episode for episode in episodes if (episode.total > run.domain.rules.success) == wish]
        if wished:
            pictures.append(_moving(viewer, name, wish, min(wished, key=lambda episode: episode.length)))
    return tuple(pictures)


def _moving(viewer: Viewer, name: str, solved: bool, episode: Episode) -> Picture:
    assert viewer.frames is not None
    shown = min(episode.length, LONGEST if solved else LONGEST_FAILURE)
    states: Any = jax.tree.map(lambda x: x[: shown + 1], episode.states)
    frames = list(viewer.frames(episode.level, states))
    end = f"solved in {episode.length} steps" if solved else f"not solved in {episode.length} steps"
    cut = f", of which the first {shown} are shown" if shown < episode.length else ""
    return Picture(name, f"{end}{cut}", "gif", gif(frames, viewer.pace), png(frames[-1], COLOURS))
