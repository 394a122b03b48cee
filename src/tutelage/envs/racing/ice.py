"""Black ice: tiles without friction that no picture shows, and whose true distribution is known."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8

from ...types import Share, TimeStep
from ..base import Continuous
from ..wrappers import Outcome, looked_at
from .env import Course, Focus, Moving, PreparedTrack, Racing, RacingState
from .level import TILES, RacingLevel


def black_ice(key: PRNGKeyArray, alpha: float | Array, beta: float | Array, tiles: int) -> Bool[Array, " tiles"]:
    """Icy tiles for a q that is drawn from Beta(alpha, beta)."""
    k_share, k_tiles = jax.random.split(key)
    return jax.random.bernoulli(k_tiles, jax.random.beta(k_share, alpha, beta), (tiles,))


@dataclass(frozen=True)
class IcyRacing:
    """Racing whose ice is a hidden parameter: q ~ Beta(alpha, beta), and each tile is icy with q.

    It also says how much ice the student meets: of the tiles that a wheel touches for the first time in an episode.
    """

    racing: Racing
    alpha: float = 1.0
    beta: float = 15.0

    @property
    def action_space(self) -> Continuous:
        return self.racing.action_space

    def prepare(self, level: RacingLevel | Course) -> PreparedTrack:
        return self.racing.prepare(level)

    def reset(self, key: PRNGKeyArray, level: PreparedTrack) -> tuple[RacingState, UInt8[Array, "h w c"]]:
        return self.racing.reset(key, level)

    def step(
        self, key: PRNGKeyArray, state: RacingState, action: Float[Array, "3"], level: PreparedTrack
    ) -> tuple[RacingState, TimeStep]:
        return looked_at(self, key, state, action, level)

    def focus(self, state: RacingState, level: PreparedTrack) -> tuple[Moving, Focus]:
        return self.racing.focus(state, level)

    def move(self, key: PRNGKeyArray, moving: Moving, action: Float[Array, "3"], near: Focus) -> tuple[Moving, Outcome]:
        after, outcome = self.racing.move(key, moving, action, near)
        met = after.visited & ~moving.visited
        share = Share((met & near.icy).sum(dtype=jnp.int32), met.sum(dtype=jnp.int32))
        return after, outcome._replace(shares={"ice-met": share})

    def settle(self, state: RacingState, moving: Moving, near: Focus) -> RacingState:
        return self.racing.settle(state, moving, near)

    def observe(self, state: RacingState, level: PreparedTrack) -> UInt8[Array, "h w c"]:
        return self.racing.observe(state, level)

    def prior(self, key: PRNGKeyArray, level: PreparedTrack) -> Bool[Array, " n"]:
        return black_ice(key, self.alpha, self.beta, TILES)

    def posterior(self, key: PRNGKeyArray, state: RacingState, level: PreparedTrack) -> Bool[Array, " n"]:
        """Visited tiles are known. The others share one q, drawn from Beta(alpha + icy, beta + dry) of the visited."""
        icy = (state.visited & state.ice).sum()
        dry = (state.visited & ~state.ice).sum()
        return jnp.where(state.visited, state.ice, black_ice(key, self.alpha + icy, self.beta + dry, TILES))

    def impose(self, state: RacingState, hidden: Bool[Array, " n"]) -> RacingState:
        return state._replace(ice=hidden)
