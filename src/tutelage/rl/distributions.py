"""Action distributions as pure functions of their parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, digamma
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


@dataclass(frozen=True)
class Gaussian:
    """``n`` independent normal numbers. The parameters are means and then logarithms of deviations."""

    n: int

    @property
    def parameters(self) -> int:
        return 2 * self.n

    def sample(self, key: PRNGKeyArray, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        mean, log_deviation = jnp.split(parameters, 2, axis=-1)
        return mean + jnp.exp(log_deviation) * jax.random.normal(key, mean.shape)

    def mode(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        return jnp.split(parameters, 2, axis=-1)[0]

    def log_prob(self, parameters: Float[Array, "*b 2n"], action: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        mean, log_deviation = jnp.split(parameters, 2, axis=-1)
        scaled = (action - mean) * jnp.exp(-log_deviation)
        return (-0.5 * jnp.square(scaled) - log_deviation - 0.5 * math.log(2 * math.pi)).sum(axis=-1)

    def entropy(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        _, log_deviation = jnp.split(parameters, 2, axis=-1)
        return (log_deviation + 0.5 * math.log(2 * math.pi * math.e)).sum(axis=-1)


@dataclass(frozen=True)
class Beta:
    """``n`` independent numbers between 0 and 1, each with one peak: both shape parameters are above 1.

    The parameters are what the two shapes are the softplus of, plus 1. A bounded action needs no clipping with it.
    """

    n: int

    @property
    def parameters(self) -> int:
        return 2 * self.n

    def sample(self, key: PRNGKeyArray, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        a, b = self._shapes(parameters)
        # A number of exactly 0 or 1 would have a logarithm of minus infinity.
        return jnp.clip(jax.random.beta(key, a, b), 1e-6, 1 - 1e-6)

    def mode(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        a, b = self._shapes(parameters)
        return jnp.where(a + b > 2, (a - 1) / jnp.maximum(a + b - 2, 1e-12), 0.5)

    def log_prob(self, parameters: Float[Array, "*b 2n"], action: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        a, b = self._shapes(parameters)
        return ((a - 1) * jnp.log(action) + (b - 1) * jnp.log1p(-action) - betaln(a, b)).sum(axis=-1)

    def entropy(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        a, b = self._shapes(parameters)
        spread = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b)
        return (betaln(a, b) - spread).sum(axis=-1)

    def _shapes(self, parameters: Array) -> tuple[Array, Array]:
        a, b = jnp.split(1 + jax.nn.softplus(parameters), 2, axis=-1)
        return a, b
