"""The loss of proximal policy optimisation (thesis, section 2.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ..devices import ONE, Devices
from ..settings import PPOSettings
from ..types import Metrics
from .agent import Agent, Output
from .distributions import Distribution
from .learner import Forward, Learner, LossTerm, Minibatch


@dataclass(frozen=True)
class PPO:
    """The clipped surrogate, the value loss and the entropy bonus: a term without a state."""

    actions: Distribution
    settings: PPOSettings

    def init(self, key: PRNGKeyArray) -> tuple[()]:
        return ()

    def before(self, key: PRNGKeyArray, state: tuple[()], batch: Minibatch) -> tuple[tuple[()], Metrics]:
        return state, {}

    def change(self, key: PRNGKeyArray, state: tuple[()], batch: Minibatch) -> Minibatch:
        return batch

    def loss(
        self, state: tuple[()], batch: Minibatch, output: Output, forward: Forward
    ) -> tuple[Float[Array, ""], Metrics]:
        ppo = self.settings
        log_ratio = self.actions.log_prob(output.policy, batch.action) - batch.log_prob
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip)
        policy_loss = -jnp.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()

        value_error = self._value_error(output.value - batch.target)
        if ppo.value_clip:
            near = batch.value + jnp.clip(output.value - batch.value, -ppo.clip, ppo.clip)
            value_error = jnp.maximum(value_error, self._value_error(near - batch.target))
        value_loss = value_error.mean()

        entropy = self.actions.entropy(output.policy).mean()
        loss = policy_loss + ppo.value_coef * value_loss - ppo.entropy_coef * entropy
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratio - 1 - log_ratio).mean(),
            "clipped": (jnp.abs(ratio - 1) > ppo.clip).mean(),
        }

    def _value_error(self, difference: Float[Array, "T B"]) -> Float[Array, "T B"]:
        if self.settings.huber > 0:
            return optax.losses.huber_loss(difference, delta=self.settings.huber)
        return jnp.square(difference)


def ppo_learner(
    agent: Agent, settings: PPOSettings, devices: Devices = ONE, more: tuple[LossTerm, ...] = ()
) -> Learner:
    """PPO, and perhaps more terms after its own."""
    return Learner(agent, (PPO(agent.actions, settings), *more), settings, devices)
