"""The maze from its teacher's side: a maze is built, or changed, one cell a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from ...rl.networks import Conv3x3
from ...types import TimeStep, played
from ..base import Brief, Discrete
from ..grids import cell_mask
from .level import MazeLevel
from .space import random_free_cell

NOISE = 50
"""Uniform random numbers that the teacher sees at each step, so that its mazes can differ."""


class DesignObs(NamedTuple):
    image: UInt8[Array, "H+2 W+2 3"]
    """The whole maze with its border, in MiniGrid's encoding."""
    time: Int[Array, ""]
    noise: Float[Array, " noise"]


class DesignState(NamedTuple):
    walls: Bool[Array, "H W"]
    goal: Int[Array, "2"]
    start: Int[Array, "2"]
    """(-1, -1) before it is placed, as for the goal."""
    direction: Int[Array, ""]
    time: Int[Array, ""]
    key_data: UInt8[Array, "..."]


@dataclass(frozen=True)
class MazeDesign:
    """Places blocks, then the goal, then the agent, in a maze that starts empty (thesis, appendix B.2).

    An action is a cell. A block on a block changes nothing, so fewer blocks than the budget are possible. A goal or an
    agent on a taken cell goes to a random free one. The direction the agent faces is random.
    """

    size: int
    blocks: int

    @property
    def steps(self) -> int:
        return self.blocks + 2

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.size**2)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        del key  # all randomness is in the brief, so that a design can be replayed from its actions
        nowhere = jnp.full(2, -1, jnp.int32)
        walls = jnp.zeros((self.size, self.size), bool)
        direction = jax.random.randint(_key(level.key_data, self.steps), (), 0, 4)
        state = DesignState(walls, nowhere, nowhere, direction, jnp.int32(0), level.key_data)
        return state, _observe(state)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        del key, level
        cell = jnp.stack([action % self.size, action // self.size]).astype(jnp.int32)
        here = cell_mask(state.walls.shape, cell)
        walls = jnp.where(state.time < self.blocks, state.walls | here, state.walls)
        k_goal, k_start = jax.random.split(_key(state.key_data, self.steps + 1))
        placed_goal = jnp.where((walls & here).any(), random_free_cell(k_goal, ~walls), cell)
        goal = jnp.where(state.time == self.blocks, placed_goal, state.goal)
        taken = walls | cell_mask(walls.shape, goal)
        placed_start = jnp.where((taken & here).any(), random_free_cell(k_start, ~taken), cell)
        start = jnp.where(state.time == self.blocks + 1, placed_start, state.start)
        state = state._replace(walls=walls, goal=goal, start=start, time=state.time + 1)
        return state, _timestep(state, self.steps)

    def level(self, state: DesignState) -> MazeLevel:
        """The finished maze."""
        return MazeLevel(state.walls, state.start, state.direction, state.goal)


@dataclass(frozen=True)
class MazeEditing:
    """Changes a maze a few times. An action is a cell and what to do there: flip its wall, or put the goal.

    What stands on a changed cell moves to a random free cell after all edits, as in random editing. A change that would
    leave fewer than two free cells is not made.
    """

    size: int
    edits: int

    @property
    def steps(self) -> int:
        return self.edits

    @property
    def action_space(self) -> Discrete:
        return Discrete(2 * self.size**2)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        del key
        maze: MazeLevel = level.start
        state = DesignState(maze.walls, maze.goal, maze.start, maze.direction, jnp.int32(0), level.key_data)
        return state, _observe(state)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        del key, level
        put_goal, index = action >= self.size**2, action % self.size**2
        cell = jnp.stack([index % self.size, index // self.size]).astype(jnp.int32)
        here = cell_mask(state.walls.shape, cell)
        walls = jnp.where(here, ~put_goal & ~state.walls, state.walls)
        walls = jnp.where((~walls).sum() >= 2, walls, state.walls)
        goal = jnp.where(put_goal, cell, state.goal)
        last = state.time + 1 == self.edits
        k_goal, k_start = jax.random.split(_key(state.key_data, self.steps + 1))
        at_start = cell_mask(walls.shape, state.start)
        goal_lost = (walls & cell_mask(walls.shape, goal)).any()
        goal = jnp.where(last & goal_lost, random_free_cell(k_goal, ~walls & ~at_start), goal)
        taken = walls | cell_mask(walls.shape, goal)
        start_lost = (taken & at_start).any()
        start = jnp.where(last & start_lost, random_free_cell(k_start, ~taken), state.start)
        state = state._replace(walls=walls, goal=goal, start=start, time=state.time + 1)
        return state, _timestep(state, self.steps)

    def level(self, state: DesignState) -> MazeLevel:
        """The edited maze."""
        return MazeLevel(state.walls, state.start, state.direction, state.goal)


class DesignEncoder(nn.Module):
    """The teacher's eyes: the whole maze, the time and the noise."""

    filters: int
    time: int
    steps: int

    @nn.compact
    def __call__(self, obs: DesignObs) -> Float[Array, "T B d"]:
        image = obs.image.astype(jnp.float32) / 10.0
        leading = image.shape[:-3]
        x = Conv3x3(self.filters, name="convolution")(image)
        x = nn.relu(x).reshape(*leading, -1)
        when = nn.Dense(self.time, name="time_embedding")(jax.nn.one_hot(obs.time, self.steps + 1))
        return jnp.concatenate([x, when, obs.noise], axis=-1)


def _key(key_data: Array, number: int | Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.wrap_key_data(key_data), number)


def _timestep(state: DesignState, steps: int) -> TimeStep:
    obs = _observe(state)
    # The reward comes from elsewhere, when students have played the maze.
    return played(obs, jnp.float32(0), state.time >= steps, jnp.bool_(False))


def _observe(state: DesignState) -> DesignObs:
    codes = jnp.where(state.walls, 1, 0)
    codes = jnp.where(cell_mask(state.walls.shape, state.goal), 2, codes)
    codes = jnp.where(cell_mask(state.walls.shape, state.start), 3, codes)
    # MiniGrid's (object, colour, state): empty, grey wall, green goal, red agent.
    agent = jnp.stack([jnp.uint8(10), jnp.uint8(0), state.direction.astype(jnp.uint8)])
    table = jnp.concatenate([jnp.array([[1, 0, 0], [2, 5, 0], [8, 1, 0]], jnp.uint8), agent[None]])
    image = table[jnp.pad(codes, 1, constant_values=1)]
    noise = jax.random.uniform(_key(state.key_data, state.time), (NOISE,))
    return DesignObs(image, state.time, noise)
