"""Lempel-Ziv-Welch against a plain version with a dictionary of tuples."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.complexity import lzw

LENGTH, ACTIONS = 24, 3
compiled = jax.jit(lambda actions: lzw(actions, ACTIONS))


def codes_by_hand(actions: list[int]) -> list[int]:
    """The codes that the compression writes."""
    known = {(a,): a for a in range(ACTIONS)}
    word: tuple[int, ...] = ()
    codes = []
    for action in actions:
        longer = (*word, action)
        if longer in known:
            word = longer
        else:
            codes.append(known[word])
            known[longer] = len(known)
            word = (action,)
    return [*codes, known[word]]


@given(st.lists(st.integers(0, ACTIONS - 1), min_size=LENGTH, max_size=LENGTH))
def test_codes_are_as_many_as_a_dictionary_makes(actions):
    assert int(compiled(jnp.array(actions))) == len(codes_by_hand(actions))


@pytest.mark.parametrize(
    ("actions", "codes"),
    [
        ([0] * LENGTH, 7),  # words of 1, 2, 3, 4, 5, 6 and what is left, 3
        ([0, 1] * (LENGTH // 2), 9),
    ],
)
def test_repetition_is_simple(actions, codes):
    assert int(compiled(jnp.array(actions))) == codes
    random = np.random.default_rng(0).integers(0, ACTIONS, LENGTH)
    assert int(compiled(jnp.array(random))) > codes


def test_one_action_is_one_code():
    assert int(lzw(jnp.array([2]), ACTIONS)) == 1
