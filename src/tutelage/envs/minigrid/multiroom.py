"""The generator of MultiRoom: one to four rooms in a chain, a door between each and the next."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt8

from .chain import Chain, Rooms
from .draws import uniform_where
from .level import BRICK, CLOSED, DOOR, EMPTY, NOTHING, TARGET, GridLevel

SIZE = 13
MOST = 4
CHAIN = Chain(SIZE, MOST, shortest=4, longest=7)


def sample(key: PRNGKeyArray, rooms: Int[Array, ""]) -> GridLevel:
    """A random level of so many rooms."""
    chain_key, colour_key, agent_key, heading_key, goal_key = jax.random.split(key, 5)
    placed = CHAIN.draw(chain_key, rooms)
    cells = _drawn(colour_key, placed, rooms)
    empty = cells[..., 0] == EMPTY
    last = jax.tree.map(lambda x: x[rooms - 1], placed)
    first = jax.tree.map(lambda x: x[0], placed)
    agent = uniform_where(agent_key, empty & CHAIN.rectangle(first))
    goal = uniform_where(goal_key, empty & CHAIN.rectangle(last) & ~CHAIN.cell(agent))
    cells = jnp.where(CHAIN.cell(goal)[..., None], jnp.asarray(TARGET), cells)
    return GridLevel(cells, agent.astype(jnp.uint8), jax.random.randint(heading_key, (), 0, 4).astype(jnp.uint8))


def _drawn(key: PRNGKeyArray, placed: Rooms, rooms: Int[Array, ""]) -> UInt8[Array, "W H 3"]:
    """Room after room: its walls, and its door over them, of any colour but the last one's. Outside is empty."""
    first, *others = jax.random.randint(key, (MOST - 1,), 0, jnp.array([6, 5, 5]))
    cells = jnp.broadcast_to(jnp.asarray(NOTHING), (SIZE, SIZE, 3))
    colour = first
    for i in range(MOST):
        room = jax.tree.map(lambda x, i=i: x[i], placed)
        walls = CHAIN.walls(room) & (i < rooms)
        cells = jnp.where(walls[..., None], jnp.asarray(BRICK), cells)
        if i > 0:
            colour = (colour + 1 + others[i - 2]) % 6 if i > 1 else first
            door = jnp.stack([jnp.uint8(DOOR), colour.astype(jnp.uint8), jnp.uint8(CLOSED)])
            cells = jnp.where((CHAIN.cell(room.door) & (i < rooms))[..., None], door, cells)
    return cells
