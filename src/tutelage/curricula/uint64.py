"""Sums of many 32-bit numbers, exact in 64 bits: JAX's own integers have 32."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

_BLOCK = 2**15


class UInt64(NamedTuple):
    """``high * 2**32 + low``."""

    high: UInt32[Array, ""]
    low: UInt32[Array, ""]

    def plus(self, number: UInt32[Array, ""]) -> UInt64:
        low = self.low + number
        return UInt64(self.high + (low < number), low)

    def plus_all(self, numbers: UInt32[Array, " n"]) -> UInt64:
        more = sum_uint64(numbers)
        return UInt64(self.high + more.high, self.low).plus(more.low)

    def minus(self, number: UInt32[Array, ""]) -> UInt64:
        return UInt64(self.high - (self.low < number), self.low - number)

    def to_float(self) -> Float[Array, ""]:
        """Never falls while the number rises."""
        return self.high.astype(jnp.float32) * 2.0**32 + self.low.astype(jnp.float32)


def sum_uint64(numbers: UInt32[Array, " n"]) -> UInt64:
    """The sum of up to 2**30 numbers."""
    block = min(_BLOCK, numbers.shape[0])
    blocks = jnp.pad(numbers, (0, -numbers.shape[0] % block)).reshape(-1, block)
    # Half-words first within blocks and then over blocks, so that no sum reaches 2**32.
    low, high = (half.sum(axis=1, dtype=jnp.uint32) for half in (blocks & 0xFFFF, blocks >> 16))
    middle = (low >> 16).sum(dtype=jnp.uint32) + (high & 0xFFFF).sum(dtype=jnp.uint32)
    top = (high >> 16).sum(dtype=jnp.uint32)
    return UInt64(top + (middle >> 16), middle << 16).plus((low & 0xFFFF).sum(dtype=jnp.uint32))
