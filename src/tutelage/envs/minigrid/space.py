"""The levels of a task: drawn, and measured."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from ...types import Metrics
from ..grids import cell_mask
from . import multiroom, obstructed
from .draws import uniform_where
from .env import reaches_far
from .level import BALL, BLUE, BOX, BRICK, DOOR, NOTHING, PRIZE, TARGET, GridLevel
from .settings import Task
from .solve import fewest_actions, shortest_path, solvable

ROOM_NAMES = tuple(f"Rooms-{rooms}" for rooms in range(1, multiroom.MOST + 1))


@dataclass(frozen=True)
class GridSpace:
    """All levels of a task, equally many of each difficulty."""

    task: Task = "multiroom"
    lost_keys: bool = True

    @property
    def ball(self) -> bool:
        """Is the goal a ball to be picked up?"""
        return self.task != "multiroom"

    @property
    def size(self) -> int:
        return obstructed.SIZE if self.ball else multiroom.SIZE

    @property
    def difficulties(self) -> tuple[str, ...]:
        """From the easiest to the hardest."""
        if not self.ball:
            return ROOM_NAMES
        return obstructed.DIFFICULTIES if self.task == "omg-medium" else obstructed.DIFFICULTIES[:3]

    def sample(self, key: PRNGKeyArray) -> GridLevel:
        """A level of any difficulty."""
        difficulty_key, level_key = jax.random.split(key)
        return self.at(level_key, jax.random.randint(difficulty_key, (), 0, len(self.difficulties)))

    def at(self, key: PRNGKeyArray, difficulty: Int[Array, ""]) -> GridLevel:
        """A level of one difficulty, counted from 0."""
        if not self.ball:
            return multiroom.sample(key, difficulty + 1)
        return obstructed.sample(key, difficulty, self.task == "omg-medium", self.lost_keys)

    def empty(self, key: PRNGKeyArray) -> GridLevel:
        """One large room with nothing in it but the agent and the goal, to draw into."""
        goal_key, start_key, heading_key = jax.random.split(key, 3)
        inside = jnp.pad(jnp.ones((self.size - 2, self.size - 2), bool), 1)
        goal = uniform_where(goal_key, inside)
        there = cell_mask(inside.shape, goal[::-1])  # by column and row here
        start = uniform_where(start_key, inside & ~there)
        cells = jnp.where(inside[..., None], jnp.asarray(NOTHING), jnp.asarray(BRICK))
        cells = jnp.where(there[..., None], jnp.asarray(PRIZE if self.ball else TARGET), cells)
        heading = jax.random.randint(heading_key, (), 0, 4)
        return GridLevel(cells, start.astype(jnp.uint8), heading.astype(jnp.uint8))

    def difficulty(self, level: GridLevel) -> Int[Array, ""]:
        """Counted from 0, as seen from what is in a level."""
        kind, colour = level.cells[..., 0], level.cells[..., 1]
        if not self.ball:
            return jnp.sum(kind == DOOR, dtype=jnp.int32)
        hidden, blocked = jnp.any(kind == BOX), jnp.any((kind == BALL) & (colour != BLUE))
        return 3 * reaches_far(level).astype(jnp.int32) + jnp.where(blocked, 2, hidden.astype(jnp.int32))

    def metrics(self, level: GridLevel) -> Metrics:
        """Difficulty from 1 on, rooms in play, whether it can be solved, the share of each difficulty; and, of rooms
        with nothing to carry, the fewest actions to the goal (0 where there is no way).
        """
        difficulty = self.difficulty(level)
        shares = {name: (difficulty == i).astype(jnp.float32) for i, name in enumerate(self.difficulties)}
        return self._figures(level) | shares

    def measured(self, level: GridLevel) -> Metrics:
        """Of one level: without shares, and with the shortest path of rooms with nothing to carry."""
        if self.ball:
            return self._figures(level)
        return self._figures(level) | {"path": jnp.maximum(shortest_path(level), 0).astype(jnp.float32)}

    def _figures(self, level: GridLevel) -> Metrics:
        difficulty = self.difficulty(level)
        rooms = difficulty + 1 if not self.ball else jnp.where(reaches_far(level), 4, 2)
        found: Metrics = {"difficulty": difficulty + 1, "rooms": rooms}
        if self.ball:
            found["solvable"] = solvable(level)
        else:
            actions = fewest_actions(level)
            found |= {"actions": jnp.maximum(actions, 0), "solvable": actions >= 0}
        return {name: value.astype(jnp.float32) for name, value in found.items()}
