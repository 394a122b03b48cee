"""Rollouts against a replay in plain Python of an environment whose observations tell everything."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rollout import JaxCollector

STEPS = 11
# Two students with three levels each: (goal, limit). Some are won, some are cut off, one is neither for long.
LEVELS = [[(5, 9), (100, 3), (3, 2)], [(1, 1), (4, 4), (100, 30)]]


@pytest.fixture(scope="module", params=["gru", "lstm", "none"])
def played(request, toy, toy_agent, random_state):
    """An agent, the states of two of them, and what they did together."""
    agent = toy_agent(request.param, width=5, eyes=6)
    states = [random_state(agent, np.zeros(4, np.float32), seed) for seed in range(2)]
    students = jax.tree.map(lambda *x: np.stack(x), *states)
    sample = toy.levels.sample(jax.random.key(0))
    levels = type(sample)(*np.moveaxis(np.array(LEVELS, np.int32), -1, 0))
    rollout = jax.jit(JaxCollector(toy.env, agent, STEPS))(jax.random.key(3), students, levels)
    return agent, states, jax.tree.map(np.asarray, rollout)


def replay(actions: np.ndarray, goal: int, limit: int):
    """What the environment must have answered to these actions: one row a step, and the true successors."""
    count = time = 0
    first = True
    for action in actions:
        before = [count, time, goal, limit]
        count, time = count + action, time + 1
        terminated, truncated = count >= goal, time >= limit
        yield before, first, action - 0.5, terminated, truncated, [count, time, goal, limit]
        first = terminated or truncated
        if first:
            count = time = 0


def observation(numbers) -> np.ndarray:
    return np.array(numbers, np.float32) / np.float32(10)


def test_the_rollout_is_what_the_environment_answered(played):
    """Episodes start again on the same level, and every rollout starts with a new episode."""
    _, _, rollout = played
    assert rollout.first[:, 0].all()
    for s, levels in enumerate(LEVELS):
        for b, (goal, limit) in enumerate(levels):
            rows = list(replay(rollout.action[s, :, b], goal, limit))
            obs, first, reward, terminated, truncated, _ = (list(column) for column in zip(*rows, strict=True))
            np.testing.assert_allclose(rollout.obs[s, :, b], observation(obs), rtol=1e-6)
            assert rollout.first[s, :, b].tolist() == first
            assert rollout.reward[s, :, b].tolist() == reward
            assert rollout.terminated[s, :, b].tolist() == terminated
            assert rollout.truncated[s, :, b].tolist() == truncated
            assert rollout.done[s, :, b].tolist() == [a or b for a, b in zip(terminated, truncated, strict=True)]


def test_levels_end_in_every_way(played):
    """The test above is worth something only if it met every kind of ending."""
    _, _, rollout = played
    assert (rollout.terminated & ~rollout.truncated).any()
    assert (rollout.truncated & ~rollout.terminated).any()
    assert (~rollout.done[:, -1]).any()


def test_values_are_those_of_the_true_successor_with_its_own_memory(played):
    """Memory is zero at the first step, and each student acts by its own parameters."""
    agent, states, rollout = played
    act, value = jax.jit(agent.act), jax.jit(agent.value)
    for s, state in enumerate(states):
        successors = np.stack(
            [
                [observation(row[-1]) for row in replay(rollout.action[s, :, b], goal, limit)]
                for b, (goal, limit) in enumerate(LEVELS[s])
            ],
            axis=1,
        )
        memory = agent.initial_carry(3)
        for t in range(STEPS):
            obs, first = rollout.obs[s, t], rollout.first[s, t]
            memory, decision = act(state, agent.noise(jax.random.key(0), 3), memory, obs, first)
            np.testing.assert_allclose(rollout.value[s, t], decision.value, atol=1e-5)
            np.testing.assert_allclose(rollout.policy[s, t], decision.policy, atol=1e-5)
            log_prob = agent.actions.log_prob(decision.policy, rollout.action[s, t])
            np.testing.assert_allclose(rollout.log_prob[s, t], log_prob, atol=1e-5)

            # The successor continues the episode, so its memory is kept, also at a time limit and at the end.
            expected = value(state, memory, successors[t], jnp.zeros(3, bool))
            goes_on = ~rollout.terminated[s, t]
            np.testing.assert_allclose(rollout.next_value[s, t][goes_on], expected[goes_on], atol=1e-5)
    assert np.isfinite(rollout.next_value).all()


def test_students_are_independent(played):
    _, _, rollout = played
    assert not np.allclose(rollout.policy[0, 0], rollout.policy[1, 0])


def test_actions_follow_from_noise_that_is_drawn_ahead(played):
    """Every step, student and level has its own, which the recorded policy turns into the recorded action."""
    agent, states, rollout = played
    noise = []
    for key in jax.random.split(jax.random.split(jax.random.key(3))[1], STEPS):
        k_act = jax.random.split(key, 3)[0]
        noise.append([agent.noise(k, 3) for k in jax.random.split(k_act, len(states))])
    noise = np.moveaxis(np.array(noise), 0, 1)
    np.testing.assert_array_equal(rollout.action, agent.actions.choose(noise, rollout.policy))
    assert len(np.unique(noise)) == noise.size
