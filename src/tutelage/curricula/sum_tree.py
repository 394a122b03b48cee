"""Draws with given weights from many places, in one pass over the weights."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray


def build(weights: Any) -> list[Any]:
    """Sums of twos, fours, ... up to the sum of all, last; the first entry is the weights, padded to a power of two.

    The node ``i`` of ``n`` is the sum of ``i`` and ``i + n`` one entry before. Numpy and JAX arrays give the same bits,
    which a plain sum does not: its rounding depends on the order in which a compiler chooses to add.
    """
    padding = (0, 2 ** (len(weights) - 1).bit_length() - len(weights))
    levels = [np.pad(weights, padding) if isinstance(weights, np.ndarray) else jnp.pad(weights, padding)]
    while len(levels[-1]) > 1:
        half = len(levels[-1]) // 2
        levels.append(levels[-1][:half] + levels[-1][half:])
    return levels


def sample(key: PRNGKeyArray, weights: Float[Array, " K"], number: int) -> Int[Array, " number"]:
    """Independent draws with replacement. A place of weight 0 is not drawn while another has weight."""
    levels = build(weights)
    # A coin at every fork: one number for the whole way has too few bits to tell a million places apart.
    coins = jax.random.uniform(key, (len(levels) - 1, number))
    at = jnp.zeros(number, jnp.int32)
    for coin, parents, children in zip(coins, levels[:0:-1], levels[-2::-1], strict=True):
        other = at + len(parents)
        at = jnp.where((coin * parents[at] >= children[at]) & (children[other] > 0), other, at)
    return at
