"""Running mean and deviation of numbers that come in batches (Welford; Chan et al. for the batches)."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Moments(NamedTuple):
    """Of arrays that all have one shape."""

    number: Float[Array, ""]
    mean: Float[Array, "*shape"]
    squares: Float[Array, "*shape"]
    """Sum of squared distances from the mean."""

    @property
    def deviation(self) -> Float[Array, "*shape"]:
        """1 before anything was seen."""
        variance = self.squares / jnp.maximum(self.number, 1.0)
        return jnp.where(self.number > 0, jnp.sqrt(variance + 1e-8), 1.0)


def none_yet(shape: tuple[int, ...] = ()) -> Moments:
    """Before anything was seen."""
    # No two fields share an array: a state may be donated to a compiled function.
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def seen(before: Moments, values: Float[Array, "*n *shape"]) -> Moments:
    """With a batch of values added."""
    axes = tuple(range(values.ndim - before.mean.ndim))
    n = values.size // max(before.mean.size, 1)
    mean = values.mean(axes)
    total = before.number + n
    shift = mean - before.mean
    between = jnp.square(shift) * before.number * n / total
    squares = before.squares + jnp.square(values - mean).sum(axes) + between
    return Moments(total, before.mean + shift * n / total, squares)
