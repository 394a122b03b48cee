"""Sums that need 64 bits, against Python's integers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tutelage.curricula.uint64 import sum_uint64


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200), st.integers(0, 2**32 - 1))
def test_wide_sums_are_exact(numbers, more):
    total = sum_uint64(jnp.asarray(np.array(numbers, np.uint32)))

    def whole(wide: Any) -> int:
        return (int(wide.high) << 32) + int(wide.low)

    assert whole(total) == sum(numbers)
    assert whole(total.plus(jnp.uint32(more))) == sum(numbers) + more
    assert whole(total.plus(jnp.uint32(more)).minus(jnp.uint32(numbers[0]))) == sum(numbers) + more - numbers[0]


def test_wide_sums_of_a_million_are_exact():
    assert int(sum_uint64(jnp.full(2**20, 2**31 - 1, jnp.uint32)).high) == (2**20 * (2**31 - 1)) >> 32
