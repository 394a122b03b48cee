"""Mixreg: who is mixed with whom, how much, and what becomes of the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from tutelage.rl.learner import Learner, Minibatch
from tutelage.rl.mixreg import Mixreg, Pairs
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import PPOSettings

from .made_images import OBS, SIDE, agent, images

KEY, START = jax.random.key(0), jnp.float32(0)
SETTINGS = PPOSettings(epochs=2, minibatches=2, learning_rate=0.01)


@dataclass(frozen=True)
class Given(Mixreg):
    """Pairs and weights that are known."""

    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()
    weight: tuple[float, ...] = ()

    def pairs(self, key: Any, size: int) -> Pairs:
        return Pairs(jnp.array(self.first), jnp.array(self.second), jnp.array(self.weight))


def minibatch(seed: int = 0, steps: int = 2, batch: int = 4) -> Minibatch:
    rollout = images(seed, steps, batch)
    numbers = np.random.default_rng(seed).normal(size=(4, steps, batch)).astype(np.float32)
    return Minibatch(rollout.obs, rollout.first, rollout.action, *numbers)


# --- pairs


@pytest.mark.parametrize(("shape", "share"), [(0.01, 0.955), (0.2, 0.42)])
def test_weights_are_those_of_a_beta_distribution_folded_at_a_half(shape, share):
    size = 40_000
    pairs = jax.device_get(jax.jit(lambda: Mixreg(shape).pairs(KEY, size))())
    assert pairs.weight.min() >= 0.5
    assert pairs.weight.max() <= 1
    assert np.mean(pairs.weight > 0.99) == pytest.approx(share, abs=0.01), "as was sampled for the published code"
    unfolded = np.where(pairs.first == np.arange(size), pairs.weight, 1 - pairs.weight)
    for quantile in (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98):
        at = scipy.stats.beta(shape, shape).ppf(quantile)
        if 1e-6 < at < 1 - 1e-6:
            assert np.mean(unfolded < at) == pytest.approx(quantile, abs=0.01)
    assert np.mean(unfolded < 0.5) == pytest.approx(0.5, abs=0.01)


def test_everybody_has_a_partner_and_whoever_has_more_of_the_two_comes_first():
    size = 500
    pairs = jax.device_get(jax.jit(lambda: Mixreg(0.5).pairs(KEY, size))())
    own = np.arange(size)
    mine = pairs.first == own
    assert (mine | (pairs.second == own)).all()
    partners = np.where(mine, pairs.second, pairs.first)
    assert sorted(partners) == own.tolist(), "a permutation: everybody is a partner once"


# --- mixtures


def test_all_is_mixed_by_hand():
    batch, weight = minibatch(), np.array([0.5, 0.75, 1.0, 0.9], np.float32)
    first, second = np.array([1, 1, 2, 0]), np.array([0, 3, 1, 2])
    term = Given(first=tuple(first.tolist()), second=tuple(second.tolist()), weight=tuple(weight.tolist()))
    mixed = jax.device_get(jax.jit(term.change)(KEY, (), batch))
    for name in ("log_prob", "value", "target", "advantage"):
        x = getattr(batch, name)
        np.testing.assert_allclose(getattr(mixed, name), weight * x[:, first] + (1 - weight) * x[:, second], rtol=1e-4)
    camera, w = batch.obs["camera"].astype(np.float64), weight.reshape(-1, 1, 1, 1)
    exact = w * camera[:, first] + (1 - w) * camera[:, second]
    seen = mixed.obs["camera"]
    assert seen.dtype == np.uint8
    assert ((exact - seen > -1e-3) & (exact - seen < 1 + 1e-3)).all(), "cut off to bytes, not rounded"
    assert np.mean(np.abs(exact - np.floor(exact + 1e-4)) > 0.3) > 0.1
    for name in ("first", "action"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(batch, name)[:, first], "of the heavier one")
    np.testing.assert_array_equal(mixed.obs["speed"], batch.obs["speed"][:, first], "what is no image is not mixed")


def test_advantages_can_be_normalised_again():
    batch = minibatch(batch=64)
    plain, again = (jax.jit(Mixreg(1.0, flag).change)(KEY, (), batch) for flag in (False, True))
    expected = (plain.advantage - plain.advantage.mean()) / plain.advantage.std()
    np.testing.assert_allclose(again.advantage, expected, atol=1e-5)
    assert plain.advantage.std() < 0.9, "mixtures vary less"
    np.testing.assert_array_equal(plain.target, again.target)


# --- learning


@pytest.fixture(scope="module")
def learn(random_state):
    def update(*terms: Any, core: str = "none", rollout: Any = None, **changes: Any) -> Any:
        chosen: Learner = ppo_learner(agent(core), replace(SETTINGS, **changes), more=terms)
        state = random_state(chosen, OBS)
        after, metrics = jax.jit(chosen.update)(KEY, state, images() if rollout is None else rollout, START)
        return after._replace(terms=()), metrics

    return update


def assert_same(a: Any, b: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize(("core", "size"), [("none", 12), ("gru", 4)])
def test_a_weight_of_one_is_plain_ppo_to_the_bit(learn, core, size):
    own, other = tuple(range(size)), tuple(reversed(range(size)))
    assert_same(learn(Given(first=own, second=other, weight=(1.0,) * size), core=core), learn(core=core))
    assert not np.array_equal(
        learn(Given(first=own, second=other, weight=(0.7,) * size), core=core)[1]["policy_loss"],
        learn(core=core)[1]["policy_loss"],
    )


@pytest.mark.parametrize("core", ["none", "gru"])
def test_pairs_of_equals_are_plain_ppo_to_the_bit(learn, core):
    """Every sequence is the same one, so whoever is mixed with whom, and however much, nothing changes."""
    one = images(steps=1) if core == "none" else images()
    same = jax.tree.map(lambda x: np.repeat(x[:, :1], 8, axis=1), one)
    assert len(np.unique(same.obs["camera"][0, 0])) > 100
    plain, mixed = (learn(*terms, core=core, rollout=same) for terms in ((), (Mixreg(1.0),)))
    assert_same(mixed, plain)


def test_all_that_ppo_sees_is_mixed(learn, random_state):
    """The loss of one minibatch, from mixtures made by hand."""
    size = 6
    first, second, weight = (0, 1, 2, 3, 4, 5), (3, 2, 5, 1, 0, 4), (0.6, 0.7, 0.8, 0.9, 0.5, 0.55)
    rollout = images(steps=1, batch=size)
    settings = replace(SETTINGS, epochs=1, minibatches=1)
    mixed = ppo_learner(agent(), settings, more=(Given(first=first, second=second, weight=weight),))
    state = random_state(mixed, OBS)
    _, metrics = jax.jit(mixed.update)(KEY, state, rollout, START)
    w = np.array(weight)

    def mix(x: Any) -> Any:
        m = w.reshape(-1, *[1] * (np.ndim(x) - 2))
        return m * np.asarray(x, np.float64)[:, first] + (1 - m) * np.asarray(x, np.float64)[:, second]

    advantage = rollout.reward + 0.995 * np.where(rollout.terminated, 0, rollout.next_value) - rollout.value
    normal = (advantage - advantage.mean()) / (advantage.std() + 1e-5)
    camera = np.floor(mix(rollout.obs["camera"]) + 1e-4).astype(np.uint8)
    speed = rollout.obs["speed"][:, first]
    output = mixed.agent.forward(state.agent.params, {"camera": camera, "speed": speed}, rollout.first)
    log_prob = mixed.agent.actions.log_prob(output.policy, rollout.action[:, first])
    ratio = np.exp(log_prob - mix(rollout.log_prob))
    assert metrics["policy_loss"] == pytest.approx(
        -np.minimum(ratio * mix(normal), np.clip(ratio, 0.8, 1.2) * mix(normal)).mean(), rel=1e-3
    )
    old, target = mix(rollout.value), mix(rollout.value + advantage)
    near = old + np.clip(output.value - old, -0.2, 0.2)
    value_loss = np.maximum((output.value - target) ** 2, (near - target) ** 2).mean()
    assert metrics["value_loss"] == pytest.approx(value_loss, rel=1e-3)
    assert metrics["entropy"] == pytest.approx(float(mixed.agent.actions.entropy(output.policy).mean()), rel=1e-3)
    assert camera.shape[-3:] == (SIDE, SIDE, 3)
