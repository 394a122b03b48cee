"""Every setting that can be set is used. Each is changed alone, and something must come out differently."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build, build_agent, build_domain, override, preset
from tutelage.envs.base import observation_spec
from tutelage.envs.maze.domain import build as build_maze
from tutelage.envs.maze.settings import MazeDesignEncoderSettings, MazeEncoderSettings, MazeSettings
from tutelage.errors import UserError
from tutelage.methods.accel import AccelSettings
from tutelage.methods.base import Parts
from tutelage.methods.plr import PLRSettings
from tutelage.methods.registry import built_in, find
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import (
    AdversarySettings,
    BanditSettings,
    EvolveSettings,
    MixtureSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    ScanSettings,
    Settings,
    TeacherSettings,
)
from tutelage.types import Continuous, Rollout

from .conftest import EyesSettings


def differ(a: Any, b: Any) -> bool:
    """Do two results differ in structure, shape or content?"""
    if jax.tree.structure(a) != jax.tree.structure(b):
        return True
    pairs = zip(*map(jax.tree.leaves, (a, b)), strict=True)
    return any(np.shape(x) != np.shape(y) or not np.array_equal(x, y, equal_nan=True) for x, y in pairs)


def program(function: Callable[..., Any], *args: Any) -> tuple[str, list[Any]]:
    """What a function computes, as text, and the arrays that it computes with. Nothing is compiled."""
    traced = jax.make_jaxpr(function)(*args)
    return re.sub(r" at 0x[0-9a-f]+", "", str(traced)), traced.consts


def same_program(a: tuple[str, list[Any]], b: tuple[str, list[Any]]) -> bool:
    return a[0] == b[0] and not differ(a[1], b[1])


# --- the student's learning

PPO = {
    "average": 0.5,
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
} | {"return_discount": 0.5, "reward_clip": 0.1}


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
        done=done,
        first=np.concatenate([np.ones((1, 2), bool), done[:-1]]),
    )
    results: dict[PPOSettings, Any] = {}

    def learn(ppo: PPOSettings) -> Any:
        if ppo not in results:
            network = NetworkSettings(core="none", width=4, head=4)
            settings = replace(preset("maze", "dr"), encoder=EyesSettings(4), network=network, ppo=ppo)
            learner = ppo_learner(build_agent(settings, toy), ppo)
            state = random_state(learner, np.zeros(4, np.float32))
            update = jax.jit(learner.update)
            for i in range(2):
                state, _ = update(jax.random.key(i), state, rollout, jnp.float32(0.5))
            results[ppo] = state.product.params
        return results[ppo]

    return learn


@pytest.mark.parametrize("name", sorted({field.name for field in fields(PPOSettings)} - {"time_limit"}))
def test_every_ppo_setting_changes_what_is_learned(learned, name):
    base = PPOSettings(epochs=2, learning_rate=0.01, normalise_returns=name in ("return_discount", "reward_clip"))
    assert differ(learned(base), learned(replace(base, **{name: PPO[name]})))


# --- the student's network

NETWORK = {"core": "gru", "width": 32, "head": 16, "layers": 3, "activation": "tanh"}
ENCODER = {"filters": 8, "direction": 3}


def network_of(settings: Settings) -> tuple[str, list[Any]]:
    """What a student of mazes computes."""
    domain = build_domain(settings)
    agent = build_agent(settings, domain)
    obs = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, jax.random.key(0)))
    state = jax.eval_shape(agent.init, jax.random.key(0), obs)
    several = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, 3, *x.shape), x.dtype), obs)
    return program(agent.forward, state.params, several, jnp.ones((2, 3), bool))


@pytest.mark.parametrize("name", sorted({field.name for field in fields(NetworkSettings)} - {"policy"}))
def test_every_network_setting_changes_the_network(name):
    settings = preset("maze", "dr")
    assert same_program(network_of(settings), network_of(settings))
    changed = replace(settings, network=replace(settings.network, **{name: NETWORK[name]}))
    assert not same_program(network_of(settings), network_of(changed))


@pytest.mark.parametrize("name", [field.name for field in fields(MazeEncoderSettings)])
def test_every_setting_of_the_mazes_encoder_changes_the_network(name):
    settings = preset("maze", "dr")
    changed = replace(settings, encoder=replace(settings.encoder, **{name: ENCODER[name]}))
    assert not same_program(network_of(settings), network_of(changed))


@dataclass(frozen=True)
class Pushing:
    """An environment of which nothing but the actions matters."""

    action_space: Any


def test_the_policy_is_the_one_that_is_set_where_actions_are_numbers(toy):
    def actions(policy: str, space: Any) -> Any:
        base = replace(preset("maze", "dr"), encoder=EyesSettings())
        settings = replace(base, network=replace(base.network, policy=policy))
        return build_agent(settings, replace(toy, env=Pushing(space))).actions

    assert actions("auto", Continuous(2)) == actions("gaussian", Continuous(2)) != actions("beta", Continuous(2))
    for policy in ("gaussian", "beta"):
        sentence = f"network.policy is {policy}, which draws numbers, and the actions of this environment are one of 3"
        with pytest.raises(UserError, match=sentence):
            actions(policy, toy.env.action_space)
    assert actions("auto", toy.env.action_space).n == 3


# --- the environment

MAZE = {
    "size": 6,
    "view": 3,
    "max_steps": 2,
    "see_through_walls": False,
    "reward": "appendix",
    "blocks": 3,
    "block_count": "fixed",
    "edit_rule": "place",
}


@pytest.mark.parametrize("name", [field.name for field in fields(MazeSettings)])
def test_every_maze_setting_changes_levels_or_episodes(name):
    base = MazeSettings(size=4, max_steps=9, blocks=8, view=5)
    if name == "see_through_walls":
        base = replace(base, block_count="fixed")  # many walls to look through

    def episode(settings: MazeSettings) -> Any:
        """A level, and an episode on it that walks straight into the goal."""
        domain = build_maze(settings)
        level = domain.levels.sample(jax.random.key(4))
        near = level.goal - jnp.array([1, 0])
        walls = level.walls.at[near[1], near[0]].set(False)
        level = level._replace(start=near, direction=jnp.int32(0), walls=walls)
        prepared = domain.env.prepare(level)
        state, obs = domain.env.reset(jax.random.key(0), prepared)
        history = [level, obs, domain.levels.edit(jax.random.key(5), level, 3)]
        for action in (0, 1, 2):
            state, step = domain.env.step(jax.random.key(0), state, jnp.int32(action), prepared)
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
    "attempts": 2,
    "clock": "replays",
}
ELSEWHERE = {"capacity", "relative", "scored"}
"""Tested by itself, because other shapes would compile everything anew; of several students only; and in test_queue."""

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
            method = find("accel" if isinstance(settings, AccelSettings) else "robust-plr")
            curriculum = method.build(settings, Parts(toy, 4, 2, PPOSettings()))
            propose, observe = jax.jit(curriculum.propose), jax.jit(curriculum.observe)
            state, history = jax.jit(curriculum.init)(jax.random.key(0)), []
            for i in range(8):
                k_propose, k_branch, k_observe = jax.random.split(jax.random.key(i), 3)
                state, proposal = propose(k_propose, k_branch, state)
                state, _ = observe(k_observe, state, proposal, outcome(proposal.levels), ())
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
        curriculum = find("plr").build(PLRSettings(replay), Parts(toy, 4, 2, PPOSettings()))
        return jax.eval_shape(curriculum.init, jax.random.key(0)).buffer.score.shape

    assert (size(ACCEL.replay), size(replace(ACCEL.replay, capacity=5))) == ((1, 10), (1, 5))


@pytest.mark.parametrize("name", [field.name for field in fields(EvolveSettings)])
def test_every_evolve_setting_changes_what_is_taught(taught, name):
    changed = replace(ACCEL, evolve=replace(ACCEL.evolve, **{name: EVOLVE[name]}))
    assert differ(taught(ACCEL), taught(changed))


SECTIONS = {
    TeacherSettings: {"core": "gru", "width": 8, "head": 5, "learning_rate": 0.1, "entropy_coef": 0.3},
    AdversarySettings: {"objective": "minimax", "clip": True, "antagonist": "best", "students": 3},
    MixtureSettings: {"fit_every": 20, "explore": 0.7, "fewest": 3, "most": 4, "history": 60},
    BanditSettings: {
        "window": 3,
        "rate": 0.5,
        "policy": "epsilon-greedy",
        "epsilon": 0.1,
        "temperature": 3.0,
        "staleness": 0.2,
        "optimism": 7.0,
    },
    ScanSettings: {
        "every": 3,
        "candidates": 16,
        "attempts": 4,
        "keep": 3,
        "share": 0.25,
        "score": "learnability",
    },
}
"""Another value for every setting of a teacher's section."""
SMALL = {"train.levels": "8", "train.rollout": "4", "train.steps": "320"}
BASE = {
    TeacherSettings: {"teacher.core": "lstm", "teacher.width": "4", "teacher.head": "4"},
    MixtureSettings: {"mixture.fit_every": "16", "mixture.most": "5", "mixture.history": "50"},
    BanditSettings: {"bandit.policy": "boltzmann", "train.training_set": "16"},
}
"""What all settings of a section are read with."""
READ_WITH = {"epsilon": {"bandit.policy": "epsilon-greedy"}, "antagonist": {"adversary.objective": "regret"}}
IN_SECTIONS = [
    (kind, part.name, method, setting)
    for kind, values in SECTIONS.items()
    for part, method in [
        (part, method.name)
        for method in sorted(built_in().values(), key=lambda method: method.name != "paired")  # whose teacher is used
        for part in fields(method.settings)
        if part.metadata.get("section") is kind
    ][:1]
    for setting in values
]


