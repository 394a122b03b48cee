"""Statistics over few runs: point estimates, intervals and comparisons that a reviewer would ask for.

Scores are an array ``[runs, tasks]``, the mean over episodes of each run on each task. Intervals come from a stratified
bootstrap: every task's runs are drawn anew, with replacement and by themselves, so that each replicate has every task
as often as the data (Agarwal et al. 2021). Plain numpy, all replicates at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special

from ..errors import require

Scores = Float[np.ndarray, "runs tasks"]
Statistic = Callable[[Float[np.ndarray, "*n runs tasks"]], Float[np.ndarray, "*n"]]
"""From scores, with any leading axes, to one number each."""

REPLICATES = 2000


class Estimate(NamedTuple):
    """A figure and the interval that its replicates fill."""

    value: float
    low: float
    high: float


# --- one number for runs and tasks


def mean(scores: np.ndarray) -> np.ndarray:
    """Of all runs and tasks."""
    return scores.mean(axis=(-2, -1))


def median(scores: np.ndarray) -> np.ndarray:
    """Of the tasks, each with the mean of its runs."""
    return np.median(scores.mean(axis=-2), axis=-1)


def iqm(scores: np.ndarray) -> np.ndarray:
    """Interquartile mean: of all runs and tasks, without the lowest and the highest quarter."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = int(0.25 * flat.shape[-1])
    return flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)


def optimality_gap(scores: np.ndarray, target: float = 1.0) -> np.ndarray:
    """How far scores stay below a target, on average; what is above it counts as the target."""
    return target - np.minimum(scores, target).mean(axis=(-2, -1))


STATISTICS: dict[str, Statistic] = {"mean": mean, "median": median, "iqm": iqm, "optimality gap": optimality_gap}


# --- intervals


def resample(rng: np.random.Generator, scores: Scores, replicates: int) -> Float[np.ndarray, "replicates runs tasks"]:
    """Replicates of the data: for every task as many runs as there are, drawn with replacement."""
    runs, tasks = scores.shape
    drawn = rng.integers(0, runs, (replicates, runs, tasks))
    return np.take_along_axis(scores[None], drawn, axis=1)


