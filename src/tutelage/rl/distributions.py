"""Action distributions as pure functions of their parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, digamma
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ..types import ActionSpace, Discrete


class Distribution(Protocol):
    """Actions from parameters ``[*b, outputs + constants]``.

    Drawing one is two functions: what is random about it does not depend on the parameters, so that it can be drawn for
    all steps of a rollout at once, ahead of them.
    """

    @property
    def outputs(self) -> int:
        """How many parameters follow from what is seen: what the policy head produces."""
        ...

    @property
    def constants(self) -> int:
        """How many come after these that are learned, but the same whatever is seen."""
        ...

    def noise(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
        """What is random about actions ``[*shape]``: an array with these leading axes."""
        ...

    def choose(self, noise: Array, parameters: Array) -> Any:
        """The actions that follow from it."""
        ...

    def mode(self, parameters: Array) -> Any: ...

    def log_prob(self, parameters: Array, action: Any) -> Array: ...

    def entropy(self, parameters: Array) -> Array: ...

    def kl(self, parameters: Array, other: Array) -> Array:
        """The divergence of another distribution from this one: how much is lost by taking it instead."""
        ...


def distribution(space: ActionSpace, continuous: Literal["gaussian", "beta"] = "gaussian") -> Distribution:
    """What draws the actions of a space; numbers come from the family of one's choice."""
    if isinstance(space, Discrete):
        return Categorical(space.n)
    return Gaussian(space.n) if continuous == "gaussian" else Beta(space.n)


@dataclass(frozen=True)
class Categorical:
    """One of ``n`` actions. The parameters are logits; a masked action has a logit of minus infinity."""

    n: int
    constants = 0

    @property
    def outputs(self) -> int:
        return self.n

    def noise(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*b n"]:
        return jax.random.gumbel(key, (*shape, self.n))

    def choose(self, noise: Float[Array, "*b n"], parameters: Float[Array, "*b n"]) -> Int[Array, "*b"]:
        return jnp.argmax(noise + parameters, axis=-1).astype(jnp.int32)

    def mode(self, parameters: Float[Array, "*b n"]) -> Int[Array, "*b"]:
        return jnp.argmax(parameters, axis=-1).astype(jnp.int32)

    def log_prob(self, parameters: Float[Array, "*b n"], action: Int[Array, "*b"]) -> Float[Array, "*b"]:
        # A masked sum instead of a gather: its gradient is a product, not a scatter.
        chosen = jnp.where(jax.nn.one_hot(action, self.n, dtype=bool), jax.nn.log_softmax(parameters), 0.0)
        return chosen.sum(axis=-1)

    def entropy(self, parameters: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        log_p = jax.nn.log_softmax(parameters)
        # 0 log 0 is 0, also for its gradient: a masked action contributes nothing.
        return -jnp.where(jnp.isfinite(log_p), jnp.exp(log_p) * jnp.where(jnp.isfinite(log_p), log_p, 0.0), 0.0).sum(-1)

    def kl(self, parameters: Float[Array, "*b n"], other: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        log_p, log_q = jax.nn.log_softmax(parameters), jax.nn.log_softmax(other)
        # What is never done costs nothing, also where the other never does it either.
        possible = jnp.isfinite(log_p)
        difference = jnp.where(possible, log_p, 0.0) - jnp.where(possible, log_q, 0.0)
        return jnp.where(possible, jnp.exp(log_p) * difference, 0.0).sum(axis=-1)

    def probabilities(self, parameters: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
        return jax.nn.softmax(parameters)


@dataclass(frozen=True)
class Gaussian:
    """``n`` independent normal numbers. The parameters are means and then logarithms of deviations, which do not depend
    on what is seen.
    """

    n: int

    @property
    def outputs(self) -> int:
        return self.n

    @property
    def constants(self) -> int:
        return self.n

    def noise(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*b n"]:
        return jax.random.normal(key, (*shape, self.n))

    def choose(self, noise: Float[Array, "*b n"], parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        mean, log_deviation = jnp.split(parameters, 2, axis=-1)
        return mean + jnp.exp(log_deviation) * noise

    def mode(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        return jnp.split(parameters, 2, axis=-1)[0]

    def log_prob(self, parameters: Float[Array, "*b 2n"], action: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        mean, log_deviation = jnp.split(parameters, 2, axis=-1)
        scaled = (action - mean) * jnp.exp(-log_deviation)
        return (-0.5 * jnp.square(scaled) - log_deviation - 0.5 * math.log(2 * math.pi)).sum(axis=-1)

    def entropy(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        _, log_deviation = jnp.split(parameters, 2, axis=-1)
        return (log_deviation + 0.5 * math.log(2 * math.pi * math.e)).sum(axis=-1)

    def kl(self, parameters: Float[Array, "*b 2n"], other: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        (mean, log_deviation), (mean_q, log_q) = (jnp.split(p, 2, axis=-1) for p in (parameters, other))
        scaled = jnp.exp(2 * (log_deviation - log_q)) + jnp.square((mean - mean_q) * jnp.exp(-log_q))
        return (log_q - log_deviation + 0.5 * (scaled - 1)).sum(axis=-1)


@dataclass(frozen=True)
class Beta:
    """``n`` independent numbers between -1 and 1, each with one peak: both shape parameters are above 1.

    The parameters are what the two shapes are the softplus of, plus 1. A bounded action needs no clipping with it.
    """

    n: int
    constants = 0

    @property
    def outputs(self) -> int:
        return 2 * self.n

    def noise(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> UInt32[Array, "*b k"]:
        # How often a draw is rejected depends on the parameters: what can be drawn ahead are keys.
        return jax.random.key_data(jax.random.split(key, shape))

    def choose(self, noise: UInt32[Array, "*b k"], parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        draw = jnp.vectorize(jax.random.beta, signature="(),(n),(n)->(n)")
        # A number of exactly 0 or 1 would have a logarithm of minus infinity.
        share = jnp.clip(draw(jax.random.wrap_key_data(noise), *self._shapes(parameters)), 1e-6, 1 - 1e-6)
        return 2 * share - 1

    def mode(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b n"]:
        a, b = self._shapes(parameters)
        return 2 * jnp.where(a + b > 2, (a - 1) / jnp.maximum(a + b - 2, 1e-12), 0.5) - 1

    def log_prob(self, parameters: Float[Array, "*b 2n"], action: Float[Array, "*b n"]) -> Float[Array, "*b"]:
        a, b = self._shapes(parameters)
        x = (action + 1) / 2
        return ((a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x) - betaln(a, b) - math.log(2)).sum(axis=-1)

    def entropy(self, parameters: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        a, b = self._shapes(parameters)
        spread = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b)
        return (betaln(a, b) - spread + math.log(2)).sum(axis=-1)

    def kl(self, parameters: Float[Array, "*b 2n"], other: Float[Array, "*b 2n"]) -> Float[Array, "*b"]:
        (a, b), (c, d) = self._shapes(parameters), self._shapes(other)
        peaks = (a - c) * digamma(a) + (b - d) * digamma(b) + (c - a + d - b) * digamma(a + b)
        return (betaln(c, d) - betaln(a, b) + peaks).sum(axis=-1)

    def _shapes(self, parameters: Array) -> tuple[Array, Array]:
        a, b = jnp.split(1 + jax.nn.softplus(parameters), 2, axis=-1)
        return a, b
