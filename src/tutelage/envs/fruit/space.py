"""The levels of Stochastic Fruit Choice: drawn, and measured."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ...types import Metrics
from ..minigrid.chain import Chain
from ..minigrid.draws import uniform_where
from .level import DOOR, FLOOR, STONE, WALL, FruitLevel
from .solve import shortest_path

SHORTEST = 4
"""Cells a side of the smallest room, walls included, as in MiniGrid."""


@dataclass(frozen=True)
class FruitSpace:
    """Chains of 1 to ``rooms`` rooms, equally many of each number, as MiniGrid's MultiRoom draws them."""

    size: int = 21
    rooms: int = 8
    longest: int = 6
    apple: float = 0.7

    @property
    def chain(self) -> Chain:
        return Chain(self.size, self.rooms, SHORTEST, self.longest)

    def sample(self, key: PRNGKeyArray) -> FruitLevel:
        """A level of the true distribution."""
        rooms_key, level_key = jax.random.split(key)
        return self.at(level_key, jax.random.randint(rooms_key, (), 1, self.rooms + 1))

    def easy(self, key: PRNGKeyArray) -> FruitLevel:
        """One room."""
        return self.at(key, jnp.int32(1))

    def at(self, key: PRNGKeyArray, rooms: Int[Array, ""]) -> FruitLevel:
        """A level of so many rooms: the agent anywhere in the first, both fruits anywhere in the last."""
        chain_key, start_key, apple_key, banana_key, hidden_key = jax.random.split(key, 5)
        chain = self.chain
        placed = chain.draw(chain_key, rooms)
        tiles = jnp.full((self.size, self.size), STONE, jnp.uint8)  # by column and row here, as the chain has it
        for i in range(self.rooms):
            room = jax.tree.map(lambda x, i=i: x[i], placed)
            there = i < rooms
            tiles = jnp.where(chain.rectangle(room) & there & (tiles == STONE), jnp.uint8(FLOOR), tiles)
            tiles = jnp.where(chain.walls(room) & there, jnp.uint8(WALL), tiles)
            if i > 0:
                tiles = jnp.where(chain.cell(room.door) & there, jnp.uint8(DOOR), tiles)
        floor = tiles == FLOOR

        def inside(index: int | Int[Array, ""]) -> Bool[Array, "W H"]:
            return floor & chain.rectangle(jax.tree.map(lambda x: x[index], placed))

        start = uniform_where(start_key, inside(0))
        apple = uniform_where(apple_key, inside(rooms - 1) & ~chain.cell(start))
        banana = uniform_where(banana_key, inside(rooms - 1) & ~chain.cell(start) & ~chain.cell(apple))
        pays = jax.random.bernoulli(hidden_key, self.apple)
        return FruitLevel(tiles.T, start, apple, banana, pays)

    def metrics(self, level: FruitLevel) -> Metrics:
        """Rooms; whether the apple pays, of which the mean is the share of such levels; the shortest way to the fruit
        that pays (0 where there is none), and whether there is one.
        """
        moves = shortest_path(level)
        found = {
            "rooms": rooms_of(level),
            "apple": jnp.asarray(level.apple_pays),
            "path": jnp.maximum(moves, 0),
            "solvable": moves >= 0,
        }
        return {name: value.astype(jnp.float32) for name, value in found.items()}


def rooms_of(level: FruitLevel) -> Int[Array, ""]:
    return 1 + jnp.sum(level.tiles == DOOR, dtype=jnp.int32)


@dataclass(frozen=True)
class SomeRooms:
    """Levels of so many rooms; the fruit that pays is drawn from the truth, or is the one that is named."""

    space: FruitSpace
    rooms: int = 0
    """0: any number."""
    apple_pays: bool | None = None

    def __call__(self, key: PRNGKeyArray) -> FruitLevel:
        level = self.space.at(key, jnp.int32(self.rooms)) if self.rooms else self.space.sample(key)
        return level if self.apple_pays is None else level._replace(apple_pays=jnp.bool_(self.apple_pays))
