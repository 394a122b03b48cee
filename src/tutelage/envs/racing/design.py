"""Racing from its teacher's side: a control point a step, each a cell of a grid (thesis, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...rl.convolution import convolution
from ...types import TimeStep, played
from ..base import Brief, Discrete
from .ice import black_ice
from .level import FIELD, POINTS, REACH, TILES, RacingLevel, ordered, packed

GRID = 10
NOISE = 16
"""Uniform random numbers that the teacher sees at each step, so that its tracks can differ."""
_relu_init = nn.initializers.orthogonal(2**0.5)


class DesignObs(NamedTuple):
    sketch: Bool[Array, "10 10"]
    """Where there are control points."""
    time: Int[Array, ""]
    noise: Float[Array, " noise"]


class DesignState(NamedTuple):
    cells: Int[Array, "12"]
    """Those chosen so far; -1 for those to come."""
    time: Int[Array, ""]
    key_data: Array


@dataclass(frozen=True)
class RacingDesign:
    """Chooses twelve different cells of a ten by ten grid. An action is a cell; those that are taken are masked.

    Ice is not its choice: it is drawn, as for random levels.
    """

    ice: bool = False
    alpha: float = 1.0
    beta: float = 15.0

    @property
    def steps(self) -> int:
        return POINTS

    @property
    def action_space(self) -> Discrete:
        return Discrete(GRID**2)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        del key  # all randomness is in the brief, so that a design can be replayed from its actions
        state = DesignState(jnp.full(POINTS, -1, jnp.int32), jnp.int32(0), level.key_data)
        return state, _observe(state)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        del key, level
        # The mask keeps teachers from taken cells; whoever has none (`tutelage check`) gets the next free one.
        onward = jnp.mod(action + jnp.arange(GRID**2), GRID**2)
        cell = onward[jnp.argmin(_taken(state)[onward])].astype(jnp.int32)
        cells = jnp.where(jnp.arange(POINTS) == state.time, cell, state.cells)
        state = DesignState(cells, state.time + 1, state.key_data)
        # The reward comes from elsewhere, when students have driven the track.
        return state, played(_observe(state), jnp.float32(0), state.time >= self.steps, jnp.bool_(False))

    def level(self, state: DesignState) -> RacingLevel:
        """The finished track."""
        column, row = state.cells % GRID, state.cells // GRID
        points = (jnp.stack([column, row], axis=1) + 0.5) * (FIELD / GRID) - REACH
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key_data), self.steps + 1)
        icy = black_ice(key, self.alpha, self.beta, TILES) if self.ice else jnp.zeros(TILES, bool)
        return RacingLevel(ordered(points.astype(jnp.float32)), packed(icy))


def _taken(state: DesignState) -> Bool[Array, "100"]:
    return (state.cells[:, None] == jnp.arange(GRID**2)).any(axis=0)


def free_cells(obs: DesignObs) -> Bool[Array, "n 100"]:
    """The cells that a teacher may choose, of observations ``[n, ...]``."""
    return ~obs.sketch.reshape(-1, GRID**2)


def _observe(state: DesignState) -> DesignObs:
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key_data), state.time)
    return DesignObs(_taken(state).reshape(GRID, GRID), state.time, jax.random.uniform(key, (NOISE,)))


class DesignEncoder(nn.Module):
    """The teacher's eyes: two 2x2 convolutions over the sketch, the time and the noise."""

    time: int

    @nn.compact
    def __call__(self, obs: DesignObs) -> Float[Array, "n d"]:
        x = obs.sketch.astype(jnp.float32)[..., None]
        for i, channels in enumerate((8, 16)):
            x = nn.relu(convolution(channels, 2, padding="VALID", kernel_init=_relu_init, name=f"layer_{i}")(x))
        when = nn.Dense(self.time, name="time_embedding")(jax.nn.one_hot(obs.time, POINTS + 1))
        return jnp.concatenate([x.reshape(*obs.time.shape, -1), when, obs.noise], axis=-1)
