"""PVL and MaxMC in numpy are those of the compiled program."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage import UserError
from tutelage.scores import Score
from tutelage.types import Rollout


@pytest.fixture(scope="module")
def played():
    """Nine steps on six levels: episodes of every kind, levels with none completed too."""
    rng = np.random.default_rng(3)
    done = rng.random((9, 6)) < [0.0, 0.1, 0.2, 0.4, 0.9, 1.0]
    done[:, 0] = False
    return rng.normal(size=(9, 6)).astype(np.float32), rng.normal(size=(9, 6)).astype(np.float32), done


def rollout(rewards, values, done, last) -> Rollout:
    def one(array):
        return jnp.asarray(array)[None]

    following = np.concatenate([values[1:], last[None]])
    first = np.concatenate([np.ones_like(done[:1]), done[:-1]])
    ends = {"terminated": one(done), "truncated": one(np.zeros_like(done)), "done": one(done), "first": one(first)}
    rest = {"value": one(values), "next_value": one(following), "reward": one(rewards)}
    return Rollout((), (), one(rewards), one(rewards)[..., None], **rest, **ends)


def test_pvl_is_that_of_the_compiled_program(played):
    rewards, values, done = played
    last = np.arange(6, dtype=np.float32)
    score = Score("pvl", 0.9, 0.8)
    seen = rollout(rewards, values, done, last)
    expected = score(seen, score.view(seen), jnp.zeros((1, 6)))[0]
    np.testing.assert_allclose(tutelage.pvl(*played, last, 0.9, 0.8), expected, rtol=1e-5, atol=1e-6)
    alone = tutelage.pvl(rewards[:, 2], values[:, 2], done[:, 2], last[2], 0.9, 0.8)
    assert alone == pytest.approx(float(expected[2]), rel=1e-5)


def test_maxmc_is_that_of_the_compiled_program(played):
    rewards, values, done = played
    before = np.array([-np.inf, -np.inf, 5.0, -5.0, 0.0, 0.5], np.float32)
    score = Score("maxmc", 0.9, 0.8)
    seen = rollout(rewards, values, done, np.zeros(6, np.float32))
    view = score.view(seen)
    best = jnp.maximum(view.best, before)
    scores, reached = tutelage.maxmc(*played, before, 0.9)
    np.testing.assert_allclose(reached, best[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scores, score(seen, view, best)[0], rtol=1e-5, atol=1e-6)
    assert reached[0] == -np.inf, "nothing was completed there"
    assert np.isfinite(scores).all()


def test_by_hand():
    # Values of 0 and one reward at the end: the advantage at each step is what is still to come, decayed.
    assert tutelage.pvl([0, 1], [0, 0], [False, True], 9.0, 1.0, 0.5) == pytest.approx((0.5 + 1.0) / 2)
    scores, best = tutelage.maxmc([1, 1, 5], [0, 0, 0], [False, True, False], discount=1.0)
    assert (float(scores), float(best)) == (2.0, 2.0), "the episode that is not over counts nowhere"


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(UserError, match="have the shapes"):
        tutelage.pvl([1.0], [1.0, 2.0], [True])
