"""Statistics against rliable and scipy, against arithmetic by hand, and their invariants."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tutelage.errors import UserError
from tutelage.evaluation import statistics as s
from tutelage.reproduce.catalogue import exhibit
from tutelage.reproduce.results import shipped

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other people's imports
    from rliable import library, metrics

RNG = np.random.default_rng(0)
SCORES = RNG.random((10, 12))
OTHER = RNG.random((8, 12)) * 0.9
few_scores = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 0.1, 0.5, 0.5, 1.0, 2.0]),
)


@given(few_scores)
def test_point_estimates_are_rliables(scores):
    assert s.mean(scores) == pytest.approx(metrics.aggregate_mean(scores))
    assert s.median(scores) == pytest.approx(metrics.aggregate_median(scores))
    assert s.iqm(scores) == pytest.approx(metrics.aggregate_iqm(scores))
    assert s.optimality_gap(scores) == pytest.approx(metrics.aggregate_optimality_gap(scores))


def test_iqm_by_hand():
    assert s.iqm(np.array([[0.0, 1.0], [2.0, 100.0]])) == 1.5
    assert s.iqm(np.array([[0.0, 1.0, 2.0, 3.0, 50.0]])) == 2.0  # one of five is cut on each side


@pytest.mark.parametrize("name", list(s.STATISTICS))
def test_intervals_are_rliables(name):
    """Both are random; with many replicates they agree to within the noise of their ends."""
    theirs = {
        "mean": metrics.aggregate_mean,
        "median": metrics.aggregate_median,
        "iqm": metrics.aggregate_iqm,
        "optimality gap": metrics.aggregate_optimality_gap,
    }[name]
    _, intervals = library.get_interval_estimates({"x": SCORES}, lambda x: np.array([theirs(x)]), reps=1_000)
    ours = s.estimate(SCORES, s.STATISTICS[name], replicates=20_000)
    assert ours.value == pytest.approx(theirs(SCORES))
    np.testing.assert_allclose([ours.low, ours.high], intervals["x"][:, 0], atol=0.012)


def test_profiles_are_rliables():
    thresholds = np.linspace(0, 1, 11)
    theirs, intervals = library.create_performance_profile(
        {"x": SCORES}, thresholds, reps=500, use_score_distribution=True
    )
    shares, low, high = s.profile(SCORES, thresholds, replicates=5_000)
    np.testing.assert_allclose(shares, theirs["x"])
    np.testing.assert_allclose(np.stack([low, high]), intervals["x"], atol=0.04)


@given(few_scores, st.integers(0, 2**31))
def test_the_probability_of_improvement_is_rliables(scores, seed):
    other = np.random.default_rng(seed).permutation(scores.reshape(-1)).reshape(scores.shape)[: max(1, len(scores) - 1)]
    assert s.improvement(scores, other) == pytest.approx(metrics.probability_of_improvement(scores, other))
    assert s.improvement(scores, other) + s.improvement(other, scores) == pytest.approx(1.0)


def test_the_interval_of_the_probability_of_improvement_is_rliables():
    _, intervals = library.get_interval_estimates({"x": (SCORES, OTHER)}, metrics.probability_of_improvement, reps=500)
    ours = s.estimate_improvement(SCORES, OTHER, replicates=5_000)
    np.testing.assert_allclose([ours.low, ours.high], intervals["x"].reshape(-1), atol=0.03)


@pytest.mark.parametrize("result", shipped(), ids=lambda result: f"{result.exhibit}.{result.study}")
def test_results_of_studies_are_rliables(result):
    """What pages of results say of methods, on the data that they were made of."""
    measure = exhibit(result.exhibit).measure
    scores = {group: result.scores(group, result.tasks, measure) for group in result.groups}
    for x in scores.values():
        assert s.iqm(x) == pytest.approx(metrics.aggregate_iqm(x))
    for x, y in itertools.permutations(scores.values(), 2):
        assert s.improvement(x, y) == pytest.approx(metrics.probability_of_improvement(x, y))


@given(
    st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=2, max_size=12),
    st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=2, max_size=12),
)
def test_welch_is_scipys(x, y):
    if np.var(x) + np.var(y) < 1e-9:
        return
    theirs: Any = scipy.stats.ttest_ind(x, y, equal_var=False)
    ours = s.welch(np.array(x), np.array(y))
    assert (ours.t, ours.degrees, ours.p) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue), rel=1e-9)


def test_welch_of_constants():
    assert s.welch(np.ones(3), np.ones(4)).p == 1.0
    assert s.welch(np.ones(3), np.zeros(4)).p == 0.0


def test_cvar_by_hand():
    values = np.array([5.0, 1.0, 3.0, 4.0, 2.0])
    assert s.cvar(values, 0.2) == 1.0
    assert s.cvar(values, 0.4) == 1.5
    assert s.cvar(values, 0.3) == pytest.approx((1.0 + 0.5 * 2.0) / 1.5)
    assert s.cvar(values, 1.0) == 3.0
    assert s.cvar(values, 0.01) == 1.0
    assert s.cvar([1.0, 2.0, 3.0, 4.0], 0.5, by=[0.4, 0.1, 0.3, 0.2]) == 3.0  # the second and the fourth


def test_a_replicate_has_every_task_as_often_as_the_data():
    """Strata are tasks: a column's replicates come from that column alone."""
    scores = np.arange(12.0).reshape(4, 3)
    drawn = s.resample(np.random.default_rng(0), scores, 200)
    for task in range(3):
        assert set(np.unique(drawn[..., task])) == set(scores[:, task])
    # Tasks are drawn apart: rows of the data do not stay together.
    assert not (drawn[..., 0] + 1 == drawn[..., 1]).all()


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Of 200 samples about 95% of the intervals hold the true mean; with percentiles a little less."""
    rng = np.random.default_rng(1)
    covered = 0
    for i in range(200):
        found = s.estimate(rng.normal(0.5, 0.2, (10, 12)), s.mean, replicates=500, seed=i)
        covered += found.low <= 0.5 <= found.high
    assert 0.88 <= covered / 200 <= 0.99


def test_replicates_are_computed_together():
    """A statistic is called once with all of them and once with the scores themselves, however many there are."""
    for statistic in s.STATISTICS.values():
        shapes = []

        def counted(scores, statistic=statistic, shapes=shapes):
            shapes.append(scores.shape)
            return statistic(scores)

        s.estimate(SCORES, counted, replicates=2_000)
        assert sorted(shapes) == sorted([(2_000, *SCORES.shape), SCORES.shape])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: s.estimate(SCORES[:1]), "One run says nothing about the spread"),
        (lambda: s.estimate(SCORES[0]), "has 1 axes"),
        (lambda: s.estimate(np.zeros((0, 3))), "0 runs"),
        (lambda: s.estimate(np.array([[np.nan], [1.0]])), "not numbers"),
        (lambda: s.estimate(SCORES, level=1.5), "confidence level is 1.5"),
        (lambda: s.welch(np.ones(1), np.ones(3)), "at least two runs on each side"),
        (lambda: s.estimate_improvement(SCORES, SCORES[:, :3]), "12 tasks and the other 3"),
        (lambda: s.cvar(np.ones(3), 0.0), "The share is 0.0"),
        (lambda: s.cvar(np.zeros(0)), "no values"),
        (lambda: s.standard_error(np.ones(1)), "no standard error"),
    ],
)
def test_what_cannot_be_said_is_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        wrong()
