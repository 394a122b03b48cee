"""The maze as an environment: MiniGrid's rules and observations, one level, no batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from ...errors import require
from ...types import TimeStep, played
from ..base import Discrete
from ..grids import cell_mask
from .level import MazeLevel

Reward = Literal["minigrid", "appendix"]

LEFT, RIGHT, FORWARD = 0, 1, 2
"""The actions that do something. MiniGrid's other four have nothing to act on in a maze."""

STEPS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int32)
"""One step forward as (x, y), by direction."""

_FREE, _WALL, _GOAL, _UNSEEN = range(4)
# MiniGrid's (object, colour, state) of each: empty, grey wall, green goal, unseen.
_ENCODING = np.array([(1, 0, 0), (2, 5, 0), (8, 1, 0), (0, 0, 0)], np.uint8)


class MazeObs(NamedTuple):
    image: UInt8[Array, "view view 3"]
    """MiniGrid's ``obs["image"]``: column, row, channel. The agent is in the middle of the last row and looks up."""
    direction: Int[Array, ""]


class MazeState(NamedTuple):
    position: Int[Array, "2"]
    direction: Int[Array, ""]
    time: Int[Array, ""]
    """Steps played."""


class PreparedMaze(NamedTuple):
    """A maze as it is played: what never changes within an episode."""

    grid: UInt8[Array, "H+2(view-1) W+2(view-1)"]
    """What is in each cell, with walls around as far as the agent can see."""
    start: MazeState


class Trial(NamedTuple):
    """A test: a maze under its own rules, so that tests with different rules run as one program."""

    level: MazeLevel
    max_steps: Int[Array, ""]
    see_through_walls: Bool[Array, ""]


class PreparedTrial(NamedTuple):
    maze: PreparedMaze
    max_steps: Int[Array, ""]
    see_through_walls: Bool[Array, ""]


@dataclass(frozen=True)
class Maze:
    """The training environment: levels are ``MazeLevel``, of any size."""

    max_steps: int = 250
    view: int = 5
    see_through_walls: bool = True
    reward: Reward = "minigrid"

    def __post_init__(self) -> None:
        require(self.max_steps >= 1, f"max_steps is {self.max_steps}; give at least 1.")
        _check(self.view, self.reward)

    @property
    def action_space(self) -> Discrete:
        return Discrete(7)

    def prepare(self, level: MazeLevel) -> PreparedMaze:
        return prepared(self.view, level)

    def reset(self, key: PRNGKeyArray, level: PreparedMaze) -> tuple[MazeState, MazeObs]:
        del key  # a level starts the same every time
        return level.start, observe(self.view, self.see_through_walls, level.grid, level.start)

    def step(
        self, key: PRNGKeyArray, state: MazeState, action: Int[Array, ""], level: PreparedMaze
    ) -> tuple[MazeState, TimeStep]:
        del key
        return play(self.view, self.reward, self.max_steps, self.see_through_walls, level.grid, state, action)

    def payment(self, steps: Int[Array, ""]) -> Float[Array, ""]:
        """The return of an episode that reaches the goal at some step; a negative one means never."""
        return payment(self.reward, steps, self.max_steps)


@dataclass(frozen=True)
class HeldOutMaze:
    """The test environment: levels are ``Trial``, and bring their own limit and vision."""

    view: int = 5
    reward: Reward = "minigrid"

    def __post_init__(self) -> None:
        _check(self.view, self.reward)

    @property
    def action_space(self) -> Discrete:
        return Discrete(7)

    def prepare(self, level: Trial) -> PreparedTrial:
        maze = prepared(self.view, level.level)
        return PreparedTrial(maze, jnp.asarray(level.max_steps), jnp.asarray(level.see_through_walls))

    def reset(self, key: PRNGKeyArray, level: PreparedTrial) -> tuple[MazeState, MazeObs]:
        del key
        return level.maze.start, observe(self.view, level.see_through_walls, level.maze.grid, level.maze.start)

    def step(
        self, key: PRNGKeyArray, state: MazeState, action: Int[Array, ""], level: PreparedTrial
    ) -> tuple[MazeState, TimeStep]:
        del key
        return play(self.view, self.reward, level.max_steps, level.see_through_walls, level.maze.grid, state, action)


def prepared(view: int, level: MazeLevel) -> PreparedMaze:
    """A maze with its border, and the first state of an episode in it."""
    walls = jnp.asarray(level.walls)
    codes = jnp.where(cell_mask(walls.shape, level.goal), _GOAL, walls.astype(jnp.uint8)).astype(jnp.uint8)
    start = MazeState(jnp.asarray(level.start), jnp.asarray(level.direction), jnp.int32(0))
    return PreparedMaze(jnp.pad(codes, view - 1, constant_values=_WALL), start)


