"""The generator of the obstructed mazes: keys, boxes and balls between the agent and a blue ball."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8

from .draws import uniform_where
from .env import ROOM, STEPS
from .level import (
    BALL,
    BOX,
    BRICK,
    CLOSED,
    DOOR,
    EMPTY,
    GREEN,
    GREY,
    HELD,
    KEY,
    LOCKED,
    NOTHING,
    PRIZE,
    WALL,
    GridLevel,
)

SIZE = 3 * (ROOM - 1) + 1
DIFFICULTIES = ("1Dl", "1Dlh", "1Dlhb", "2Dl", "2Dlh", "2Dlhb")
"""Locked doors in the agent's room; h: keys are hidden in boxes; b: balls block the doors."""

_Cells = UInt8[Array, "W H 3"]


def _walls(columns: int, rows: int) -> np.ndarray:
    """So many rooms in the upper left of the frame. The rest is empty."""
    x, y = np.mgrid[:SIZE, :SIZE]
    pitch = ROOM - 1
    built = ((x % pitch == 0) | (y % pitch == 0)) & (x <= columns * pitch) & (y <= rows * pitch)
    return np.where(built[..., None], BRICK, NOTHING)


_TWO_ROOMS, _NINE_ROOMS = _walls(2, 1), _walls(3, 3)


def sample(key: PRNGKeyArray, difficulty: Int[Array, ""], medium: bool, lost_keys: bool) -> GridLevel:
    """A random level of a difficulty. ``medium``: of six and not of three. ``lost_keys``: see ``_four_rooms``."""
    hidden, blocked = difficulty % 3 >= 1, difficulty % 3 == 2
    near = _two_rooms(key, hidden, blocked)
    if not medium:
        return near
    far = _four_rooms(key, hidden, blocked, lost_keys)
    return jax.tree.map(lambda x, y: jnp.where(difficulty < 3, x, y), near, far)


def _two_rooms(key: PRNGKeyArray, hidden: Bool[Array, ""], blocked: Bool[Array, ""]) -> GridLevel:
    door_key, colour_key, key_key, goal_key, agent_key = jax.random.split(key, 5)
    colour = jax.random.randint(colour_key, (), 0, 6)
    door = jnp.stack([jnp.int32(ROOM - 1), jax.random.randint(door_key, (), 1, ROOM - 1)])
    cells = _door(jnp.asarray(_TWO_ROOMS), door, colour, LOCKED)
    cells = _ball(cells, door - STEPS[0], blocked)
    cells = _key(key_key, cells, (0, 0), colour, hidden)
    # MiniGrid keeps objects from the cell where it first puts the agent, the middle of a room, and from those beside
    # it. Here that is the goal's room; in four rooms it is the empty one in the middle of the maze.
    x, y = np.mgrid[:SIZE, :SIZE]
    middle = ROOM - 1 + ROOM // 2, ROOM // 2
    beside = abs(x - middle[0]) + abs(y - middle[1]) < 2
    cells = _put(cells, uniform_where(goal_key, _empty(cells, (1, 0)) & ~beside), PRIZE)
    return _with_agent(agent_key, cells, (0, 0))


def _four_rooms(key: PRNGKeyArray, hidden: Bool[Array, ""], blocked: Bool[Array, ""], lost_keys: bool) -> GridLevel:
    """The agent's room has an open way to the left and a locked door above, to the goal, and below, to nothing.

    In the published generator the lower ball is put down last, and may fall on the box with the upper key
    (``lost_keys``): such a level cannot be solved. Otherwise doors and balls come before boxes.
    """
    door_key, colour_key, upper_key, lower_key, goal_key, agent_key = jax.random.split(key, 6)
    middle, upper, lower = jax.random.permutation(colour_key, 6)[:3]
    beside, above, below = jax.random.randint(door_key, (3,), 1, ROOM - 1)
    pitch, room = ROOM - 1, (2, 1)
    top, bottom = jnp.stack([2 * pitch + above, jnp.int32(pitch)]), jnp.stack([2 * pitch + below, jnp.int32(2 * pitch)])
    cells = _door(jnp.asarray(_NINE_ROOMS), jnp.stack([jnp.int32(2 * pitch), pitch + beside]), middle, CLOSED)
    cells = _ball(_door(cells, top, upper, LOCKED), top - STEPS[3], blocked)
    if lost_keys:
        cells = _key(upper_key, cells, room, upper, hidden)
    cells = _ball(_door(cells, bottom, lower, LOCKED), bottom - STEPS[1], blocked)
    if not lost_keys:
        cells = _key(upper_key, cells, room, upper, hidden)
    cells = _key(lower_key, cells, room, lower, hidden)
    cells = _put(cells, uniform_where(goal_key, _empty(cells, (2, 0))), PRIZE)
    return _with_agent(agent_key, cells, room)


def _door(cells: _Cells, place: Int[Array, "2"], colour: Int[Array, ""], state: int) -> _Cells:
    return _put(cells, place, _thing(DOOR, colour, state))


def _ball(cells: _Cells, place: Int[Array, "2"], there: Bool[Array, ""]) -> _Cells:
    """Before a door, over whatever is there."""
    return jnp.where(there, _put(cells, place, _thing(BALL, GREEN, 0)), cells)


def _key(
    key: PRNGKeyArray, cells: _Cells, room: tuple[int, int], colour: Int[Array, ""], hidden: Bool[Array, ""]
) -> _Cells:
    """On an empty cell of a room, perhaps in a box."""
    thing = jnp.where(hidden, _thing(BOX, GREY, HELD * (1 + colour)), _thing(KEY, colour, 0))
    return _put(cells, uniform_where(key, _empty(cells, room)), thing)


def _with_agent(key: PRNGKeyArray, cells: _Cells, room: tuple[int, int]) -> GridLevel:
    """On an empty cell of a room, facing an empty cell or a wall."""
    kind = cells[..., 0]
    clear = (kind == EMPTY) | (kind == WALL)
    ahead = jnp.stack([jnp.roll(clear, (-dx, -dy), (0, 1)) for dx, dy in STEPS.tolist()], -1)
    x, y, direction = uniform_where(key, _empty(cells, room)[..., None] & ahead)
    return GridLevel(cells, jnp.stack([x, y]).astype(jnp.uint8), direction.astype(jnp.uint8))


def _empty(cells: _Cells, room: tuple[int, int]) -> Bool[Array, "W H"]:
    """Empty cells of a room."""
    x, y = np.mgrid[:SIZE, :SIZE]
    pitch = ROOM - 1
    return (x // pitch == room[0]) & (y // pitch == room[1]) & (cells[..., 0] == EMPTY)


def _thing(kind: int, colour: Any, state: Any) -> UInt8[Array, "3"]:
    return jnp.stack([jnp.asarray(number).astype(jnp.uint8) for number in (kind, colour, state)])


def _put(cells: _Cells, place: Int[Array, "2"], thing: Any) -> _Cells:
    x, y = np.mgrid[:SIZE, :SIZE]
    here = (x == place[0]) & (y == place[1])
    return jnp.where(here[..., None], jnp.asarray(thing), cells)
