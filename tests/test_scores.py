"""Every score against numbers worked out by hand, on one rollout with three levels.

Level 0 holds two complete episodes (1 and 3 steps), level 1 a complete one and then a part of another, and level 2 only
a part of one. The discount and lambda are both a half.
"""

from __future__ import annotations

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.errors import UserError
from tutelage.scores import Score, episodes
from tutelage.settings import ScoreName
from tutelage.types import Rollout

T, F = True, False
LOW = np.log([0.5, 0.3, 0.2])
SURE = np.log([0.9, 0.06, 0.04])


def levels_first(rows: list, dtype: type = np.float32) -> np.ndarray:
    """Rows are levels and columns are steps; a rollout is ``[S, T, B]``."""
    return np.moveaxis(np.array(rows, dtype), 0, 1)[None]


ROLLOUT = Rollout(
    obs=(),
    action=(),
    log_prob=np.zeros((1, 4, 3), np.float32),
    policy=levels_first([[LOW] * 4, [SURE, LOW, LOW, LOW], [SURE] * 4]),
    value=levels_first([[1, 0, 2, 0], [0.5, -1, 50, 60], [1, 1, 1, 1]]),
    next_value=levels_first([[0, 2, 0, 9], [-1, 50, 60, 9], [1, 1, 1, 3]]),
    reward=levels_first([[2, 0, 0, 4], [-1, -2, 100, 100], [1, 1, 1, 1]]),
    terminated=levels_first([[T, F, F, T], [F, T, F, F], [F, F, F, F]], bool),
    truncated=np.zeros((1, 4, 3), bool),
    done=levels_first([[T, F, F, T], [F, T, F, F], [F, F, F, F]], bool),
    first=levels_first([[T, T, F, F], [T, F, T, F], [T, F, F, F]], bool),
)

ENTROPY = {name: -(np.exp(logits) * logits).sum() for name, logits in (("low", LOW), ("sure", SURE))}
NEVER = np.full((1, 3), -np.inf, np.float32)

EXPECTED = {
    "entropy": [ENTROPY["low"], (ENTROPY["sure"] + ENTROPY["low"]) / 2, ENTROPY["sure"]],
    # One minus the margin of the two likeliest actions: 0.2 where the policy has hardly decided, 0.84 where it has.
    "min-margin": [0.8, (0.16 + 0.8) / 2, 0.16],
    "least-confidence": [0.5, (0.1 + 0.5) / 2, 0.1],
    # TD errors: 1 | 1, -2, 4    and  -2, -1    and  0.5, 0.5, 0.5, 1.5
    "td-error": [(1 + 1 + 2 + 4) / 4, (2 + 1) / 2, 3 / 4],
    # Advantages: 1 | 0.75, -1, 4   and  -2.25, -1   and the third all positive
    "gae": [4.75 / 4, -3.25 / 2, 3.7734375 / 4],
    "l1-value-loss": [6.75 / 4, 3.25 / 2, 3.7734375 / 4],
    "pvl": [5.75 / 4, 0, 3.7734375 / 4],
    # Discounted returns: 2 and 1, then -2, and 1.875 so far.
    "maxmc": [2 - 0.75, -2 + 0.25, 1.875 - 1],
    # Undiscounted: 2 and 4, then -3, and 4 so far.
    "maxmc-undiscounted": [4 - 0.75, -3 + 0.25, 4 - 1],
    "maxmc-initial": [2 - 1, -2 - 0.5, 1.875 - 1],
    "learnability": [0.25, 0, 0],
}


def score(name: str, rollout: Rollout = ROLLOUT, best: np.ndarray | None = None) -> list[float]:
    scorer = Score(name, discount=0.5, gae_lambda=0.5, success=3.0)
    view = scorer.view(rollout)
    return scorer(rollout, view, view.best if best is None else best)[0].tolist()


def test_every_score_is_here():
    assert {*EXPECTED, "exact-regret"} == set(get_args(ScoreName))


def test_exact_regret_is_the_optimum_minus_the_mean_return():
    assert score("exact-regret", best=np.array([[10, 10, 10]], np.float32)) == [7, 13, 6]