def test_the_settings_of_every_section_of_every_method_are_tested_here():
    kinds = {part.metadata["section"] for method in built_in().values() for part in fields(method.settings)}
    assert kinds <= {ReplaySettings, EvolveSettings, *SECTIONS}
    for kind, values in SECTIONS.items():
        assert {field.name for field in fields(kind)} - {"encoder"} == set(values)
    assert {ReplaySettings, TeacherSettings, MixtureSettings} <= kinds


@pytest.fixture(scope="module")
def training() -> Callable[[str, tuple[tuple[str, str], ...]], tuple[str, list[Any]]]:
    """From a method and overrides to what a run on the matrix game computes, from its start to the first step."""
    known: dict[Any, Any] = {}

    def trace(method: str, changes: dict[str, str]) -> tuple[str, list[Any]]:
        key = (method, *changes.items())
        if key not in known:
            trainer = build(override(preset("matrix", method), changes))
            known[key] = program(lambda: trainer.step(trainer.init(0)))
        return known[key]

    return trace


@pytest.mark.parametrize(("kind", "section", "method", "name"), IN_SECTIONS)
def test_every_setting_of_a_teacher_changes_the_training(training, kind, section, method, name):
    base = SMALL | BASE.get(kind, {}) | READ_WITH.get(name, {})
    value = SECTIONS[kind][name]
    changes = {f"{section}.{name}": str(value).lower() if isinstance(value, bool) else str(value)}
    assert not same_program(training(method, base), training(method, base | changes))


