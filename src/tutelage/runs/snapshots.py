"""Pictures of a run at one moment, for those who watch it elsewhere: its levels, and its student at play."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from ..errors import UserError
from ..evaluation.record import record
from ..pictures import sheet
from .levels import generated_levels, top_levels
from .session import Run

LEVELS, LONGEST = 8, 200
"""How many levels are drawn, and how many steps of an episode."""


class Snapshot(NamedTuple):
    """What there is to draw: None, or no frames, where an environment cannot."""

    levels: np.ndarray | None
    episode: list[np.ndarray]
    pace: int


def snapshot(run: Run) -> Snapshot:
    """The levels that the buffer values most, or new ones where there is none, and an episode on the watched suite."""
    viewer = run.domain.viewer
    if viewer is None:
        return Snapshot(None, [], 0)
    levels, frames = None, []
    if viewer.picture is not None:
        try:
            shown = top_levels(run, LEVELS)
        except UserError:  # the buffer is empty, or the method has none
            shown = generated_levels(run, LEVELS)
        levels = sheet([viewer.picture(one.level) for one in shown], [one.caption for one in shown], columns=4)
    if viewer.frames is not None:
        task = run.domain.suites[run.settings.train.suite].tasks[0]
        episode = record(run.agent, run.student(), task)
        states = jax.tree.map(lambda x: x[: LONGEST + 1], episode.states)
        frames = list(viewer.frames(episode.level, states))
    return Snapshot(levels, frames, viewer.pace)
