"""The walker from its teacher's side: a level is designed one parameter a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8

from ...types import TimeStep, played
from ..base import Brief, Continuous
from .level import Level
from .space import WalkerSpace

NOISE = 10
"""Uniform random numbers that the teacher sees at each step, so that its levels can differ."""


class DesignObs(NamedTuple):
    point: Float[Array, " D"]
    """The actions so far, 0 for those to come."""
    time: Int[Array, ""]
    noise: Float[Array, " noise"]


class DesignState(NamedTuple):
    point: Float[Array, " D"]
    time: Int[Array, ""]
    key_data: UInt8[Array, "..."]


@dataclass(frozen=True)
class WalkerDesign:
    """Sets the parameters in their order. An action from -1 to 1 is a place between a parameter's ends; the seed of the
    terrain is not the teacher's to choose.
    """

    space: WalkerSpace

    @property
    def steps(self) -> int:
        return len(self.space.free)

    @property
    def action_space(self) -> Continuous:
        return Continuous(1)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        del key  # all randomness is in the brief, so that a design can be replayed from its actions
        state = DesignState(jnp.zeros(self.steps), jnp.int32(0), level.key_data)
        return state, _observe(state)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Float[Array, "1"], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        del key, level
        chosen = jnp.clip(action[0], -1.0, 1.0)
        point = jnp.where(jnp.arange(self.steps) == state.time, chosen, state.point)
        state = state._replace(point=point, time=state.time + 1)
        obs = _observe(state)
        # The reward comes from elsewhere, when students have played the level.
        return state, played(obs, jnp.float32(0), state.time >= self.steps, jnp.bool_(False))

    def level(self, state: DesignState) -> Level:
        """The finished level."""
        low, high = jnp.array(self.space.box.low), jnp.array(self.space.box.high)
        return self.space.at(_key(state.key_data, self.steps + 1), low + (state.point + 1) / 2 * (high - low))


class DesignEncoder(nn.Module):
    """The teacher's eyes: all numbers side by side."""

    steps: int

    @nn.compact
    def __call__(self, obs: DesignObs) -> Float[Array, "T B d"]:
        time = obs.time[..., None] / self.steps
        return jnp.concatenate([obs.point, time, obs.noise], axis=-1)


def _key(key_data: Array, number: int | Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.wrap_key_data(key_data), number)


def _observe(state: DesignState) -> DesignObs:
    noise = jax.random.uniform(_key(state.key_data, state.time), (NOISE,))
    return DesignObs(state.point, state.time, noise)
