"""Chains of rooms, a door between each and the next: MiniGrid's MultiRoom, for any number and size of rooms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray

TRIES = 8
"""Chains that are tried at once."""
ROUNDS = 40
"""How often, at most. See ``Chain.draw``."""
_ATTEMPTS = 8
"""Doors that are tried before a chain is given up."""


class Rooms(NamedTuple):
    """A chain of rooms, walls included. Leading axes are those of tries and attempts."""

    corner: Int[Array, "*n 2"]
    size: Int[Array, "*n 2"]
    door: Int[Array, "*n 2"]
    """Where it is entered; of no meaning for the first room."""
    wall: Int[Array, " *n"]
    """On which side that is: 0 right, 1 below, 2 left, 3 above."""


@dataclass(frozen=True)
class Chain:
    """Up to ``most`` rooms of sides from ``shortest`` to ``longest``, walls included, in a square of ``size`` cells."""

    size: int
    most: int
    shortest: int
    longest: int

    def draw(self, key: PRNGKeyArray, rooms: Int[Array, ""]) -> Rooms:
        """So many rooms, of ``most``; the others are of no meaning.

        MiniGrid tries whole chains until one has all its rooms, however long that takes. Here a batch is not kept
        waiting by one unlucky level: ``TRIES`` chains are tried at once, at most ``ROUNDS`` times. Where a chain
        succeeds one time in ten, fewer than one level in 10^14 is left without. That one gets a fixed chain, which the
        generator could have drawn too; random numbers are much coarser than that.
        """

        def again(carry: tuple[Array, Array, Rooms]) -> tuple[Array, Array, Rooms]:
            trip, _, _ = carry
            found, complete = self.tries(jax.random.fold_in(key, trip))
            good = complete[:, rooms - 1]
            return trip + 1, jnp.any(good), jax.tree.map(lambda x: x[jnp.argmax(good)], found)

        start = (jnp.int32(0), jnp.bool_(False), self.last_resort())
        _, done, found = lax.while_loop(lambda carry: ~carry[1] & (carry[0] < ROUNDS), again, start)
        return jax.tree.map(lambda x, y: jnp.where(done, x, y), found, self.last_resort())

    @property
    def fits(self) -> bool:
        """Is there space for the last resort?"""
        across, down = self._turn()
        return across >= 1 and (down == 0 or 3 * down + self.shortest < self.size) and self.shortest == 4

    def _turn(self) -> tuple[int, int]:
        """Rooms in a row, and below the last of them."""
        if 3 * self.most + 1 <= self.size:
            return self.most, 0
        across = (self.size - 5) // 3 + 1
        return across, self.most - across

    def last_resort(self) -> Rooms:
        """Small rooms in a row, and where that ends a column of them, shifted by one so as to keep apart."""
        across, down = self._turn()
        corners = [(3 * i, 0) for i in range(across)]
        corners += [(3 * across - 2, 3 * i) for i in range(1, down + 1)]
        corner = jnp.array(corners, jnp.int32)
        wall = jnp.array([2] * across + [3] * down, jnp.int32)
        door = corner + jnp.where(wall[:, None] == 2, jnp.array([0, 1]), jnp.array([1, 0]))
        return Rooms(corner, jnp.full_like(corner, self.shortest), door, wall)

    def tries(self, key: PRNGKeyArray) -> tuple[Rooms, Bool[Array, "tries rooms"]]:
        """Whole chains ``[tries, rooms]``, and whether each is complete up to each of its rooms.

        Attempts at a next room are independent draws, so all are made at once and the first that fits is taken. A first
        room outside of the grid would only mean to start again, so it is drawn from those inside.
        """
        # MiniGrid lets rooms touch the right border and not the lower one.
        first_x, first_y = self._first(self.size + 1), self._first(self.size)
        ends = np.array([self.size, self.size - 1], np.int32)
        first_key, *keys = jax.random.split(key, self.most)
        across, down = jax.random.randint(first_key, (2, TRIES), 0, jnp.array([[len(first_x)], [len(first_y)]]))
        along_x, along_y = jnp.asarray(first_x)[across], jnp.asarray(first_y)[down]
        corner = jnp.stack([along_x[:, 0], along_y[:, 0]], -1)
        placed = [Rooms(corner, jnp.stack([along_x[:, 1], along_y[:, 1]], -1), corner, jnp.full(TRIES, 2, jnp.int32))]
        complete = [jnp.ones(TRIES, bool)]
        for next_key in keys:
            room = self._next(next_key, placed[-1])
            fits = jnp.all((room.corner >= 0) & (room.corner + room.size <= ends), -1)
            for other in placed[:-1]:
                fits &= _apart(room, jax.tree.map(lambda x: x[:, None], other))
            chosen = jnp.argmax(fits, axis=1)
            placed.append(jax.tree.map(lambda x, chosen=chosen: x[jnp.arange(TRIES), chosen], room))
            complete.append(complete[-1] & jnp.any(fits, axis=1))
        return jax.tree.map(lambda *rooms: jnp.stack(rooms, 1), *placed), jnp.stack(complete, 1)

    def _first(self, beyond: int) -> np.ndarray:
        """Start and length of a first room along one axis, where it ends before ``beyond``."""
        sides = range(self.shortest, self.longest + 1)
        pairs = [(at, side) for side in sides for at in range(self.size - 2) if at + side < beyond]
        return np.array(pairs, np.int32)

    def _next(self, key: PRNGKeyArray, room: Rooms) -> Rooms:
        """Attempts ``[tries, attempts]`` at rooms behind a door in one of the three other walls."""
        # One number holds all that is drawn: ``common`` is a multiple of every side without its corners.
        sides = self.longest - self.shortest + 1
        common = math.lcm(*range(self.shortest - 2, self.longest - 1))
        number = jax.random.randint(key, (TRIES, _ATTEMPTS), 0, sides**2 * 3 * common**2)
        size = self.shortest + jnp.stack([number % sides, number // sides % sides], -1)
        rest = number // sides**2
        choice, along, shift = rest % 3, rest // 3 % common, rest // (3 * common)
        room = jax.tree.map(lambda x: x[:, None], room)
        exit = choice + (choice >= room.wall)
        entry = (exit + 2) % 4

        # A door in a left or right wall is at one end across (axis 0) and anywhere down (axis 1); others the other way.
        upright = (exit % 2 == 0)[..., None] == np.array([True, False])  # the axis across the wall
        end = jnp.where((exit < 2)[..., None], room.size - 1, 0)
        door = room.corner + jnp.where(upright, end, 1 + along[..., None] % (room.size - 2))
        back = jnp.where((entry < 2)[..., None], size - 1, 0)
        corner = door - jnp.where(upright, back, size - 2 - shift[..., None] % (size - 2))
        return Rooms(corner, size, door, entry)

    def rectangle(self, room: Rooms) -> Bool[Array, "W H"]:
        """The cells of a room, walls included, by column and row."""
        (left, top), (right, bottom) = room.corner, room.corner + room.size
        x, y = jnp.arange(self.size)[:, None], jnp.arange(self.size)
        return (x >= left) & (x < right) & (y >= top) & (y < bottom)

    def walls(self, room: Rooms) -> Bool[Array, "W H"]:
        inner = room._replace(corner=room.corner + 1, size=room.size - 2)
        return self.rectangle(room) & ~self.rectangle(inner)

    def cell(self, cell: Int[Array, "2"]) -> Bool[Array, "W H"]:
        """True at one cell."""
        return (jnp.arange(self.size)[:, None] == cell[0]) & (jnp.arange(self.size) == cell[1])


def _apart(room: Rooms, other: Rooms) -> Bool[Array, " *n"]:
    """MiniGrid's test: strict on one side only."""
    before = room.corner + room.size < other.corner
    after = other.corner + other.size <= room.corner
    return jnp.any(before | after, -1)
