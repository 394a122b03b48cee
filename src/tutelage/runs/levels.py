"""The levels of a run: those that its buffer values most, and those that its generator makes now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..curricula.buffer import BufferState
from ..errors import UserError
from ..types import Level
from .session import Run, check_student


class LevelCard(NamedTuple):
    """A level, and what to say about it."""

    level: Level
    title: str
    metrics: dict[str, float]

    @property
    def caption(self) -> str:
        figures = ", ".join(f"{name} {value:g}" for name, value in self.metrics.items())
        return f"{self.title}\n{figures}"


def buffer_of(run: Run, student: int = 0) -> BufferState:
    """A student's level buffer, wherever in the curriculum it is."""
    nodes = jax.tree.leaves(run.state.curriculum, is_leaf=lambda x: isinstance(x, BufferState))
    buffers = [node for node in nodes if isinstance(node, BufferState)]
    if not buffers:
        raise UserError(
            f"The method {run.settings.method} keeps no levels; give --generated to see those that it makes now."
        )
    check_student(student, run.trainer.students)
    return jax.tree.map(lambda x: np.asarray(x[student]), buffers[0])


def top_levels(run: Run, number: int, student: int = 0) -> list[LevelCard]:
    """The levels with the highest scores, best first."""
    buffer = buffer_of(run, student)
    size = int(buffer.size)
    if size == 0:
        raise UserError("The run's buffer is still empty; train it further.")
    order = np.argsort(-buffer.score[:size], kind="stable")[:number]
    return [
        exhibit(
            run, buffer.levels, slot, f"#{rank}  score {buffer.score[slot]:.4f}, generation {buffer.generation[slot]}"
        )
        for rank, slot in enumerate(order, start=1)
    ]


def generated_levels(run: Run, number: int, seed: int = 0) -> list[LevelCard]:
    """New levels from the run's generator as it is now: what a teacher that learns has come to build."""
    curriculum = run.trainer.curriculum
    generate = jax.jit(lambda key: jax.tree.map(lambda x: x[0], curriculum.generate(key, run.state.curriculum)))
    keys = jax.random.split(jax.random.key(seed), -(-number // run.trainer.levels))
    batches = [jax.tree.map(np.asarray, generate(key)) for key in keys]
    levels = jax.tree.map(lambda *parts: np.concatenate(parts), *batches)
    return [exhibit(run, levels, index, f"generated {index + 1}") for index in range(number)]


def exhibit(run: Run, levels: Level, index: int, title: str) -> LevelCard:
    """One of an array of levels, with its figures."""
    level: Any = jax.tree.map(lambda x: x[index], levels)
    return LevelCard(level, title, {name: float(value) for name, value in run.trainer.space.metrics(level).items()})


def gallery(run: Run, levels: list[LevelCard], path: Path) -> None:
    """Draw levels with captions into one PNG."""
    if run.domain.gallery is None:
        raise UserError(f"Levels of {run.settings.environment} cannot be drawn; leave --png out to print them.")
    try:
        run.domain.gallery([entry.level for entry in levels], [entry.caption for entry in levels], path)
    except (OSError, ValueError) as problem:
        raise UserError(f"The picture {path} could not be written: {problem}.") from problem