def play(
    view: int,
    reward: Reward,
    max_steps: int | Int[Array, ""],
    see_through_walls: bool | Bool[Array, ""],
    grid: UInt8[Array, "H W"],
    state: MazeState,
    action: Int[Array, ""],
) -> tuple[MazeState, TimeStep]:
    """One action. Limit and vision may be traced."""
    front = state.position + jnp.asarray(STEPS)[state.direction]
    cell = grid[front[1] + view - 1, front[0] + view - 1]
    moved = (action == FORWARD) & (cell != _WALL)
    turn = (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
    state = MazeState(
        position=jnp.where(moved, front, state.position),
        direction=(state.direction + turn) % 4,
        time=state.time + 1,
    )
    terminated = moved & (cell == _GOAL)
    obs = observe(view, see_through_walls, grid, state)
    payment = jnp.where(terminated, _payment(reward, state.time, max_steps), 0.0)
    # At the goal a limit may be reached too: MiniGrid reports both.
    return state, played(obs, payment, terminated, state.time >= max_steps)


def observe(
    view: int, see_through_walls: bool | Bool[Array, ""], grid: UInt8[Array, "H W"], state: MazeState
) -> MazeObs:
    """What the agent sees. Two table lookups: measured faster than slicing and turning the view."""
    _, width = grid.shape
    sight = _sight(view)
    offsets = jnp.asarray(sight[..., 1] * width + sight[..., 0])[state.direction]
    here = (state.position[1] + view - 1) * width + state.position[0] + view - 1
    codes = grid.reshape(-1).at[here + offsets].get(mode="promise_in_bounds")

    if see_through_walls is not True:  # a traced value is not True: both are computed, and one is chosen
        codes = jnp.where(_visible(codes != _WALL) | see_through_walls, codes, _UNSEEN)
    own = np.zeros((view, view), bool)
    own[view // 2, view - 1] = True
    codes = jnp.where(own, _FREE, codes)  # MiniGrid shows what the agent carries at its own cell: nothing
    return MazeObs(jnp.asarray(_ENCODING).at[codes].get(mode="promise_in_bounds"), state.direction)


def payment(reward: Reward, steps: Int[Array, ""], max_steps: int | Int[Array, ""]) -> Float[Array, ""]:
    """The return of an episode that reaches the goal at some step; a negative one means never."""
    in_time = (steps >= 0) & (steps <= max_steps)
    return jnp.where(in_time, _payment(reward, steps, max_steps), 0.0)


def _payment(reward: Reward, time: Int[Array, ""], max_steps: int | Int[Array, ""]) -> Float[Array, ""]:
    share = time.astype(jnp.float32) / max_steps
    return 1.0 - 0.9 * share if reward == "minigrid" else 1.0 - share


@cache
def _sight(view: int) -> np.ndarray:
    """Where each cell of the view lies from the agent, ``[direction, column, row, (x, y)]``."""
    column, row = np.mgrid[:view, :view]
    ahead = STEPS[:, None, None]
    right = np.stack([-STEPS[:, 1], STEPS[:, 0]], -1)[:, None, None]
    return (ahead * (view - 1 - row)[..., None] + right * (column - view // 2)[..., None]).astype(np.int32)


def _visible(clear: Bool[Array, "view view"]) -> Bool[Array, "view view"]:
    """MiniGrid's blocked vision. Row by row away from the agent, light spreads sideways through clear cells, and a lit
    clear cell shows the three cells beyond it. A row is one word of bits, so that spreading is shifting.
    """
    view = clear.shape[0]
    bits = jnp.arange(view, dtype=jnp.uint32)
    rows = jnp.sum(clear.astype(jnp.uint32) << bits[:, None], axis=0, dtype=jnp.uint32)
    seen = [jnp.uint32(0)] * view
    light = jnp.uint32(1 << view // 2)
    for row in reversed(range(view)):
        lit = light & rows[row]
        for _ in range(view - 1):
            lit = (lit | lit << 1 | lit >> 1) & rows[row]
        beside = lit | lit << 1 | lit >> 1
        seen[row] = light | beside
        light = beside
    return (jnp.stack(seen) >> bits[:, None] & 1).astype(bool)


def _check(view: int, reward: str) -> None:
    require(view % 2 == 1 and 3 <= view <= 31, f"view is {view}; give an odd number of 3 to 31 cells.")
    require(reward in ("minigrid", "appendix"), f"reward is '{reward}'; give 'minigrid' or 'appendix'.")
