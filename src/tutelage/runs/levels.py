"""The levels of a run: those that its buffer values most, and those that its generator makes now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..curricula import base
from ..curricula.base import Kept
from ..errors import UserError
from ..pictures import png, sheet, write
from ..plugins import label
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


def kept_levels(run: Run, student: int = 0) -> Kept:
    """The levels that a run's curriculum holds for a student, as numpy arrays without the student axis."""
    check_student(student, run.trainer.students)
    try:
        held = base.kept(run.trainer.curriculum, run.state.curriculum)
    except UserError as problem:
        method = label(run.settings.method)
        raise UserError(
            f"The method {method} keeps no levels; give --generated to see those that it makes now."
        ) from problem
    return jax.tree.map(lambda x: np.asarray(x[min(student, len(x) - 1)]), held)


def top_levels(run: Run, number: int, student: int = 0) -> list[LevelCard]:
    """The levels with the highest scores, best first."""
    held = kept_levels(run, student)
    size = int(held.size)
    if size == 0:
        raise UserError("The run has kept no levels yet; train it further.")
    order = np.argsort(-held.score[:size], kind="stable")[:number]
    return [
        exhibit(run, held.levels, slot, f"#{rank}  score {held.score[slot]:.4f}, generation {held.generation[slot]}")
        for rank, slot in enumerate(order, start=1)
    ]


def generated_levels(run: Run, number: int, seed: int = 0) -> list[LevelCard]:
    """New levels from the run's generator as it is now: what a teacher that learns has come to build."""
    curriculum = run.trainer.curriculum
    generate = jax.jit(lambda key: jax.tree.map(lambda x: x[0], base.generate(curriculum, key, run.state.curriculum)))
    keys = jax.random.split(jax.random.key(seed), -(-number // run.trainer.levels))
    batches = [jax.tree.map(np.asarray, generate(key)) for key in keys]
    levels = jax.tree.map(lambda *parts: np.concatenate(parts), *batches)
    return [exhibit(run, levels, index, f"generated {index + 1}") for index in range(number)]


def exhibit(run: Run, levels: Level, index: int, title: str) -> LevelCard:
    """One of an array of levels, with its figures."""
    level: Any = jax.tree.map(lambda x: x[index], levels)
    return LevelCard(level, title, {name: float(value) for name, value in run.domain.levels.metrics(level).items()})


def gallery(run: Run, levels: list[LevelCard], path: Path) -> None:
    """Draw levels with captions into one PNG."""
    viewer = run.domain.viewer
    if viewer is None or viewer.picture is None:
        raise UserError(f"Levels of {run.settings.environment} cannot be drawn; leave --png out to print them.")
    pictures = [viewer.picture(entry.level) for entry in levels]
    write(path, png(sheet(pictures, [entry.caption for entry in levels])))