def estimate(
    scores: Scores,
    statistic: Statistic = iqm,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Estimate:
    """A statistic with its bootstrap interval (percentiles of the replicates)."""
    scores = _checked(scores)
    require(
        scores.shape[0] > 1,
        "One run says nothing about the spread over runs, so there is no interval; train at least two seeds.",
    )
    values = statistic(resample(np.random.default_rng(seed), scores, replicates))
    return Estimate(float(statistic(scores)), *_percentiles(values, level))


def profile(
    scores: Scores,
    thresholds: Float[np.ndarray, " n"],
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Float[np.ndarray, "3 n"]:
    """A performance profile: the share of runs and tasks above each threshold, and the interval's two ends."""
    scores = _checked(scores)

    def shares(scores: np.ndarray) -> np.ndarray:
        flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
        return np.stack([(flat > threshold).mean(axis=-1) for threshold in thresholds], axis=-1)

    if scores.shape[0] == 1:  # the profile of one run, of which no interval is known
        return np.stack([shares(scores)] * 3)
    low, high = _ends(shares(resample(np.random.default_rng(seed), scores, replicates)), level)
    return np.stack([shares(scores), low, high])


# --- one method and another


def improvement(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The probability that a run of ``x`` scores higher than one of ``y`` on the same task, ties counting half.

    The Mann-Whitney statistic of each task, as a share; then the mean over tasks.
    """
    x, y = x[..., :, None, :], y[..., None, :, :]
    return ((x > y) + 0.5 * (x == y)).mean(axis=(-3, -2, -1))


def estimate_improvement(
    x: Scores, y: Scores, level: float = 0.95, replicates: int = REPLICATES, seed: int = 0
) -> Estimate:
    """The probability of improvement of ``x`` over ``y``, with its bootstrap interval."""
    x, y = _checked(x), _checked(y)
    require(
        x.shape[1] == y.shape[1], f"One side has {x.shape[1]} tasks and the other {y.shape[1]}; compare equal suites."
    )
    require(min(x.shape[0], y.shape[0]) > 1, "An interval needs at least two runs on each side; train more seeds.")
    rng = np.random.default_rng(seed)
    values = improvement(resample(rng, x, replicates), resample(rng, y, replicates))
    return Estimate(float(improvement(x, y)), *_percentiles(values, level))


class Welch(NamedTuple):
    """Welch's t-test of two means with unequal variances, two-sided."""

    t: float
    degrees: float
    p: float


def welch(x: np.ndarray, y: np.ndarray) -> Welch:
    """Do two samples have the same mean? Equal constants on both sides give p = 1, different ones p = 0."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    require(min(len(x), len(y)) > 1, "Welch's test needs at least two runs on each side; train more seeds.")
    vx, vy = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)
    difference = x.mean() - y.mean()
    if vx + vy == 0:
        return Welch(float(np.sign(difference) * np.inf) if difference else 0.0, np.nan, float(difference == 0))
    t = difference / np.sqrt(vx + vy)
    degrees = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))
    return Welch(float(t), float(degrees), float(2 * special.stdtr(degrees, -abs(t))))


def relative(x: Scores, baseline: Scores) -> Float[np.ndarray, " runs"]:
    """Of each run the mean over tasks of its score, in units of the baseline's mean on that task over all its runs."""
    x, baseline = _checked(x), _checked(baseline)
    unit = baseline.mean(axis=0)
    require(bool((unit != 0).all()), "The baseline's mean is 0 on some task, so that nothing can be divided by it.")
    return (x / unit).mean(axis=1)


def not_told_from_best(samples: Sequence[np.ndarray], p: float = 0.05) -> list[bool]:
    """Which samples have a mean that Welch's test does not find below that of the best. None where that is all of them,
    as in the thesis's tables, or where a sample has a single value.
    """
    if min(map(len, samples)) < 2:
        return [False] * len(samples)
    best = max(samples, key=lambda sample: sample.mean())
    near = [sample is best or welch(sample, best).p >= p for sample in samples]
    return [is_near and not all(near) for is_near in near]


# --- the bad end


def cvar(values: np.ndarray, share: float = 0.1, by: np.ndarray | None = None) -> float:
    """Conditional value at risk: the mean of the lowest share of values, with a part of the value at the border.

    ``by`` says which are the lowest instead of the values themselves. Values that are estimates need it: the lowest of
    them were unlucky as well, and an independent estimate of the same things is not.
    """
    require(0 < share <= 1, f"The share is {share}; give a number above 0 and up to 1.")
    values = np.asarray(values, np.float64).reshape(-1)
    require(len(values) > 0, "There are no values to take the worst of.")
    values = values[np.argsort(values if by is None else np.asarray(by).reshape(-1), kind="stable")]
    weight = np.clip(share * len(values) - np.arange(len(values)), 0.0, 1.0)
    return float((weight * values).sum() / weight.sum())


def min_over_attempts(returns: Float[np.ndarray, "levels attempts"]) -> Float[np.ndarray, " levels"]:
    """The worst of several attempts at each level."""
    return np.asarray(returns).min(axis=-1)


def standard_error(values: np.ndarray) -> float:
    """Of a mean; not defined for a single value."""
    values = np.asarray(values, np.float64)
    require(len(values) > 1, "One value has no standard error; give at least two.")
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _checked(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, np.float64)
    require(scores.ndim == 2, f"Scores are an array of runs and tasks, and this one has {scores.ndim} axes.")
    require(
        scores.size > 0, f"There are {scores.shape[0]} runs and {scores.shape[1]} tasks; give at least one of each."
    )
    require(bool(np.isfinite(scores).all()), "Some scores are not numbers; leave out the runs they come from.")
    return scores


def _ends(values: np.ndarray, level: float) -> np.ndarray:
    require(0 < level < 1, f"The confidence level is {level}; give a number between 0 and 1, such as 0.95.")
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)


def _percentiles(values: np.ndarray, level: float) -> tuple[float, float]:
    low, high = _ends(values, level)
    return float(low), float(high)
