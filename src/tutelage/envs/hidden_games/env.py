"""The games themselves, their levels, and the teacher's side of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...types import Metrics, TimeStep, played
from ..base import Brief, Discrete
from . import solve
from .settings import Game

Tiles = Bool[Array, " n"]
"""A level: which tiles are of the second kind."""


class HiddenState(NamedTuple):
    tiles: Tiles
    time: Int[Array, ""]
    history: Int[Array, ""]
    """Number of the node in the tree of all histories: the start is 0, the children of ``i`` are 2i + 1 and 2i + 2."""


@dataclass(frozen=True)
class HiddenGame:
    """What the student sees is which history it has seen, one-hot: all there is to know."""

    game: Game

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def prepare(self, level: Tiles) -> Tiles:
        return level

    def reset(self, key: PRNGKeyArray, level: Tiles) -> tuple[HiddenState, Float[Array, " histories"]]:
        del key
        state = HiddenState(level, jnp.int32(0), jnp.int32(0))
        return state, self._observe(state)

    def step(
        self, key: PRNGKeyArray, state: HiddenState, action: Int[Array, ""], level: Tiles
    ) -> tuple[HiddenState, TimeStep]:
        del key, level  # which tiles there are is the state's to say: grounding changes it
        tile = state.tiles[state.time].astype(jnp.int32)
        reward = jnp.asarray(self.game.payoffs, jnp.float32)[tile, action]
        state = HiddenState(state.tiles, state.time + 1, 2 * state.history + 1 + tile)
        over = state.time >= self.game.number
        return state, played(self._observe(state), reward, over, jnp.bool_(False))

    def _observe(self, state: HiddenState) -> Float[Array, " histories"]:
        """After the last tile nothing: there is nothing left to decide."""
        return jax.nn.one_hot(state.history, 2**self.game.number - 1, dtype=jnp.float32)

    def prior(self, key: PRNGKeyArray, level: Tiles) -> Tiles:
        return self._draw(key, level, jnp.zeros(self.game.number, bool))

    def posterior(self, key: PRNGKeyArray, state: HiddenState, level: Tiles) -> Tiles:
        del level
        return self._draw(key, state.tiles, jnp.arange(self.game.number) < state.time)

    def impose(self, state: HiddenState, hidden: Tiles) -> HiddenState:
        return state._replace(tiles=hidden)

    def _draw(self, key: PRNGKeyArray, tiles: Tiles, seen: Bool[Array, " n"]) -> Tiles:
        """Tiles that were seen stay; one chance for all others, as likely as what was seen makes it."""
        k_chance, k_tiles = jax.random.split(key)
        chance = self.game.prior
        if isinstance(chance, tuple):
            second, first = (seen & tiles).sum(), (seen & ~tiles).sum()
            chance = jax.random.beta(k_chance, chance[0] + second, chance[1] + first)
        return jnp.where(seen, tiles, jax.random.bernoulli(k_tiles, chance, (self.game.number,)))


@dataclass(frozen=True)
class TileSpace:
    """The level space. Random levels are drawn from the true distribution."""

    game: Game

    def sample(self, key: PRNGKeyArray) -> Tiles:
        return HiddenGame(self.game).prior(key, jnp.zeros(self.game.number, bool))

    def edit(self, key: PRNGKeyArray, level: Tiles, edits: int) -> Tiles:
        """Another level: one change reaches all of them."""
        del edits
        changed = jax.random.randint(key, (), 1, 2**self.game.number)
        return level ^ ((changed >> jnp.arange(self.game.number)) & 1).astype(bool)

    def at(self, key: PRNGKeyArray, point: Float[Array, " n"]) -> Tiles:
        """Each tile is a side of the unit cube, whose upper half is the second kind."""
        del key
        return point >= 0.5

    def metrics(self, level: Tiles) -> Metrics:
        return {self.game.tiles[1]: level.mean(), "optimum": self.optimum(level)}

    def optimum(self, level: Tiles) -> Float[Array, ""]:
        best = jnp.max(jnp.asarray(self.game.payoffs, jnp.float32), axis=1)
        return jnp.where(level, best[1], best[0]).sum()

    def resampled_optimum(self, level: Tiles) -> Float[Array, ""]:
        """The same for every level, whose tiles are not played."""
        del level
        return jnp.float32(float(solve.utility(self.game, solve.bayes(self.game))))

    def grounded_optimum(self, level: Tiles) -> Float[Array, ""]:
        each = [float(solve.grounded_optimum(self.game, known)) for known in solve.levels(self.game)]
        number = (level * 2 ** jnp.arange(self.game.number)[::-1]).sum()  # as ``solve.levels`` counts
        return jnp.asarray(each, jnp.float32)[number]


class DesignState(NamedTuple):
    tiles: Tiles
    time: Int[Array, ""]


@dataclass(frozen=True)
class TileDesign:
    """The teacher's side of a game: it chooses tile after tile."""

    number: int

    @property
    def steps(self) -> int:
        return self.number

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, Float[Array, " 2n"]]:
        del key, level
        state = DesignState(jnp.zeros(self.number, bool), jnp.int32(0))
        return state, self._observe(state)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        del key, level
        tiles = state.tiles.at[state.time].set(action.astype(bool))
        state = DesignState(tiles, state.time + 1)
        return state, played(self._observe(state), jnp.float32(0), state.time >= self.number, jnp.bool_(False))

    def _observe(self, state: DesignState) -> Float[Array, " 2n"]:
        now = jax.nn.one_hot(state.time, self.number, dtype=jnp.float32)
        return jnp.concatenate([now, state.tiles.astype(jnp.float32)])

    def level(self, state: DesignState) -> Tiles:
        return state.tiles


class AsSeen(nn.Module):
    """Observations are embedded as they are."""

    @nn.compact
    def __call__(self, obs: Float[Array, "T B n"]) -> Float[Array, "T B n"]:
        return obs

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers (see ``rl.encoders``)."""
        return [[]]
