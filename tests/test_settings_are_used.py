"""Every setting that can be set is used. Each is changed alone, and something must come out differently."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.algorithms import METHODS, Parts
from tutelage.envs.maze.domain import build as build_maze
from tutelage.envs.maze.settings import MazeSettings
from tutelage.envs.registry import preset
from tutelage.experiment import build, build_student
from tutelage.rl.distributions import Categorical
from tutelage.rl.networks import CORES, ActorCritic
from tutelage.rl.ppo import Student
from tutelage.settings import AccelSettings, EvolveSettings, NetworkSettings, PLRSettings, PPOSettings, ReplaySettings
from tutelage.types import Rollout


def differ(a: Any, b: Any) -> bool:
    """Do two results differ in structure, shape or content?"""
    if jax.tree.structure(a) != jax.tree.structure(b):
        return True
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return any(np.shape(x) != np.shape(y) or not np.array_equal(x, y, equal_nan=True) for x, y in pairs)


# --- the student's learning

PPO = {
    "discount": 0.5,
    "gae_lambda": 0.5,
    "epochs": 1,
    "minibatches": 2,
    "clip": 0.01,
    "value_clip": False,
    "value_coef": 2.0,
    "huber": 0.1,
    "entropy_coef": 0.5,
    "learning_rate": 0.1,
    "anneal": True,
    "adam_epsilon": 0.1,
    "max_grad_norm": 1e-4,
    "normalise_returns": True,
    "normalise_observations": True,
}


@pytest.fixture(scope="module")
def learned(toy, random_state):
    """From PPO settings to what a student is after two updates: what it knows of observations shows in the second."""
    rng = np.random.default_rng(0)
    value, next_value, reward = rng.normal(size=(3, 3, 2)).astype(np.float32)
    done = np.array([[False, True], [False, False], [False, False]])
    rollout = Rollout(
        obs=rng.normal(size=(3, 2, 4)).astype(np.float32),
        action=rng.integers(0, 3, (3, 2)).astype(np.int32),
        log_prob=np.log(rng.uniform(0.2, 0.5, (3, 2))).astype(np.float32),
        policy=(),
        value=value,
        next_value=next_value,
        reward=reward,
        terminated=done,
        truncated=np.zeros_like(done),
        first=np.concatenate([np.ones((1, 2), bool), done[:-1]]),
    )
    results: dict[PPOSettings, Any] = {}

    def learn(ppo: PPOSettings) -> Any:
        if ppo not in results:
            student = Student(ActorCritic(toy.encoder(NetworkSettings(filters=4)), CORES["none"](4), 3, 4), ACT, ppo)
            state = random_state(student, np.zeros(4, np.float32))
            update = jax.jit(student.update)
            for i in range(2):
                state, _ = update(jax.random.key(i), state, rollout, jnp.float32(0.5))
            results[ppo] = state.params
        return results[ppo]

    return learn


ACT = Categorical(3)


@pytest.mark.parametrize("name", [field.name for field in fields(PPOSettings)])
def test_every_ppo_setting_changes_what_is_learned(learned, name):
    base = PPOSettings(epochs=2, learning_rate=0.01)
    assert differ(learned(base), learned(replace(base, **{name: PPO[name]})))


# --- the student's network

NETWORK = {"filters": 8, "direction": 3, "core": "gru", "width": 32, "head": 16}


@pytest.mark.parametrize("name", [field.name for field in fields(NetworkSettings)])
def test_every_network_setting_changes_the_network(name):
    settings = preset("maze", "dr")
    domain = build_maze(MazeSettings())
    _, obs = jax.eval_shape(lambda key: domain.env.reset(key, domain.space.sample(key)), jax.random.key(0))

    def shapes(network: NetworkSettings) -> Any:
        student = build_student(replace(settings, network=network), domain)
        return jax.tree.map(lambda x: x.shape, jax.eval_shape(student.init, jax.random.key(0), obs).params)

    assert shapes(settings.network) != shapes(replace(settings.network, **{name: NETWORK[name]}))


# --- the environment

MAZE = {
    "size": 6,
    "view": 3,
    "max_steps": 2,
    "see_through_walls": False,
    "reward": "appendix",
    "blocks": 3,
    "block_count": "fixed",
}


@pytest.mark.parametrize("name", [field.name for field in fields(MazeSettings)])
def test_every_maze_setting_changes_levels_or_episodes(name):
    base = MazeSettings(size=4, max_steps=9, blocks=8, view=5)
    if name == "see_through_walls":
        base = replace(base, block_count="fixed")  # many walls to look through

    def episode(settings: MazeSettings) -> Any:
        """A level, and an episode on it that walks straight into the goal."""
        domain = build_maze(settings)
        level = domain.space.sample(jax.random.key(4))
        near = level.goal - jnp.array([1, 0])
        walls = level.walls.at[near[1], near[0]].set(False)
        level = level._replace(start=near, direction=jnp.int32(0), walls=walls)
        state, obs = domain.env.reset(jax.random.key(0), level)
        history = [level, obs]
        for action in (0, 1, 2):
            state, step = domain.env.step(jax.random.key(0), state, jnp.int32(action))
            history.append(step)
        return history

    changed = replace(base, **{name: MAZE[name]})
    assert differ(jax.jit(lambda: episode(base))(), jax.jit(lambda: episode(changed))())


# --- the teachers

REPLAY = {
    "rate": 1.0,
    "schedule": "proportional",
    "min_fill": 1.0,
    "score": "entropy",
    "prioritisation": "uniform",
    "temperature": 5.0,
    "staleness": 1.0,
    "duplicates": True,
}
ELSEWHERE = {"capacity", "relative"}
"""Tested by itself, because other shapes would compile everything anew; and of several students only."""

EVOLVE = {"criterion": "batch", "parents": 2, "edits": 1, "rate": 0.0, "editor": "none", "start": "random"}

ACCEL = AccelSettings(
    ReplaySettings(rate=0.6, capacity=10, min_fill=0.4, staleness=0.3),
    EvolveSettings(parents=1, edits=5),
)


@pytest.fixture(scope="module")
def taught(toy, outcome):
    """From a method's settings to all it proposes, and remembers, in a few iterations."""
    results: dict[Any, Any] = {}

    def teach(settings: AccelSettings | PLRSettings) -> Any:
        if settings not in results:
            method = METHODS["accel" if isinstance(settings, AccelSettings) else "robust-plr"]
            curriculum = method.build(settings, Parts(toy, 4, PPOSettings()))
            propose, observe = jax.jit(curriculum.propose), jax.jit(curriculum.observe)
            state, history = jax.jit(curriculum.init)(jax.random.key(0)), []
            for i in range(8):
                k_propose, k_coins, k_observe = jax.random.split(jax.random.key(i), 3)
                state, proposal = propose(k_propose, k_coins, state)
                state, _ = observe(k_observe, state, proposal, outcome(proposal.levels))
                history.append(proposal)
            results[settings] = (history, state)
        return results[settings]

    return teach


