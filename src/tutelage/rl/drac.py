"""DrAC and UCB-DrAC (Raileanu et al., 2021): a student should act and value alike on images that were changed.

PPO learns from images as they are; so do acting, advantages and the scores of levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..settings import AugmentationName
from ..types import Metrics, Observation, State
from .agent import Output
from .augmentations import augment
from .distributions import Distribution
from .learner import Forward, Minibatch


class Changed(NamedTuple):
    """What a minibatch is given besides."""

    obs: Observation
    noise: Any
    """What is random about one action for each step; ``()`` where policies are compared exactly."""


@dataclass(frozen=True)
class DrAC:
    """A loss on changed images, all of them changed in the same way: a term without a state."""

    actions: Distribution
    arms: tuple[AugmentationName, ...]
    weight: float = 0.1
    divergence: Literal["exact", "sampled"] = "exact"

    def init(self, key: PRNGKeyArray) -> State:
        return ()

    def before(self, key: PRNGKeyArray, state: State, batch: Minibatch) -> tuple[State, Metrics]:
        return state, {}

    def change(self, key: PRNGKeyArray, state: State, batch: Minibatch) -> Minibatch:
        return self.changed(key, 0, batch)

    def changed(self, key: PRNGKeyArray, arm: Int[Array, ""] | int, batch: Minibatch) -> Minibatch:
        """The minibatch with images that one of the arms has changed."""
        k_images, k_noise = jax.random.split(key)
        noise = self.actions.noise(k_noise, batch.first.shape) if self.divergence == "sampled" else ()
        return batch._replace(extra=Changed(augment(k_images, self.arms, arm, batch.obs), noise))

    def loss(
        self, state: State, batch: Minibatch, output: Output, forward: Forward
    ) -> tuple[Float[Array, ""], Metrics]:
        changed: Changed = batch.extra
        target = jax.lax.stop_gradient(output)  # the plain image leads, the changed one follows
        other = forward(changed.obs, batch.first)
        if self.divergence == "sampled":
            policy_loss = -self.actions.log_prob(other.policy, self.actions.choose(changed.noise, target.policy))
        else:
            policy_loss = self.actions.kl(target.policy, other.policy)
        policy_loss = policy_loss.mean()
        value_loss = 0.5 * jnp.square(target.value - other.value).mean()
        figures = {"changed_policy_loss": policy_loss, "changed_value_loss": value_loss}
        return self.weight * (policy_loss + value_loss), figures


class Bandit(NamedTuple):
    """What is known of ``A`` arms."""

    arm: Int[Array, ""]
    """The one that is being tried; -1 before the first update."""
    pulls: Int[Array, " A"]
    """How often each was paid for."""
    payoffs: Float[Array, "A K"]
    """Of each the last K, in a ring."""
    paid_at: Int[Array, "A K"] | tuple[()]
    """How many updates had been paid for before each of these; nothing where none is forgotten."""


@dataclass(frozen=True)
class UCB:
    """A bandit with an upper confidence bound over a window of pay-offs."""

    arms: int
    exploration: float = 0.1
    window: int = 10
    try_all: bool = True
    """Whichever arm has no pay-off that counts comes first. Published code takes an untried arm to be worth 0 instead,
    so that it never leaves the first one if that pays more than ``exploration`` times the root of the logarithm of all
    updates.
    """
    memory: int = 100
    """After how many updates a pay-off is forgotten, no fewer than there are arms; 0 for never, as published. Returns
    rise while a student learns, so whatever was tried last looks best, and what is not forgotten is not tried again.
    """

    def init(self) -> Bandit:
        ring = (self.arms, self.window)
        paid_at = jnp.zeros(ring, jnp.int32) if self.memory else ()
        return Bandit(jnp.int32(-1), jnp.zeros(self.arms, jnp.int32), jnp.zeros(ring), paid_at)

    def credit(self, state: Bandit, payoff: Float[Array, ""]) -> Bandit:
        """Pay for the arm that was tried last, if any was."""
        arm = jnp.maximum(state.arm, 0)
        slot = state.pulls[arm] % self.window
        after = state._replace(pulls=state.pulls.at[arm].add(1), payoffs=state.payoffs.at[arm, slot].set(payoff))
        if not isinstance(state.paid_at, tuple):
            after = after._replace(paid_at=state.paid_at.at[arm, slot].set(state.pulls.sum()))
        return jax.tree.map(lambda old, new: jnp.where(state.arm < 0, old, new), state, after)

    def remembered(self, state: Bandit) -> Bool[Array, "A K"]:
        """Which places of the rings hold pay-offs that still count."""
        paid = jnp.arange(self.window) < state.pulls[:, None]
        if isinstance(state.paid_at, tuple):
            return paid
        return paid & (state.pulls.sum() - state.paid_at <= self.memory)

    def worth(self, state: Bandit) -> Float[Array, " A"]:
        """The mean of an arm's last pay-offs; 0 where there is none."""
        counted = self.remembered(state)
        return jnp.where(counted, state.payoffs, 0).sum(axis=1) / jnp.maximum(counted.sum(axis=1), 1)

    def choose(self, state: Bandit) -> Bandit:
        """The arm to try next; of equal ones the first."""
        # As published: all counts begin at 1.
        bonus = self.exploration * jnp.sqrt(jnp.log(1.0 + state.pulls.sum()) / (1.0 + state.pulls))
        bound = self.worth(state) + bonus
        if self.try_all:
            bound = jnp.where(self.remembered(state).any(axis=1), bound, jnp.inf)
        return state._replace(arm=jnp.argmax(bound).astype(jnp.int32))


@dataclass(frozen=True)
class UCBDrAC:
    """DrAC whose change is chosen anew for every update. An arm is paid with the mean return of the next batch."""

    drac: DrAC
    bandit: UCB

    def init(self, key: PRNGKeyArray) -> Bandit:
        return self.bandit.init()

    def before(self, key: PRNGKeyArray, state: Bandit, batch: Minibatch) -> tuple[Bandit, Metrics]:
        # What is learned from now was played after the last update, and so by what the last arm has made.
        state = self.bandit.choose(self.bandit.credit(state, batch.target.mean()))
        total = jnp.maximum(state.pulls.sum(), 1)
        shares, worth = state.pulls / total, self.bandit.worth(state)
        return state, {
            f"{what}/{name}": numbers[i]
            for what, numbers in (("pulled", shares), ("worth", worth))
            for i, name in enumerate(self.drac.arms)
        }

    def change(self, key: PRNGKeyArray, state: Bandit, batch: Minibatch) -> Minibatch:
        return self.drac.changed(key, state.arm, batch)

    def loss(
        self, state: Bandit, batch: Minibatch, output: Output, forward: Forward
    ) -> tuple[Float[Array, ""], Metrics]:
        return self.drac.loss((), batch, output, forward)
