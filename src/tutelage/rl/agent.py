"""An agent: it sees, acts and values. How it learns is the learner's (``learner.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..types import Carry, Observation
from .distributions import Distribution
from .moments import Moments, none_yet
from .networks import ActorCritic

_FARTHEST = 10.0
"""Deviations from the mean beyond which an observation is cut off, where they are normalised."""


class AgentState(NamedTuple):
    """All that acting depends on."""

    params: Any
    returns: Moments
    """Of the discounted return so far in an episode: the unit of the network's values, where they are normalised."""
    observations: Any
    """Moments of every array of an observation; ``()`` where they are not normalised."""


class Decision(NamedTuple):
    """What an agent does at a step. The value is in the environment's own units."""

    action: Any
    log_prob: Float[Array, " B"]
    policy: Any
    value: Float[Array, " B"]


class Output(NamedTuple):
    """What the network says of a sequence; values in the network's unit."""

    policy: Float[Array, "T B n"]
    value: Float[Array, "T B"]


@dataclass(frozen=True)
class Agent:
    """A network and the distribution it acts by. All functions are of one agent, without an ``S`` axis."""

    network: ActorCritic
    actions: Distribution
    normalise_returns: bool = False
    normalise_observations: bool = False

    def init(self, key: PRNGKeyArray, obs: Observation) -> AgentState:
        """A new agent. ``obs`` is one observation (or its shapes), without a batch."""
        moments = jax.tree.map(lambda x: none_yet(x.shape), obs) if self.normalise_observations else ()
        obs = jax.tree.map(lambda x: jnp.zeros((1, 1, *x.shape), x.dtype), obs)
        params = self.network.init(key, self.network.initial_carry(1), obs, jnp.ones((1, 1), bool))
        return AgentState(params, none_yet(), moments)

    def initial_carry(self, batch: int) -> Carry:
        return self.network.initial_carry(batch)

    def noise(self, key: PRNGKeyArray, batch: int) -> Array:
        """What is random about the actions of one step, ``[B, ...]``."""
        return self.actions.noise(key, (batch,))

    def act(
        self, state: AgentState, noise: Array, carry: Carry, obs: Observation, first: Bool[Array, " B"]
    ) -> tuple[Carry, Decision]:
        """Choose an action for each of ``B`` levels."""
        carry, policy, value = self._step(state, carry, obs, first)
        action = self.actions.choose(noise, policy)
        return carry, Decision(action, self.actions.log_prob(policy, action), policy, value)

    def value(self, state: AgentState, carry: Carry, obs: Observation, first: Bool[Array, " B"]) -> Float[Array, " B"]:
        """The value of an observation that follows what ``carry`` remembers."""
        return self._step(state, carry, obs, first)[2]

    def _step(self, state: AgentState, carry: Carry, obs: Observation, first: Array) -> tuple[Carry, Any, Array]:
        obs, first = jax.tree.map(lambda x: x[None], (obs, first))
        carry, policy, value = self._apply(state.params, carry, self.perceive(state, obs), first)
        return carry, policy[0], value[0] * self.unit(state)

    def perceive(self, state: AgentState, obs: Observation) -> Observation:
        """Observations as the network sees them."""
        if not self.normalise_observations:
            return obs

        def normal(x: Array, moments: Moments) -> Array:
            return jnp.clip((x - moments.mean) / moments.deviation, -_FARTHEST, _FARTHEST)

        return jax.tree.map(normal, obs, state.observations)

    def unit(self, state: AgentState) -> Float[Array, ""] | float:
        """The network learns values in this unit, so that everybody else can speak the environment's."""
        return state.returns.deviation if self.normalise_returns else 1.0

    def forward(self, params: Any, obs: Observation, first: Bool[Array, "T B"]) -> Output:
        """What the network says of whole sequences, as perceived. Memory starts at zero."""
        _, policy, value = self._apply(params, self.network.initial_carry(first.shape[1]), obs, first)
        return Output(policy, value)

    def _apply(self, params: Any, carry: Carry, obs: Observation, first: Array) -> tuple[Carry, Any, Array]:
        # Only to say what flax cannot: this network returns three things.
        output: Any = self.network.apply(params, carry, obs, first)
        return output
