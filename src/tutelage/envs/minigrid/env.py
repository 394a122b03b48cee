"""MiniGrid's rules and its view of the whole grid, one level, no batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from ...types import TimeStep, played
from ..base import Discrete
from .level import (
    AGENT,
    BALL,
    BOX,
    BRICK,
    CLOSED,
    DOOR,
    EMPTY,
    FLOOR,
    GOAL,
    HELD,
    KEY,
    LAVA,
    LOCKED,
    NOTHING,
    OPEN,
    PRIZE,
)
from .level import GridLevel as GridLevel

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)

STEPS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int32)
"""One step forward as (x, y), by direction."""

GridObs = UInt8[Array, "W H channels"]
"""MiniGrid's encoding of the whole grid, column before row: object, colour, state. Two more channels where the student
sees what it carries: object and colour, in the agent's own cell."""


class GridState(NamedTuple):
    cells: UInt8[Array, "W H 3"]
    """As in a level. The agent is not in it, so that a door under its feet is still there."""
    carried: UInt8[Array, "3"]
    """A cell's worth; ``NOTHING`` for an empty hand."""
    position: Int[Array, "2"]
    direction: Int[Array, ""]
    time: Int[Array, ""]
    """Steps played."""


class PreparedGrid(NamedTuple):
    start: GridState
    obs: GridObs
    limit: Int[Array, ""]


@dataclass(frozen=True)
class MiniGrid:
    """Paid once, for reaching a goal or picking up the blue ball: 1 - 0.9 T/T_max."""

    limit: int = 80
    """Steps before an episode is cut off."""
    far_limit: int = 0
    """The same for levels that reach beyond the first row of rooms; 0 for no difference."""
    ball: bool = False
    """Picking up the blue ball is the goal, too."""
    show_carried: bool = False

    @property
    def action_space(self) -> Discrete:
        return Discrete(7)

    def prepare(self, level: GridLevel) -> PreparedGrid:
        cells, direction = jnp.asarray(level.cells), jnp.asarray(level.direction, jnp.int32)
        hand = jnp.asarray(NOTHING)
        start = GridState(cells, hand, jnp.asarray(level.start, jnp.int32), direction, jnp.int32(0))
        return PreparedGrid(start, self._observe(start), self.steps_allowed(level))

    def reset(self, key: PRNGKeyArray, level: PreparedGrid) -> tuple[GridState, GridObs]:
        del key  # a level starts the same every time
        return level.start, level.obs

    def step(
        self, key: PRNGKeyArray, state: GridState, action: Int[Array, ""], level: PreparedGrid
    ) -> tuple[GridState, TimeStep]:
        del key
        front = state.position + jnp.asarray(STEPS)[state.direction]
        width, height, _ = state.cells.shape
        inside = jnp.all((front >= 0) & (front < jnp.array([width, height])))
        cell = jnp.where(inside, state.cells[front[0], front[1]], jnp.asarray(BRICK))  # beyond the grid is wall
        kind, colour, status = cell
        hand = state.carried

        # Picking up and dropping are one thing: what is ahead and what is in the hand change places.
        lifts = (action == PICKUP) & ((kind == KEY) | (kind == BALL) | (kind == BOX)) & (hand[0] == EMPTY)
        puts = (action == DROP) & (kind == EMPTY)
        fits = (hand[0] == KEY) & (hand[1] == colour)
        turned = jnp.where(status == LOCKED, jnp.where(fits, OPEN, LOCKED), CLOSED - status)
        door = jnp.stack([kind, colour, turned.astype(jnp.uint8)])
        key_inside = jnp.stack([jnp.full_like(kind, KEY), status // HELD - 1, jnp.zeros_like(kind)])
        opened = jnp.where(status > 0, key_inside, jnp.asarray(NOTHING))
        toggled = jnp.where(kind == DOOR, door, jnp.where(kind == BOX, opened, cell))
        after = jnp.where(lifts | puts, hand, jnp.where(action == TOGGLE, toggled, cell))

        free = (kind == EMPTY) | (kind == GOAL) | (kind == FLOOR) | (kind == LAVA) | ((kind == DOOR) & (status == OPEN))
        moved = (action == FORWARD) & free
        turn = (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
        state = GridState(
            cells=_put(state.cells, front, after),
            carried=jnp.where(lifts | puts, cell, hand),
            position=jnp.where(moved, front, state.position),
            direction=(state.direction + turn) % 4,
            time=state.time + 1,
        )
        success = moved & (kind == GOAL)
        if self.ball:
            success |= lifts & jnp.all(cell == jnp.asarray(PRIZE))
        reward = jnp.where(success, _payment(state.time, level.limit), 0.0)
        terminated = success | (moved & (kind == LAVA))
        # At the last step both may fall together: MiniGrid reports both.
        return state, played(self._observe(state), reward, terminated, state.time >= level.limit)

    def steps_allowed(self, level: GridLevel) -> Int[Array, ""]:
        """The time limit of a level."""
        near, far = jnp.int32(self.limit), jnp.int32(self.far_limit or self.limit)
        return jnp.where(reaches_far(level), far, near)

    def payment(self, steps: Int[Array, ""], level: GridLevel) -> Float[Array, ""]:
        """The return of an episode that succeeds at some step; a negative one means never."""
        limit = self.steps_allowed(level)
        return jnp.where((steps >= 0) & (steps <= limit), _payment(steps, limit), 0.0)

    def _observe(self, state: GridState) -> GridObs:
        agent = jnp.stack([jnp.uint8(AGENT), jnp.uint8(0), state.direction.astype(jnp.uint8)])
        image = _put(state.cells % HELD, state.position, agent)
        if not self.show_carried:
            return image
        carried = jnp.where(state.carried[0] == EMPTY, 0, state.carried).astype(jnp.uint8)
        own = _put(jnp.zeros_like(image), state.position, carried)
        return jnp.concatenate([image, own[..., :2]], axis=-1)


ROOM = 7
"""Cells a side of a room of an obstructed maze, walls included; neighbours share a wall."""


def reaches_far(level: GridLevel) -> Bool[Array, ""]:
    """Is there anything beyond the first row of rooms?"""
    return jnp.any(jnp.asarray(level.cells)[:, ROOM:, 0] != EMPTY)


def _put(cells: UInt8[Array, "W H 3"], place: Int[Array, "2"], cell: UInt8[Array, "3"]) -> UInt8[Array, "W H 3"]:
    """The cells with another one in a place; unchanged where that is outside. A comparison, where a scatter would be
    slow, and bytes in one row, where axes of 3 would not fill a vector register.
    """
    x, y, channel = (axis.astype(np.uint8).reshape(-1) for axis in np.indices(cells.shape))
    here = (x == place[0].astype(jnp.uint8)) & (y == place[1].astype(jnp.uint8))
    value = sum(np.uint8(channel == i) * cell[i] for i in range(3))
    return jnp.where(here, value, cells.reshape(-1)).reshape(cells.shape)


def _payment(time: Int[Array, ""], limit: Int[Array, ""]) -> Float[Array, ""]:
    return 1.0 - 0.9 * time.astype(jnp.float32) / limit