@pytest.mark.parametrize("name", EXPECTED)
def test_scores_by_hand(name):
    """Complete episodes weighted by their length; the partial one only where none is complete."""
    assert score(name) == pytest.approx(EXPECTED[name], abs=1e-6)


@pytest.mark.parametrize("name", ["entropy", "min-margin", "least-confidence"])
def test_undecided_policies_score_higher(name):
    undecided, _, decided = score(name)
    assert undecided > decided


def test_returns_by_hand():
    view = episodes(ROLLOUT)
    assert view.number.tolist() == [[2, 1, 0]]
    assert view.returns.tolist() == [[3, -3, 4]]
    assert view.best.tolist() == [[4, -3, -np.inf]]
    assert view.success_rate(3.0).tolist() == [[0.5, 0, 0]]
    assert view.counted.sum(axis=1).tolist() == [[4, 2, 4]]


def test_an_episode_that_is_cut_off_is_complete():
    cut = ROLLOUT._replace(truncated=levels_first([[F] * 4, [F] * 4, [F, T, F, F]], bool))
    cut = cut._replace(done=cut.terminated | cut.truncated)
    cut = cut._replace(first=levels_first([[T, T, F, F], [T, F, T, F], [T, F, T, F]], bool))
    view = episodes(cut)
    assert view.returns.tolist() == [[3, -3, 2]]
    # Bootstrapped at the limit, and cut there: 0.5 + 0.25 * 0.5 and 0.5.
    assert score("gae", cut)[2] == pytest.approx((0.625 + 0.5) / 2)


def test_a_fictitious_end_cuts_advantages_but_ends_no_episode():
    """As in a grounded environment: the transition of a step may end where its episode goes on."""
    grounded = ROLLOUT._replace(terminated=levels_first([[T, F, F, T], [F, T, F, F], [F, T, F, F]], bool))
    assert episodes(grounded).number.tolist() == [[2, 1, 0]]
    assert episodes(grounded).returns.tolist() == [[3, -3, 4]]
    # TD errors 0.5, 0, 0.5, 1.5: the second does not bootstrap, and the first does not see the third.
    assert score("gae", grounded)[2] == pytest.approx((0.5 + 0 + 0.875 + 1.5) / 4)


@pytest.mark.parametrize("name", ["maxmc", "maxmc-undiscounted", "maxmc-initial"])
def test_a_better_return_from_before_is_remembered(name):
    base = 1.0 if name == "maxmc-initial" else 0.75
    assert score(name, best=np.array([[7, 0, -9]], np.float32))[0] == pytest.approx(7 - base)


def test_negative_returns_are_scored_right():
    """A best return that started at 0 would make this level look as if 0 had been reached."""
    assert score("maxmc")[1] == -1.75


@pytest.mark.parametrize("name", EXPECTED)
def test_no_infinity_leaks_where_no_episode_was_ever_completed(name):
    assert np.isfinite(score(name, best=NEVER)).all()


def test_maxmc_compares_like_with_like():
    """A student that knows the discounted return exactly has nothing to regret at the first step; with undiscounted
    returns the same level would look unsolved.
    """
    reward = levels_first([[0, 0, 0, 8]])
    exact = ROLLOUT._replace(
        reward=reward,
        value=levels_first([[1, 2, 4, 8]]),
        terminated=levels_first([[F, F, F, T]], bool),
        truncated=np.zeros((1, 4, 1), bool),
        done=levels_first([[F, F, F, T]], bool),
        first=levels_first([[T, F, F, F]], bool),
    )
    assert score("maxmc-initial", exact) == [0]
    assert score("maxmc", exact) == [1 - (1 + 2 + 4 + 8) / 4]
    assert score("maxmc-undiscounted", exact) == [8 - (1 + 2 + 4 + 8) / 4]


def test_students_are_scored_apart():
    two = jax.tree.map(lambda x: jnp.concatenate([x, x + x if x.dtype != bool else x]), ROLLOUT)
    scorer = Score("maxmc", 0.5, 0.5)
    view = scorer.view(two)
    both = scorer(two, view, view.best)
    np.testing.assert_allclose(both[1], 2 * both[0], rtol=1e-6)


def test_an_unknown_score_is_refused():
    with pytest.raises(UserError, match="Did you mean pvl"):
        Score("plv", 0.9, 0.9)