def test_the_time_limit_changes_the_training(training):
    """It is read by the step, for students and scores alike."""
    terminate = SMALL | {"ppo.time_limit": "terminate"}
    assert not same_program(training("dr", SMALL), training("dr", terminate))


def test_equal_settings_are_equal_programs(training):
    again = build(override(preset("matrix", "dr"), SMALL))
    assert same_program(training("dr", SMALL), program(lambda: again.step(again.init(0))))


@pytest.mark.parametrize("name", [field.name for field in fields(MazeDesignEncoderSettings)])
def test_every_setting_of_the_mazes_teachers_encoder_changes_the_teacher(name):
    def shapes(changes: dict[str, str]) -> Any:
        trainer = build(override(preset("maze", "paired", "small"), changes))
        return jax.tree.map(lambda x: x.shape, jax.eval_shape(trainer.init, 0).curriculum)

    assert shapes({}) != shapes({f"teacher.encoder.{name}": "7"})


# --- the shape of a run


@pytest.mark.parametrize(("name", "value"), [("steps", 10**6), ("levels", 16), ("rollout", 100), ("queue", 2)])
def test_the_shape_of_a_run_is_that_of_its_settings(name, value):
    settings = preset("maze", "plr")
    changed = replace(settings, train=replace(settings.train, **{name: value}))
    before, after = build(settings), build(changed)

    def shape(trainer: tutelage.Trainer) -> tuple[int, ...]:
        return trainer.levels, trainer.rollout, trainer.iterations, trainer.queue

    assert shape(before) != shape(after)


@pytest.mark.parametrize("value", ["naive", "samplr"])
def test_grounding_changes_what_is_played(training, value):
    def trace(grounding: str) -> tuple[str, list[Any]]:
        trainer = build(override(preset("hidden-games", "dr"), SMALL | {"train.grounding": grounding}))
        return program(lambda: trainer.step(trainer.init(0)))

    assert not same_program(trace("none"), trace(value))
