"""The levels that a run's buffer values most."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..curricula.buffer import BufferState
from ..errors import UserError
from ..types import Level
from .session import Run, check_student


class Ranked(NamedTuple):
    """A level of a buffer."""

    rank: int
    level: Level
    score: float
    generation: int
    metrics: dict[str, float]

    @property
    def caption(self) -> str:
        figures = ", ".join(f"{name} {value:g}" for name, value in self.metrics.items())
        return f"#{self.rank}  score {self.score:.4f}, generation {self.generation}\n{figures}"


def buffer_of(run: Run, student: int = 0) -> BufferState:
    """A student's level buffer, wherever in the curriculum it is."""
    nodes = jax.tree.leaves(run.state.curriculum, is_leaf=lambda x: isinstance(x, BufferState))
    buffers = [node for node in nodes if isinstance(node, BufferState)]
    if not buffers:
        raise UserError(f"The method {run.settings.method} keeps no levels, so there are none to show.")
    check_student(student, run.trainer.students)
    return jax.tree.map(lambda x: np.asarray(x[student]), buffers[0])


def top_levels(run: Run, number: int, student: int = 0) -> list[Ranked]:
    """The levels with the highest scores, best first."""
    buffer = buffer_of(run, student)
    size = int(buffer.size)
    if size == 0:
        raise UserError("The run's buffer is still empty; train it further.")
    order = np.argsort(-buffer.score[:size], kind="stable")[:number]
    return [_ranked(run, buffer, rank, slot) for rank, slot in enumerate(order, start=1)]


def _ranked(run: Run, buffer: BufferState, rank: int, slot: int) -> Ranked:
    level: Any = jax.tree.map(lambda x: x[slot], buffer.levels)
    metrics = {name: float(value) for name, value in run.trainer.space.metrics(level).items()}
    return Ranked(rank, level, float(buffer.score[slot]), int(buffer.generation[slot]), metrics)


def gallery(run: Run, levels: list[Ranked], path: Path) -> None:
    """Draw levels with captions into one PNG."""
    if run.room.gallery is None:
        raise UserError(f"Levels of {run.settings.environment} cannot be drawn; leave --png out to print them.")
    try:
        run.room.gallery([entry.level for entry in levels], [entry.caption for entry in levels], path)
    except (OSError, ValueError) as problem:
        raise UserError(f"The picture {path} could not be written: {problem}.") from problem
