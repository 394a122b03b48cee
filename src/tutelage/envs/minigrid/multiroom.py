"""The generator of MultiRoom: one to four rooms in a chain, a door between each and the next."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8

from .draws import uniform_where
from .level import BRICK, CLOSED, DOOR, EMPTY, NOTHING, TARGET, GridLevel

SIZE = 13
MOST = 4
_SHORTEST, _LONGEST = 4, 7
_ATTEMPTS = 8
"""Doors that are tried before a chain is given up."""

TRIES = 8
"""Chains that are tried at once."""
ROUNDS = 40
"""How often, at most. See ``chain``."""


def _first(beyond: int) -> np.ndarray:
    """Start and length of a first room along one axis, where it ends before ``beyond``."""
    pairs = [(at, side) for side in range(_SHORTEST, _LONGEST + 1) for at in range(SIZE - 2) if at + side < beyond]
    return np.array(pairs, np.int32)


# MiniGrid lets rooms touch the right border and not the lower one.
_X, _Y = _first(SIZE + 1), _first(SIZE)
_ENDS = np.array([SIZE, SIZE - 1], np.int32)


class Rooms(NamedTuple):
    """A chain of rooms, walls included. Leading axes are those of tries and attempts."""

    corner: Int[Array, "*n 2"]
    size: Int[Array, "*n 2"]
    door: Int[Array, "*n 2"]
    """Where it is entered; of no meaning for the first room."""
    wall: Int[Array, " *n"]
    """On which side that is: 0 right, 1 below, 2 left, 3 above."""


def sample(key: PRNGKeyArray, rooms: Int[Array, ""]) -> GridLevel:
    """A random level of so many rooms."""
    chain_key, colour_key, agent_key, heading_key, goal_key = jax.random.split(key, 5)
    placed = chain(chain_key, rooms)
    cells = _drawn(colour_key, placed, rooms)
    empty = cells[..., 0] == EMPTY
    last = jax.tree.map(lambda x: x[rooms - 1], placed)
    first = jax.tree.map(lambda x: x[0], placed)
    agent = uniform_where(agent_key, empty & _rectangle(first))
    goal = uniform_where(goal_key, empty & _rectangle(last) & ~_cell(agent))
    cells = jnp.where(_cell(goal)[..., None], jnp.asarray(TARGET), cells)
    return GridLevel(cells, agent.astype(jnp.uint8), jax.random.randint(heading_key, (), 0, 4).astype(jnp.uint8))


def chain(key: PRNGKeyArray, rooms: Int[Array, ""]) -> Rooms:
    """So many rooms, of four; the others are of no meaning.

    MiniGrid tries whole chains until one has all its rooms, however long that takes. Here a batch is not kept waiting
    by one unlucky level: ``TRIES`` chains are tried at once, at most ``ROUNDS`` times. A chain of four succeeds more
    often than one time in ten, so that fewer than one level in 10^14 is left without. That one gets a fixed chain,
    which the generator could have drawn too; random numbers are much coarser than that.
    """

    def again(carry: tuple[Array, Array, Rooms]) -> tuple[Array, Array, Rooms]:
        trip, _, _ = carry
        found, complete = tries(jax.random.fold_in(key, trip))
        good = complete[:, rooms - 1]
        return trip + 1, jnp.any(good), jax.tree.map(lambda x: x[jnp.argmax(good)], found)

    start = (jnp.int32(0), jnp.bool_(False), _in_a_row())
    _, done, found = lax.while_loop(lambda carry: ~carry[1] & (carry[0] < ROUNDS), again, start)
    return jax.tree.map(lambda x, y: jnp.where(done, x, y), found, _in_a_row())


def _in_a_row() -> Rooms:
    x = 3 * jnp.arange(MOST, dtype=jnp.int32)
    corner = jnp.stack([x, jnp.zeros_like(x)], -1)
    return Rooms(corner, jnp.full_like(corner, _SHORTEST), corner + jnp.array([0, 1]), jnp.full_like(x, 2))


def tries(key: PRNGKeyArray) -> tuple[Rooms, Bool[Array, "tries rooms"]]:
    """Chains of four ``[tries, rooms]``, and whether each is complete up to each of its rooms.

    Attempts at a next room are independent draws, so all are made at once and the first that fits is taken. A first
    room outside of the grid would only mean to start again, so it is drawn from those inside.
    """
    first_key, *keys = jax.random.split(key, MOST)
    across, down = jax.random.randint(first_key, (2, TRIES), 0, jnp.array([[len(_X)], [len(_Y)]]))
    along_x, along_y = jnp.asarray(_X)[across], jnp.asarray(_Y)[down]
    corner = jnp.stack([along_x[:, 0], along_y[:, 0]], -1)
    placed = [Rooms(corner, jnp.stack([along_x[:, 1], along_y[:, 1]], -1), corner, jnp.full(TRIES, 2, jnp.int32))]
    complete = [jnp.ones(TRIES, bool)]
    for next_key in keys:
        room = _next(next_key, placed[-1])
        fits = jnp.all((room.corner >= 0) & (room.corner + room.size <= _ENDS), -1)
        for other in placed[:-1]:
            fits &= _apart(room, jax.tree.map(lambda x: x[:, None], other))
        chosen = jnp.argmax(fits, axis=1)
        placed.append(jax.tree.map(lambda x, chosen=chosen: x[jnp.arange(TRIES), chosen], room))
        complete.append(complete[-1] & jnp.any(fits, axis=1))
    return jax.tree.map(lambda *rooms: jnp.stack(rooms, 1), *placed), jnp.stack(complete, 1)


def _next(key: PRNGKeyArray, room: Rooms) -> Rooms:
    """Attempts ``[tries, attempts]`` at rooms behind a door in one of the three other walls."""
    # One number holds all that is drawn: 60 is a multiple of every side without its corners.
    number = jax.random.randint(key, (TRIES, _ATTEMPTS), 0, 16 * 3 * 60 * 60)
    size = _SHORTEST + jnp.stack([number % 4, number // 4 % 4], -1)
    choice, along, shift = number // 16 % 3, number // 48 % 60, number // 2880
    room = jax.tree.map(lambda x: x[:, None], room)
    exit = choice + (choice >= room.wall)
    entry = (exit + 2) % 4

    # A door in a left or right wall is at one end across (axis 0) and somewhere down (axis 1); others the other way.
    upright = (exit % 2 == 0)[..., None] == np.array([True, False])  # the axis across the wall
    end = jnp.where((exit < 2)[..., None], room.size - 1, 0)
    door = room.corner + jnp.where(upright, end, 1 + along[..., None] % (room.size - 2))
    back = jnp.where((entry < 2)[..., None], size - 1, 0)
    corner = door - jnp.where(upright, back, size - 2 - shift[..., None] % (size - 2))
    return Rooms(corner, size, door, entry)


def _apart(room: Rooms, other: Rooms) -> Bool[Array, " *n"]:
    """MiniGrid's test: strict on one side only."""
    before = room.corner + room.size < other.corner
    after = other.corner + other.size <= room.corner
    return jnp.any(before | after, -1)


