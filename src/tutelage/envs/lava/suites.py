"""Held-out levels: those of the thesis's table, and new ones of the training distribution."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import unknown
from ..base import Suite, Task
from .env import Lava
from .level import FLOOR, LAVA, WALL, LavaLevel
from .space import LavaSpace

TILES = {"Empty": 0, "Tiles-10": 10, "Tiles-20": 20}
CROSSING = "LavaCrossing-S9N1"
SIZE = 7
"""Cells a side of the thesis's levels, the inside of LavaCrossing's 9x9 too."""


@dataclass(frozen=True)
class Rooms:
    """The thesis's rooms with exactly so much lava."""

    tiles: int

    def __call__(self, key: PRNGKeyArray) -> LavaLevel:
        return LavaSpace(SIZE, self.tiles, "fixed").sample(key)


@dataclass(frozen=True)
class LavaCrossing:
    """MiniGrid's LavaCrossing with one river: from corner to corner in a walled room, through the river's one opening.

    The river is a column or a row, the second, fourth or sixth of seven.
    """

    def __call__(self, key: PRNGKeyArray) -> LavaLevel:
        river_key, opening_key = jax.random.split(key)
        river = jax.random.randint(river_key, (), 0, 6)
        opening = jax.random.randint(opening_key, (), 1, SIZE + 1)
        along, across = jnp.arange(SIZE + 2)[:, None], jnp.arange(SIZE + 2)
        lava = (across == 2 + 2 * (river % 3)) & (along != opening)
        lava = jnp.where(river < 3, lava, lava.T)
        inside = jnp.pad(jnp.ones((SIZE, SIZE), bool), 1)
        tiles = jnp.where(inside, jnp.where(lava, LAVA, FLOOR), WALL).astype(jnp.uint8)
        corner = jnp.ones(2, jnp.int32)
        return LavaLevel(tiles, corner, SIZE * corner)


def suite_names(space: LavaSpace) -> tuple[str, ...]:
    """Every suite; the name of a task is one too. The thesis's levels are for students of rooms of 7x7."""
    return ("thesis", "fresh") if space.size == SIZE else ("fresh",)


def suite(name: str, env: Lava, space: LavaSpace) -> Suite:
    tasks = {"Fresh": Task("Fresh", env, space.sample, env.max_steps)}
    if space.size == SIZE:
        samples = {task: Rooms(tiles) for task, tiles in TILES.items()} | {CROSSING: LavaCrossing()}
        tasks |= {task: Task(task, env, sample, env.max_steps) for task, sample in samples.items()}
    members = {"thesis": (*TILES, CROSSING), "fresh": ("Fresh",)}.get(name, (name,))
    if name not in (*suite_names(space), *tasks):
        raise unknown("suite", name, (*suite_names(space), *tasks))
    return Suite(name, tuple(tasks[member] for member in members))
