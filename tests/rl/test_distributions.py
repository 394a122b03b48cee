from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from tutelage.rl.distributions import Beta, Categorical, Gaussian

LOGITS = np.array([[0.0, 1.0, -2.0], [3.0, 3.0, 3.0]], np.float32)
P = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
MASKED = jnp.array([1.0, -jnp.inf, 0.5])


def sample(distribution, key, parameters):
    return distribution.choose(distribution.noise(key, parameters.shape[:-1]), parameters)


@pytest.fixture
def three() -> Categorical:
    return Categorical(3)


def test_log_prob_and_entropy_are_those_of_the_softmax(three):
    actions = jnp.array([1, 2])
    np.testing.assert_allclose(three.log_prob(LOGITS, actions), np.log([P[0, 1], P[1, 2]]), rtol=1e-6)
    np.testing.assert_allclose(three.entropy(LOGITS), -(P * np.log(P)).sum(-1), rtol=1e-6)
    np.testing.assert_allclose(three.probabilities(LOGITS), P, rtol=1e-6)
    assert three.mode(LOGITS).tolist() == [1, 0]
    assert (three.outputs, three.constants) == (3, 0)


def test_samples_follow_the_probabilities(three):
    drawn = sample(three, jax.random.key(0), jnp.broadcast_to(LOGITS[0], (20_000, 3)))
    assert drawn.dtype == jnp.int32
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 20_000, P[0], atol=0.015)
    np.testing.assert_array_equal(drawn, jax.random.categorical(jax.random.key(0), LOGITS[0], shape=(20_000,)))


def test_a_masked_action_is_never_taken_and_adds_nothing(three):
    drawn = sample(three, jax.random.key(0), jnp.broadcast_to(MASKED, (1000, 3)))
    assert not (drawn == 1).any()
    unmasked = Categorical(2)
    without = jnp.array([1.0, 0.5])
    np.testing.assert_allclose(three.entropy(MASKED), unmasked.entropy(without), rtol=1e-6)
    np.testing.assert_allclose(three.log_prob(MASKED, jnp.int32(2)), unmasked.log_prob(without, jnp.int32(1)))


def test_a_masked_action_leaves_gradients_finite(three):
    for loss in (three.entropy, lambda logits: three.log_prob(logits, jnp.int32(0))):
        gradient = jax.grad(lambda logits, loss=loss: loss(logits))(MASKED)
        assert jnp.isfinite(gradient).all()
        assert gradient[1] == 0


def test_a_divergence_is_that_of_the_probabilities(three):
    other = LOGITS[::-1]
    expected = (P * np.log(P / P[::-1])).sum(-1)
    np.testing.assert_allclose(three.kl(LOGITS, other), expected, rtol=1e-5)
    np.testing.assert_array_equal(three.kl(LOGITS, LOGITS), 0)
    value, gradient = jax.value_and_grad(lambda other: three.kl(MASKED, other))(MASKED)
    assert value == 0
    np.testing.assert_allclose(gradient, 0, atol=1e-7)
    assert three.kl(MASKED, jnp.zeros(3)) > 0


# --- continuous actions, against scipy

PARAMETERS = np.random.default_rng(0).normal(0, 1.5, (5, 6)).astype(np.float32)


def test_gaussians_are_scipys():
    mean, deviation = PARAMETERS[:, :3], np.exp(PARAMETERS[:, 3:])
    theirs = scipy.stats.norm(mean, deviation)
    action = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    ours = Gaussian(3)
    np.testing.assert_allclose(ours.log_prob(PARAMETERS, action), theirs.logpdf(action).sum(-1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.entropy(PARAMETERS), theirs.entropy().sum(-1), rtol=1e-5)
    np.testing.assert_array_equal(ours.mode(PARAMETERS), mean)
    many = jax.vmap(lambda key: sample(ours, key, PARAMETERS))(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(many.mean(0), mean, atol=4 * deviation.max() / 4000**0.5)
    np.testing.assert_allclose(many.std(0), deviation, rtol=0.06)


def test_betas_are_scipys():
    a, b = np.split(1 + np.logaddexp(0, PARAMETERS), 2, axis=1)
    theirs = scipy.stats.beta(a, b)
    action = np.random.default_rng(1).uniform(0.01, 0.99, (5, 3)).astype(np.float32)
    ours = Beta(3)
    log_prob = (theirs.logpdf(action) - np.log(2)).sum(-1)  # from -1 to 1 is twice as wide
    np.testing.assert_allclose(ours.log_prob(PARAMETERS, 2 * action - 1), log_prob, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.entropy(PARAMETERS), (theirs.entropy() + np.log(2)).sum(-1), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(ours.mode(PARAMETERS), 2 * (a - 1) / (a + b - 2) - 1, rtol=1e-4, atol=1e-6)
    many = jax.vmap(lambda key: sample(ours, key, PARAMETERS))(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(many.mean(0), 2 * theirs.mean() - 1, atol=0.04)
    assert (np.abs(many) < 1).all()
    extreme = np.array([60.0, -60.0], np.float32)  # almost always 1
    assert np.isfinite(Beta(1).log_prob(extreme, sample(Beta(1), jax.random.key(0), extreme)))


@pytest.mark.parametrize("distribution", [Gaussian(3), Beta(3)])
def test_divergences_of_numbers_are_mean_differences_of_log_probabilities(distribution):
    one, other = jnp.asarray(PARAMETERS[:2]) / 3
    drawn = sample(distribution, jax.random.key(0), jnp.broadcast_to(one, (40_000, 6)))
    difference = distribution.log_prob(one, drawn) - distribution.log_prob(other, drawn)
    error = float(difference.std()) / 200
    assert distribution.kl(one, other) == pytest.approx(float(difference.mean()), abs=4 * error)
    assert error < 0.05 * float(difference.mean())
    assert distribution.kl(one, one) == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: distribution.kl(one, x))(one), 0, atol=1e-6)
