"""Advantages against numbers worked out by hand, and against a double loop that anybody can check."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.rl.advantages import gae, td_errors


def column(*values: float) -> np.ndarray:
    """One trajectory as ``[T, 1]``."""
    return np.array(values, np.float32)[:, None]


def flags(*values: int) -> np.ndarray:
    return np.array(values, bool)[:, None]


def double_loop(r, v, v_next, terminated, truncated, discount, decay):
    """The sum over k of (discount * decay)^k delta_{t+k}, up to the end of the episode or of the rollout."""
    steps, batch = r.shape
    out = np.zeros((steps, batch))
    for b in range(batch):
        for t in range(steps):
            weight = 1.0
            for k in range(t, steps):
                successor = 0.0 if terminated[k, b] else v_next[k, b]
                out[t, b] += weight * (r[k, b] + discount * successor - v[k, b])
                weight *= discount * decay
                if terminated[k, b] or truncated[k, b]:
                    break
    return out


REWARD, VALUE, NEXT_VALUE = column(1, 2, 4), column(10, 20, 30), column(20, 30, 40)
NEVER = flags(0, 0, 0)


def test_td_error_by_hand():
    delta = td_errors(REWARD, VALUE, NEXT_VALUE, flags(0, 1, 0), discount=0.5)
    assert delta[:, 0].tolist() == [1 + 10 - 10, 2 - 20, 4 + 20 - 30]


def test_end_of_the_rollout_bootstraps_and_nothing_more():
    advantage = gae(REWARD, VALUE, NEXT_VALUE, NEVER, NEVER, 0.5, 0.5)
    last = 4 + 20 - 30
    middle = (2 + 15 - 20) + 0.25 * last
    assert advantage[:, 0].tolist() == [(1 + 10 - 10) + 0.25 * middle, middle, last]


def test_termination_neither_bootstraps_nor_looks_beyond():
    advantage = gae(REWARD, VALUE, NEXT_VALUE, flags(0, 1, 0), NEVER, 0.5, 0.5)
    assert advantage[:, 0].tolist() == [1 + 0.25 * -18, -18, -6]


def test_truncation_bootstraps_and_cuts():
    advantage = gae(REWARD, VALUE, NEXT_VALUE, NEVER, flags(0, 1, 0), 0.5, 0.5)
    assert advantage[:, 0].tolist() == [1 + 0.25 * -3, 2 + 15 - 20, -6]


def test_an_episode_that_ends_both_ways_was_terminated():
    both = gae(REWARD, VALUE, NEXT_VALUE, flags(0, 1, 0), flags(0, 1, 0), 0.5, 0.5)
    terminated = gae(REWARD, VALUE, NEXT_VALUE, flags(0, 1, 0), NEVER, 0.5, 0.5)
    assert (both == terminated).all()


@pytest.mark.parametrize("nonsense", [np.nan, np.inf])
def test_what_follows_a_termination_is_never_read(nonsense):
    advantage = gae(REWARD, VALUE, column(20, nonsense, 40), flags(0, 1, 0), NEVER, 0.5, 0.5)
    assert jnp.isfinite(advantage).all()


def test_lambda_zero_is_the_td_error_and_lambda_one_is_the_return_minus_the_value():
    delta = td_errors(REWARD, VALUE, NEXT_VALUE, NEVER, 0.5)
    assert (gae(REWARD, VALUE, NEXT_VALUE, NEVER, NEVER, 0.5, 0.0) == delta).all()
    returns = 1 + 0.5 * 2 + 0.25 * 4
    last_step = flags(0, 0, 1)
    assert gae(REWARD, VALUE, column(20, 30, 0), last_step, NEVER, 0.5, 1.0)[0, 0] == returns - 10


@given(seed=st.integers(0, 2**32 - 1), discount=st.floats(0, 1), decay=st.floats(0, 1))
def test_any_trajectory_against_the_double_loop(seed, discount, decay):
    rng = np.random.default_rng(seed)
    r, v, v_next = rng.normal(size=(3, 7, 4)).astype(np.float32)
    terminated, truncated = rng.random((2, 7, 4)) < 0.25
    expected = double_loop(r, v, v_next, terminated, truncated, discount, decay)
    np.testing.assert_allclose(gae(r, v, v_next, terminated, truncated, discount, decay), expected, atol=1e-4)


def test_students_are_a_leading_axis():
    rng = np.random.default_rng(0)
    r, v, v_next = rng.normal(size=(3, 2, 5, 3)).astype(np.float32)
    ends, cuts = rng.random((2, 2, 5, 3)) < 0.3
    together = gae(r, v, v_next, ends, cuts, 0.9, 0.8)
    for student in range(2):
        alone = gae(r[student], v[student], v_next[student], ends[student], cuts[student], 0.9, 0.8)
        np.testing.assert_array_equal(together[student], alone)
