"""Can a level be solved, and how soon? Sets of cells are words of bits: a move of a batch is a few operations."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, UInt32

from .level import BALL, BLUE, BOX, CLOSED, DOOR, EMPTY, FLOOR, GOAL, HELD, KEY, LOCKED, OPEN, GridLevel

_Columns = UInt32[Array, " W"]
"""Some cells of a grid: a word for each column, the upper cell the lowest bit."""
_Sets = list[Array]
"""Some poses: a set of cells for each direction."""


def fewest_actions(level: GridLevel) -> Int[Array, ""]:
    """Actions to the goal for an agent that knows the level, -1 where there is no way. For levels without anything to
    carry: closed doors are opened, which takes an action, and locked ones are walls.
    """
    free, doors, goal = _ways(level)
    start = _start(level)
    # A set for each direction: turning goes from one to the next, walking stays in its own.
    facing = [jnp.where(level.direction == way, start, jnp.uint32(0)) for way in range(4)]

    def on(carry: tuple[_Sets, _Sets, Array, Array]) -> tuple[_Sets, _Sets, Array, Array]:
        before, now, times, _ = carry
        after = [
            now[way]
            | now[way - 1]
            | now[way - 3]
            | (walk(now[way]) & free)
            | (walk(before[way]) & doors)  # one action later: the door has to be opened first
            for way, walk in enumerate(_WALKS)
        ]
        grown = [a ^ b for a, b in zip(after, before, strict=True)]
        return now, after, times + 1, _any(grown)

    def there(sets: _Sets) -> Array:
        return _any([reached & goal for reached in sets])

    nowhere = [jnp.zeros_like(start)] * 4
    first = (nowhere, facing, jnp.int32(0), jnp.bool_(True))
    _, reached, times, _ = lax.while_loop(lambda carry: carry[3] & ~there(carry[1]), on, first)
    return jnp.where(there(reached), times, -1)


def shortest_path(level: GridLevel) -> Int[Array, ""]:
    """Moves from cell to cell to the goal, -1 where there is no way: turns and opening doors are not counted. For
    levels without anything to carry.
    """
    free, doors, goal = _ways(level)

    def on(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        reached, times, _ = carry
        after = reached
        for walk in _WALKS:
            after |= walk(reached) & (free | doors)
        return after, times + 1, _any([after ^ reached])

    first = (_start(level), jnp.int32(0), jnp.bool_(True))
    reached, times, _ = lax.while_loop(lambda carry: carry[2] & ~_any([carry[0] & goal]), on, first)
    return jnp.where(_any([reached & goal]), times, -1)


def solvable(level: GridLevel) -> Bool[Array, ""]:
    """Can the agent get to the goal, or beside the blue ball? Whatever can be carried is taken out of the way, which
    needs a little room; a locked door needs its key, perhaps out of a box, from where the agent gets.
    """
    kind, colour, state = (level.cells[..., channel] for channel in range(3))
    prize = (kind == BALL) & (colour == BLUE)
    loose = (kind == KEY) | (kind == BOX) | (kind == BALL)
    unlocked = (kind == DOOR) & (state != LOCKED)
    free = _pack((kind == EMPTY) | (kind == FLOOR) | (kind == GOAL) | loose | unlocked)
    goal = _pack(prize | (kind == GOAL))
    keys = [
        _pack(((kind == KEY) & (colour == tint)) | ((kind == BOX) & (state == HELD * (1 + tint)))) for tint in range(6)
    ]
    locks = [_pack((kind == DOOR) & (state == LOCKED) & (colour == tint)) for tint in range(6)]

    def on(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        reached, _ = carry
        way = free
        for key, lock in zip(keys, locks, strict=True):
            way |= jnp.where(_any([reached & key]), lock, jnp.uint32(0))
        after = reached
        for walk in _WALKS:
            after |= walk(reached) & way
        return after, _any([after ^ reached])

    reached, _ = lax.while_loop(lambda carry: carry[1], on, (_start(level), jnp.bool_(True)))
    return _any([reached & goal])


def _ways(level: GridLevel) -> tuple[_Columns, _Columns, _Columns]:
    """Cells to walk on, doors to be opened, and the goal."""
    kind, state = level.cells[..., 0], level.cells[..., 2]
    free = _pack((kind == EMPTY) | (kind == GOAL) | (kind == FLOOR) | ((kind == DOOR) & (state == OPEN)))
    return free, _pack((kind == DOOR) & (state == CLOSED)), _pack(kind == GOAL)


def _start(level: GridLevel) -> _Columns:
    columns = jnp.arange(level.cells.shape[0])
    return jnp.where(columns == level.start[0], jnp.uint32(1) << level.start[1].astype(jnp.uint32), jnp.uint32(0))


def _pack(mask: Bool[Array, "W H"]) -> _Columns:
    return jnp.sum(mask.astype(jnp.uint32) << jnp.arange(mask.shape[1], dtype=jnp.uint32), axis=1, dtype=jnp.uint32)


def _any(sets: list[Array]) -> Bool[Array, ""]:
    found = sets[0]
    for other in sets[1:]:
        found |= other
    return jnp.any(found != 0)


def _right(cells: _Columns) -> _Columns:
    return jnp.concatenate([jnp.zeros_like(cells[:1]), cells[:-1]])


def _left(cells: _Columns) -> _Columns:
    return jnp.concatenate([cells[1:], jnp.zeros_like(cells[:1])])


_WALKS = (_right, lambda cells: cells << 1, _left, lambda cells: cells >> 1)
"""All cells moved by one, by direction."""
