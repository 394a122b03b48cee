"""Gaussian mixtures against scikit-learn's."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from tutelage.curricula.mixture import Mixture, aic, fit, log_likelihood

NUMBERS = (2, 3, 4)
CENTRES = np.array([[0.1, 0.2], [0.5, 0.8], [0.9, 0.1]], np.float32)


@pytest.fixture(scope="module")
def fitted():
    return jax.jit(lambda seed, points: fit(jax.random.key(seed), points, NUMBERS))


@pytest.fixture(scope="module")
def clusters() -> np.ndarray:
    """Three clusters that nobody could mistake, each sheared its own way."""
    rng = np.random.default_rng(0)
    shears = np.array([[[1, 0], [0.5, 1]], [[0.5, 0.5], [0, 1]], [[1, -0.3], [0, 0.2]]])
    noise = rng.normal(0, 0.03, (3, 20, 2))
    return (CENTRES[:, None] + np.einsum("cni,cij->cnj", noise, shears)).reshape(60, 2).astype(np.float32)


def test_log_likelihood_and_aic_of_given_gaussians_are_scikit_learns():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(7, 3)).astype(np.float32)
    factors = np.tril(rng.uniform(0.5, 1.5, (2, 3, 3))).astype(np.float32)
    weights, means = np.array([0.3, 0.7], np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    theirs = GaussianMixture(2)
    theirs.weights_, theirs.means_, theirs.covariances_ = weights, means, factors @ factors.swapaxes(1, 2)
    theirs.precisions_cholesky_ = np.linalg.inv(factors).swapaxes(1, 2)
    # A place that is not used changes nothing, whatever it holds.
    padded = Mixture(*(np.concatenate([x, np.zeros_like(x[:1])]) for x in (weights, means, factors)))
    np.testing.assert_allclose(log_likelihood(padded, points), theirs.score_samples(points), rtol=1e-5)
    assert float(aic(padded, points)) == pytest.approx(theirs.aic(points), rel=1e-5)


def test_where_the_optimum_is_clear_the_fit_is_scikit_learns(fitted, clusters):
    theirs = [GaussianMixture(number, random_state=0).fit(clusters) for number in NUMBERS]
    best = min(theirs, key=lambda model: model.aic(clusters))
    ours = fitted(1, clusters)
    assert int(ours.used.sum()) == best.n_components == 3
    mine, other = np.argsort(np.where(ours.used, ours.mean[:, 0], np.inf))[:3], np.argsort(best.means_[:, 0])
    np.testing.assert_allclose(ours.weight[mine], best.weights_[other], rtol=1e-4)
    np.testing.assert_allclose(ours.mean[mine], best.means_[other], rtol=1e-4)
    covariance = ours.factor @ ours.factor.swapaxes(1, 2)
    np.testing.assert_allclose(covariance[mine], best.covariances_[other], rtol=1e-2, atol=1e-7)
    assert float(aic(ours, clusters)) == pytest.approx(best.aic(clusters), rel=1e-3)


@given(st.integers(1, 60), st.integers(0, 99), st.sampled_from([0.0, 1e-4, 1.0]), st.sampled_from([0.0, 1.0]))
def test_gaussians_can_be_drawn_from_whatever_was_fitted(fitted, distinct, seed, width, height):
    """Also to points that are equal, on a line, or fewer than the Gaussians."""
    points = np.random.default_rng(seed).uniform(size=(60, 2)) * [width, height]
    mixture = jax.tree.map(np.asarray, fitted(seed, points[np.arange(60) % distinct].astype(np.float32)))
    assert mixture.weight.sum() == pytest.approx(1, abs=1e-5)
    assert mixture.used.sum() in NUMBERS
    assert all(np.isfinite(x).all() for x in mixture)
    assert (np.diagonal(mixture.factor, axis1=1, axis2=2) >= 0.999e-3).all(), "the root of what is added"
