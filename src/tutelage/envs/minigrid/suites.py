"""Held-out levels: new ones of the whole distribution, and of each difficulty by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import unknown
from ..base import Suite, Task
from .env import MiniGrid
from .level import GridLevel
from .space import GridSpace


@dataclass(frozen=True)
class OneDifficulty:
    """Levels of one difficulty, counted from 0."""

    space: GridSpace
    difficulty: int

    def __call__(self, key: PRNGKeyArray) -> GridLevel:
        return self.space.at(key, jnp.int32(self.difficulty))


def suite_names(space: GridSpace) -> tuple[str, ...]:
    """Every suite. The name of a difficulty is a suite too."""
    return ("fresh", "difficulties", *(("all-difficulties",) if space.task == "omg-easy" else ()))


def suite(name: str, env: MiniGrid, space: GridSpace) -> Suite:
    """A suite, or a single difficulty. ``all-difficulties`` has those that are harder than what is trained on."""
    widest = replace(space, task="omg-medium") if space.ball else space
    single = {
        task: Task(task, env, OneDifficulty(widest if i >= len(space.difficulties) else space, i), limit(env, i))
        for i, task in enumerate(widest.difficulties)
    }
    if name == "fresh":
        most = limit(env, len(space.difficulties) - 1)
        return Suite(name, (Task("Fresh", env, space.sample, most),))
    members = {"difficulties": space.difficulties, "all-difficulties": widest.difficulties}.get(name, (name,))
    if name not in (*suite_names(space), *single):
        raise unknown("suite", name, (*suite_names(space), *single))
    return Suite(name, tuple(single[member] for member in members))


def limit(env: MiniGrid, difficulty: int) -> int:
    """The longest episode of a difficulty."""
    return env.far_limit if env.far_limit and difficulty >= 3 else env.limit
