"""How soon can a level be solved, and what does that pay at best?"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..grids import cell_mask
from .env import APPLE_PAYS, BANANA_PAYS, HEALTH, PENALTY, Penalty
from .level import DOOR, FLOOR, FruitLevel

_NEVER = np.int32(2**20)
"""More doors than a level has cells."""
_BITE = 2
"""Actions: eat, and yes."""
_KICK = 2
"""Actions: kick, and where to."""
_HARDEST = 5
"""Hit points of the hardest kick into a wall."""


def shortest_path(level: FruitLevel) -> Int[Array, ""]:
    """Moves in eight directions from the start to the fruit that pays, -1 where there is no way. A locked door is
    walked through like floor: kicks are not counted.
    """
    tiles = jnp.asarray(level.tiles)
    walkable, prize = (tiles == FLOOR) | (tiles == DOOR), _prize(level)

    def spread(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        reached, moves, _ = carry
        further = _around(reached, jnp.maximum, False) & walkable
        return further, moves + 1, jnp.any(further != reached)

    first = (cell_mask(tiles.shape, level.start), jnp.int32(0), jnp.bool_(True))
    reached, moves, _ = lax.while_loop(lambda carry: carry[2] & ~jnp.any(carry[0] & prize), spread, first)
    return jnp.where(jnp.any(reached & prize), moves, -1)


def fewest_doors(level: FruitLevel, steps: int) -> Int[Array, ""]:
    """Doors on the way from the start to the fruit that pays which has the fewest of them, of all that take at most
    so many steps where every kick opens; -1 where there is no such way.
    """
    tiles = jnp.asarray(level.tiles)
    floor, door, prize = tiles == FLOOR, tiles == DOOR, _prize(level)

    # By cell, the fewest doors on a way of at most so many steps: now, one step before and two before, as a door takes
    # two steps more than floor.
    def on(carry: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
        now, before, earlier, time, _ = carry
        through = jnp.where(door, _around(earlier, jnp.minimum, _NEVER) + 1, _NEVER)
        walked = jnp.where(floor, _around(now, jnp.minimum, _NEVER), _NEVER)
        after = jnp.minimum(now, jnp.minimum(walked, through))
        return after, now, before, time + 1, jnp.any(after != earlier)

    start = jnp.where(cell_mask(tiles.shape, level.start), jnp.int32(0), _NEVER)
    nowhere = jnp.full_like(start, _NEVER)
    first = (start, nowhere, nowhere, jnp.int32(0), jnp.bool_(True))
    doors, *_ = lax.while_loop(lambda carry: (carry[3] < steps) & carry[4], on, first)
    found = jnp.min(jnp.where(prize, doors, _NEVER))
    return jnp.where(found < _NEVER, found, -1)


def optimum(level: FruitLevel, penalty: Penalty, max_steps: int) -> Float[Array, ""]:
    """The highest return: of who knows which fruit pays, and whose every kick opens its door."""
    doors = fewest_doors(level, max_steps - _BITE)
    worth = jnp.where(jnp.asarray(level.apple_pays), APPLE_PAYS, BANANA_PAYS)
    if penalty == "none":
        return jnp.where(doors >= 0, worth, 0.0).astype(jnp.float32)
    # Game time stands still while the game asks where to kick and whether to eat.
    solved = worth + PENALTY * (1 + doors)
    return jnp.where(doors >= 0, solved, _idle(level, max_steps)).astype(jnp.float32)


def _idle(level: FruitLevel, max_steps: int) -> Float[Array, ""]:
    """The highest return without a fruit. Walking costs nothing; opening a door first costs a question; and who is
    walled in does best to be done with it soon, by the hardest kicks into the wall.
    """
    tiles = jnp.asarray(level.tiles)
    beside = _around(cell_mask(tiles.shape, level.start), jnp.maximum, False) & ~cell_mask(tiles.shape, level.start)
    kicks = -(-HEALTH // _HARDEST)
    walled_in = PENALTY * -(-min(max_steps, _KICK * kicks) // _KICK)
    shut = jnp.where(jnp.any(beside & (tiles == DOOR)), PENALTY, walled_in)
    return jnp.where(jnp.any(beside & (tiles == FLOOR)), 0.0, shut)


def _prize(level: FruitLevel) -> Bool[Array, "H W"]:
    shape = jnp.asarray(level.tiles).shape
    return jnp.where(jnp.asarray(level.apple_pays), cell_mask(shape, level.apple), cell_mask(shape, level.banana))


def _around(values: Array, best: Callable[[Array, Array], Array], outside: bool | np.int32) -> Array:
    """The best of each cell's own value and its eight neighbours'."""
    padded = jnp.pad(values, 1, constant_values=outside)
    height, width = values.shape
    for i in range(3):
        for j in range(3):
            values = best(values, padded[i : i + height, j : j + width])
    return values