def _drawn(key: PRNGKeyArray, placed: Rooms, rooms: Int[Array, ""]) -> UInt8[Array, "W H 3"]:
    """Room after room: its walls, and its door over them, of any colour but the last one's. Outside is empty."""
    first, *others = jax.random.randint(key, (MOST - 1,), 0, jnp.array([6, 5, 5]))
    cells = jnp.broadcast_to(jnp.asarray(NOTHING), (SIZE, SIZE, 3))
    colour = first
    for i in range(MOST):
        room = jax.tree.map(lambda x, i=i: x[i], placed)
        inner = room._replace(corner=room.corner + 1, size=room.size - 2)
        walls = _rectangle(room) & ~_rectangle(inner) & (i < rooms)
        cells = jnp.where(walls[..., None], jnp.asarray(BRICK), cells)
        if i > 0:
            colour = (colour + 1 + others[i - 2]) % 6 if i > 1 else first
            door = jnp.stack([jnp.uint8(DOOR), colour.astype(jnp.uint8), jnp.uint8(CLOSED)])
            cells = jnp.where((_cell(room.door) & (i < rooms))[..., None], door, cells)
    return cells


def _rectangle(room: Rooms) -> Bool[Array, "W H"]:
    (left, top), (right, bottom) = room.corner, room.corner + room.size
    x, y = jnp.arange(SIZE)[:, None], jnp.arange(SIZE)
    return (x >= left) & (x < right) & (y >= top) & (y < bottom)


def _cell(cell: Int[Array, "2"]) -> Bool[Array, "W H"]:
    return (jnp.arange(SIZE)[:, None] == cell[0]) & (jnp.arange(SIZE) == cell[1])
