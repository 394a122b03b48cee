"""Action distributions as pure functions of their parameters."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


@dataclass(frozen=True)
class Categorical:
    """One of ``n`` actions. The parameters are logits; a masked action has a logit of minus infinity."""

    n: int

    @property
    def parameters(self) -> int:
        """How many numbers the policy head must produce."""
        return self.n

    def sample(self, key: PRNGKeyArray, logits: Float[Array, "*b n"]) -> Int[Array, "*b"]:
        return jax.random.categorical(key, logits).astype(jnp.int32)

    def mode(self, logits: Float[Array, "*b n"]) -> Int[Array, "*b"]:
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)

    def log_prob(self, logits: Float[Array, "*b n"], action: Int[Array, "*b"]) -> Float[Array, "*b"]:
        # A masked sum instead of a gather: its gradient is a product, not a scatter.
        chosen = jnp.where(jax.nn.one_hot(action, self.n, dtype=bool), jax.nn.log_softmax(logits), 0.0)
        return chosen.sum(axis=-1)

    def entropy(self, logits: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        log_p = jax.nn.log_softmax(logits)
        # 0 log 0 is 0, also for its gradient: a masked action contributes nothing.
        return -jnp.where(jnp.isfinite(log_p), jnp.exp(log_p) * jnp.where(jnp.isfinite(log_p), log_p, 0.0), 0.0).sum(-1)

    def probabilities(self, logits: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
        return jax.nn.softmax(logits)
