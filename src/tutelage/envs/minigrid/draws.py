"""Random choices among cells."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray


def uniform_where(key: PRNGKeyArray, mask: Bool[Array, "..."]) -> Int[Array, " d"]:
    """Uniform over the places where a mask is true, as an index of each axis.

    The same as to draw from all places again and again until one is good, with one random number.
    """
    before = jnp.cumsum(mask.reshape(-1), dtype=jnp.int32)
    place = jnp.sum(before <= jax.random.randint(key, (), 0, before[-1]), dtype=jnp.int32)
    return jnp.stack(jnp.unravel_index(place, mask.shape)).astype(jnp.int32)
