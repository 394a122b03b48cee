"""Mixreg (Wang et al., 2020): PPO on mixtures of two samples in the place of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..types import Metrics
from .agent import Output
from .augmentations import on_images
from .learner import Forward, Minibatch


class Pairs(NamedTuple):
    """Which of the ``B`` sequences of a minibatch are mixed, and how much of the first of two there is."""

    first: Int[Array, " B"]
    second: Int[Array, " B"]
    weight: Float[Array, " B"]
    """From a half to 1."""


@dataclass(frozen=True)
class Mixreg:
    """Changes minibatches only, and adds no loss: a term without a state."""

    beta_shape: float = 0.01
    renormalise: bool = False

    def init(self, key: PRNGKeyArray) -> tuple[()]:
        return ()

    def before(self, key: PRNGKeyArray, state: tuple[()], batch: Minibatch) -> tuple[tuple[()], Metrics]:
        return state, {}

    def pairs(self, key: PRNGKeyArray, size: int) -> Pairs:
        """Everybody with a random partner; whoever of two has the greater share comes first."""
        k_share, k_partner = jax.random.split(key)
        share = jax.random.beta(k_share, self.beta_shape, self.beta_shape, (size,))
        own, partner = jnp.arange(size), jax.random.permutation(k_partner, size)
        swap = share < 0.5
        return Pairs(jnp.where(swap, partner, own), jnp.where(swap, own, partner), jnp.where(swap, 1.0 - share, share))

    def change(self, key: PRNGKeyArray, state: tuple[()], batch: Minibatch) -> Minibatch:
        pairs = self.pairs(key, batch.first.shape[1])

        def mix(x: Array) -> Array:
            """Exact where the weight is 1, and where both are equal."""
            rest = (1.0 - pairs.weight).reshape(-1, *[1] * (x.ndim - 2))
            first, second = (jnp.take(x, which, axis=1).astype(jnp.float32) for which in (pairs.first, pairs.second))
            return (first + rest * (second - first)).astype(x.dtype)  # bytes are cut off, not rounded

        def heavier(tree: Any) -> Any:
            return jax.tree.map(lambda x: jnp.take(x, pairs.first, axis=1), tree)

        advantage = mix(batch.advantage)
        if self.renormalise:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return Minibatch(
            obs=on_images(mix, batch.obs, otherwise=heavier),
            first=heavier(batch.first),
            action=heavier(batch.action),
            log_prob=mix(batch.log_prob),
            value=mix(batch.value),
            target=mix(batch.target),
            advantage=advantage,
            extra=heavier(batch.extra),
        )

    def loss(
        self, state: tuple[()], batch: Minibatch, output: Output, forward: Forward
    ) -> tuple[Float[Array, ""], Metrics]:
        return jnp.float32(0.0), {}
