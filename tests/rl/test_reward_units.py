"""The unit of rewards, as published code has it: the deviation of discounted returns, and rewards cut off at ten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build_agent, preset
from tutelage.rl.learner import Learner
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import NetworkSettings, PPOSettings
from tutelage.types import Rollout

from ..conftest import EyesSettings

BASE = PPOSettings(discount=0.999, normalise_returns=True, return_discount=0.9, learning_rate=0.01)
T, B = 6, 3


def learner_of(toy: Any, ppo: PPOSettings) -> Learner:
    network = NetworkSettings(core="none", width=4, head=4)
    settings = replace(preset("maze", "dr"), encoder=EyesSettings(4), network=network, ppo=ppo)
    return ppo_learner(build_agent(settings, toy), ppo)


def rollout_of(reward: np.ndarray) -> Rollout:
    rng = np.random.default_rng(0)
    value, next_value = rng.normal(size=(2, T, B)).astype(np.float32)
    done = np.zeros((T, B), bool)
    done[2, 0] = done[3, 1] = True
    return Rollout(
        obs=rng.normal(size=(T, B, 4)).astype(np.float32),
        action=rng.integers(0, 3, (T, B)).astype(np.int32),
        log_prob=np.full((T, B), -1.0, np.float32),
        policy=(),
        value=value,
        next_value=next_value,
        reward=reward.astype(np.float32),
        terminated=done,
        truncated=np.zeros_like(done),
        done=done,
        first=np.concatenate([np.ones((1, B), bool), done[:-1]]),
    )


@pytest.fixture(scope="module")
def updated(toy, random_state):
    def update(ppo: PPOSettings, reward: np.ndarray) -> Any:
        learner = learner_of(toy, ppo)
        state = random_state(learner, np.zeros(4, np.float32))
        return learner.update(jax.random.key(0), state, rollout_of(reward), jnp.float32(0))[0]

    return update


def test_the_unit_is_the_deviation_of_returns_with_a_discount_of_their_own(updated):
    reward = np.random.default_rng(1).normal(size=(T, B)) * 5
    state = updated(BASE, reward)
    running, returns = np.zeros(B), []
    for t in range(T):  # one after the other, as published: zeroed at the end of an episode
        running = running * 0.9 + reward[t]
        returns.append(running.copy())
        running[rollout_of(reward).done[t]] = 0
    np.testing.assert_allclose(state.agent.returns.deviation, np.sqrt(np.var(returns) + 1e-8), rtol=1e-5)
    other = updated(replace(BASE, return_discount=0.0), reward)
    assert other.agent.returns.deviation != state.agent.returns.deviation


def test_rewards_are_cut_off_in_that_unit_when_they_are_learned_from(updated):
    """Learning from rewards that were cut off by hand is the same, if the unit is still that of all rewards."""
    reward = np.random.default_rng(2).normal(size=(T, B))
    reward[4, 2] = 40.0
    plain, clipped = updated(BASE, reward), updated(replace(BASE, reward_clip=1.5), reward)
    unit = float(plain.agent.returns.deviation)
    assert float(clipped.agent.returns.deviation) == unit
    assert 1.5 * unit < 40
    differs = jax.tree.map(lambda a, b: bool((a != b).any()), plain.agent.params, clipped.agent.params)
    assert any(jax.tree.leaves(differs))
    generous = updated(replace(BASE, reward_clip=1e6), reward)
    jax.tree.map(np.testing.assert_array_equal, generous.agent.params, plain.agent.params)


def test_the_batch_has_the_advantages_of_rewards_that_were_cut_off(toy, random_state):
    reward = np.zeros((T, B))
    reward[1, 0], reward[5, 1] = 9.0, -9.0
    learner = learner_of(toy, replace(BASE, reward_clip=2.0))
    state = random_state(learner, np.zeros(4, np.float32)).agent
    unit = float(learner.agent.unit(state))
    by_hand = learner_of(toy, replace(BASE, reward_clip=0.0))._batch(
        state, state, rollout_of(np.clip(reward, -2 * unit, 2 * unit))
    )
    jax.tree.map(np.testing.assert_array_equal, learner._batch(state, state, rollout_of(reward)), by_hand)