@pytest.mark.parametrize("name", sorted({field.name for field in fields(ReplaySettings)} - ELSEWHERE))
def test_every_replay_setting_changes_what_is_taught(taught, name):
    changed = replace(ACCEL, replay=replace(ACCEL.replay, **{name: REPLAY[name]}))
    assert differ(taught(ACCEL), taught(changed))


def test_the_buffer_has_the_capacity_that_is_set(toy):
    def size(replay: ReplaySettings) -> Any:
        curriculum = METHODS["plr"].build(PLRSettings(replay), Parts(toy, 4, PPOSettings()))
        return jax.eval_shape(curriculum.init, jax.random.key(0)).buffer.score.shape

    assert (size(ACCEL.replay), size(replace(ACCEL.replay, capacity=5))) == ((1, 10), (1, 5))


@pytest.mark.parametrize("name", [field.name for field in fields(EvolveSettings)])
def test_every_evolve_setting_changes_what_is_taught(taught, name):
    changed = replace(ACCEL, evolve=replace(ACCEL.evolve, **{name: EVOLVE[name]}))
    assert differ(taught(ACCEL), taught(changed))


# --- the shape of a run


@pytest.mark.parametrize(("name", "value"), [("steps", 10**6), ("levels", 16), ("rollout", 100)])
def test_the_shape_of_a_run_is_that_of_its_settings(name, value):
    settings = preset("maze", "plr")
    changed = replace(settings, train=replace(settings.train, **{name: value}))
    before, after = build(settings), build(changed)
    assert (before.levels, before.rollout, before.iterations) != (after.levels, after.rollout, after.iterations)
