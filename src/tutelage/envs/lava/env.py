"""The rules of LavaGrid, one level, no batch: MiniHack's, without the game around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt8

from ...rl.glyphs import GlyphObs
from ...types import TimeStep, played
from ..base import Discrete
from .level import AGENT, DOWN, LAVA, STONE, UP, WALL, LavaLevel

MOVES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)], np.int32)
"""By action, as (x, y): north, east, south, west, north-east, south-east, south-west, north-west, as in NLE."""

PENALTY = -0.01

Penalty = Literal["bumps", "steps"]


class LavaState(NamedTuple):
    position: Int[Array, "2"]
    time: Int[Array, ""]
    """Steps played."""


class PreparedLava(NamedTuple):
    """A level, and what is seen of it without the agent."""

    level: LavaLevel
    map: UInt8[Array, "H W"]


@dataclass(frozen=True)
class Lava:
    """Pays 1 at the stairs down. Lava ends the episode with nothing."""

    penalty: Penalty = "bumps"
    """What costs 0.01: moves that lead nowhere, as in MiniHack, or every step, as in the text."""
    max_steps: int = 100

    @property
    def action_space(self) -> Discrete:
        return Discrete(len(MOVES))

    def prepare(self, level: LavaLevel) -> PreparedLava:
        level = jax.tree.map(jnp.asarray, level)
        up, down = (_at(level.tiles, cell) for cell in (level.start, level.goal))
        seen = jnp.where(up, UP, jnp.where(down, DOWN, level.tiles)).astype(jnp.uint8)
        return PreparedLava(level, seen)

    def reset(self, key: PRNGKeyArray, level: PreparedLava) -> tuple[LavaState, GlyphObs]:
        del key  # a level starts the same every time
        state = LavaState(level.level.start, jnp.int32(0))
        return state, self._observe(state, level)

    def step(
        self, key: PRNGKeyArray, state: LavaState, action: Int[Array, ""], level: PreparedLava
    ) -> tuple[LavaState, TimeStep]:
        del key
        target = state.position + jnp.asarray(MOVES)[action]
        tile = level.level.tiles[target[1], target[0]]
        blocked = (tile == WALL) | (tile == STONE)
        position = jnp.where(blocked, state.position, target)
        state = LavaState(position, state.time + 1)
        goal = jnp.all(position == level.level.goal)
        costs = blocked if self.penalty == "bumps" else jnp.bool_(True)
        reward = goal.astype(jnp.float32) + jnp.where(costs, jnp.float32(PENALTY), 0.0)
        burnt = ~blocked & (tile == LAVA)
        return state, played(self._observe(state, level), reward, goal | burnt, state.time >= self.max_steps)

    def _observe(self, state: LavaState, level: PreparedLava) -> GlyphObs:
        glyphs = jnp.where(_at(level.map, state.position), jnp.uint8(AGENT), level.map)
        side = glyphs.shape[0]
        where, when = state.position / side, state.time / self.max_steps
        stats = jnp.concatenate([where, when[None]]).astype(jnp.float32)
        return GlyphObs(glyphs, state.position, stats)


def _at(tiles: Array, cell: Int[Array, "2"]) -> Array:
    """True at one cell. A comparison, where a scatter would be slow."""
    height, width = tiles.shape
    return (jnp.arange(height)[:, None] == cell[1]) & (jnp.arange(width) == cell[0])
