"""Proximal policy optimisation of one student (thesis, section 2.2.2). Teachers that learn are students too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..devices import ONE, Devices
from ..settings import PPOSettings
from ..types import Carry, Metrics, Observation, Rollout
from .advantages import gae
from .distributions import Distribution
from .moments import Moments, none_yet, seen
from .networks import ActorCritic

_FARTHEST = 10.0
"""Deviations from the mean beyond which an observation is cut off, where they are normalised."""


class StudentState(NamedTuple):
    """All that a student learns and remembers between rollouts."""

    params: Any
    optimiser: Any
    returns: Moments
    """Of the discounted return so far in an episode."""
    observations: Any
    """Moments of every array of an observation; ``()`` where they are not normalised."""
    updates: Int[Array, ""]


class Decision(NamedTuple):
    """What a student does at a step. The value is in the environment's own units."""

    action: Any
    log_prob: Float[Array, " B"]
    policy: Any
    value: Float[Array, " B"]


@dataclass(frozen=True)
class Student:
    """A network that acts, and the rule by which it learns. All functions are of one student, without an ``S`` axis."""

    network: ActorCritic
    actions: Distribution
    ppo: PPOSettings
    devices: Devices = ONE
    """Over which the levels it plays and learns from are split."""

    def init(self, key: PRNGKeyArray, obs: Observation) -> StudentState:
        """A new student. ``obs`` is one observation (or its shapes), without a batch."""
        moments = jax.tree.map(lambda x: none_yet(x.shape), obs) if self.ppo.normalise_observations else ()
        obs = jax.tree.map(lambda x: jnp.zeros((1, 1, *x.shape), x.dtype), obs)
        params = self.network.init(key, self.network.initial_carry(1), obs, jnp.ones((1, 1), bool))
        return StudentState(params, self._optimiser.init(params), none_yet(), moments, jnp.int32(0))

    def initial_carry(self, batch: int) -> Carry:
        return self.network.initial_carry(batch)

    def noise(self, key: PRNGKeyArray, batch: int) -> Array:
        """What is random about the actions of one step, ``[B, ...]``."""
        return self.actions.noise(key, (batch,))

    def act(
        self, state: StudentState, noise: Array, carry: Carry, obs: Observation, first: Bool[Array, " B"]
    ) -> tuple[Carry, Decision]:
        """Choose an action for each of ``B`` levels."""
        carry, policy, value = self._forward(state, carry, obs, first)
        action = self.actions.choose(noise, policy)
        return carry, Decision(action, self.actions.log_prob(policy, action), policy, value)

    def value(
        self, state: StudentState, carry: Carry, obs: Observation, first: Bool[Array, " B"]
    ) -> Float[Array, " B"]:
        """The value of an observation that follows what ``carry`` remembers."""
        return self._forward(state, carry, obs, first)[2]

    def _forward(self, state: StudentState, carry: Carry, obs: Observation, first: Array) -> tuple[Carry, Any, Array]:
        obs, first = jax.tree.map(lambda x: x[None], (obs, first))
        carry, policy, value = self._apply(state.params, carry, self._perceived(state, obs), first)
        return carry, policy[0], value[0] * self._unit(state.returns)

    def _perceived(self, state: StudentState, obs: Observation) -> Observation:
        """Observations as the network sees them."""
        if not self.ppo.normalise_observations:
            return obs

        def normal(x: Array, moments: Moments) -> Array:
            return jnp.clip((x - moments.mean) / moments.deviation, -_FARTHEST, _FARTHEST)

        return jax.tree.map(normal, obs, state.observations)

    def _apply(self, params: Any, carry: Carry, obs: Observation, first: Array) -> tuple[Carry, Any, Array]:
        # Only to say what flax cannot: this network returns three things.
        output: Any = self.network.apply(params, carry, obs, first)
        return output

    def _unit(self, returns: Moments) -> Float[Array, ""] | float:
        """The network learns values in this unit, so that everybody else can speak the environment's."""
        return returns.deviation if self.ppo.normalise_returns else 1.0

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        # The step size is applied by hand: it follows the progress of the run, which is not a count of updates.
        return optax.chain(
            optax.clip_by_global_norm(self.ppo.max_grad_norm), optax.scale_by_adam(eps=self.ppo.adam_epsilon)
        )

    def update(
        self, key: PRNGKeyArray, state: StudentState, rollout: Rollout, progress: Float[Array, ""]
    ) -> tuple[StudentState, Metrics]:
        """Learn from a rollout ``[T, B, ...]``. ``progress`` is the share of the run that is done, from 0 to 1."""
        ppo = self.ppo
        if ppo.normalise_returns:
            state = state._replace(returns=_observe_returns(state.returns, rollout, ppo.discount))
        unit = self._unit(state.returns)
        advantage = gae(
            rollout.reward,
            rollout.value,
            rollout.next_value,
            rollout.terminated,
            rollout.truncated,
            ppo.discount,
            ppo.gae_lambda,
        )
        batch = _Batch(
            # As they were seen when it acted; what is learned about observations is for the next rollout.
            obs=self._perceived(state, rollout.obs),
            first=rollout.first,
            action=rollout.action,
            log_prob=rollout.log_prob,
            value=rollout.value / unit,
            target=(rollout.value + advantage) / unit,
            # Over the whole batch, before it is split.
            advantage=(advantage - advantage.mean()) / (advantage.std() + 1e-5),
        )
        if not self.network.recurrent:  # every transition is a trajectory of its own
            batch = jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), batch)

        # A minibatch is drawn from all levels, so every device needs them all; the whole batch stays where it is.
        batch = self.devices.shard(batch) if ppo.minibatches == 1 else self.devices.replicate(batch)
        gradients = self.devices.pmean(jax.value_and_grad(self._loss, has_aux=True))
        rate = ppo.learning_rate * ((1.0 - progress) if ppo.anneal else 1.0)
        columns = batch.first.shape[1]

        def minibatch(carry: tuple[Any, Any], index: Int[Array, " b"]) -> tuple[tuple[Any, Any], Metrics]:
            params, optimiser = carry
            part = batch if ppo.minibatches == 1 else jax.tree.map(lambda x: jnp.take(x, index, axis=1), batch)
            (_, metrics), gradient = gradients(params, part)
            update, optimiser = self._optimiser.update(gradient, optimiser, params)
            params = jax.tree.map(lambda p, u: p - rate * u, params, update)
            return (params, optimiser), {**metrics, "grad_norm": optax.tree.norm(gradient)}

        def shuffled(key: PRNGKeyArray) -> Int[Array, "m b"]:
            return jax.random.permutation(key, columns).reshape(ppo.minibatches, -1)

        order = jax.vmap(shuffled)(jax.random.split(key, ppo.epochs)).reshape(ppo.epochs * ppo.minibatches, -1)
        (params, optimiser), metrics = jax.lax.scan(minibatch, (state.params, state.optimiser), order)
        if ppo.normalise_observations:
            state = state._replace(observations=_observe(state.observations, rollout.obs))
        state = state._replace(params=params, optimiser=optimiser, updates=state.updates + 1)
        return state, jax.tree.map(jnp.mean, metrics)

    def _loss(self, params: Any, batch: _Batch) -> tuple[Float[Array, ""], Metrics]:
        ppo = self.ppo
        carry = self.network.initial_carry(batch.first.shape[1])
        _, policy, value = self._apply(params, carry, batch.obs, batch.first)

        log_ratio = self.actions.log_prob(policy, batch.action) - batch.log_prob
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip)
        policy_loss = -jnp.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()

        value_error = self._value_error(value - batch.target)
        if ppo.value_clip:
            near = batch.value + jnp.clip(value - batch.value, -ppo.clip, ppo.clip)
            value_error = jnp.maximum(value_error, self._value_error(near - batch.target))
        value_loss = value_error.mean()

        entropy = self.actions.entropy(policy).mean()
        loss = policy_loss + ppo.value_coef * value_loss - ppo.entropy_coef * entropy
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratio - 1 - log_ratio).mean(),
            "clipped": (jnp.abs(ratio - 1) > ppo.clip).mean(),
        }

    def _value_error(self, difference: Float[Array, "T B"]) -> Float[Array, "T B"]:
        if self.ppo.huber > 0:
            return optax.losses.huber_loss(difference, delta=self.ppo.huber)
        return jnp.square(difference)


class _Batch(NamedTuple):
    """What the loss reads, ``[T, B, ...]``; values and targets in the network's unit."""

    obs: Observation
    first: Bool[Array, "T B"]
    action: Any
    log_prob: Float[Array, "T B"]
    value: Float[Array, "T B"]
    target: Float[Array, "T B"]
    advantage: Float[Array, "T B"]


def _observe(statistics: Any, obs: Observation) -> Any:
    """Add the observations of a rollout."""
    return jax.tree.map(lambda x, moments: seen(moments, x.astype(jnp.float32)), obs, statistics)


def _observe_returns(statistics: Moments, rollout: Rollout, discount: float) -> Moments:
    """Add a rollout's discounted returns-so-far, which start anew with every episode."""

    def forward(return_tm1: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        r_t, first_t = step
        return_t = r_t + discount * jnp.where(first_t, 0.0, return_tm1)
        return return_t, return_t

    _, returns = jax.lax.scan(forward, jnp.zeros_like(rollout.reward[0]), (rollout.reward, rollout.first))
    return seen(statistics, returns)
