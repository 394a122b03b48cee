"""What every registered environment promises: shapes and types that never change, and levels that are all alike."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import LevelSpace, Room, observation_spec
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.hosts.environment import HostEnvironment
from tutelage.types import TimeStep

KEY = jax.random.key(1)


def shapes(function: Any, *args: Any) -> Any:
    """Structure, shapes and dtypes of a result. No dtype may be weak: it would change under a caller's hands."""
    result = jax.eval_shape(function, *args)
    assert not any(x.weak_type for x in jax.tree.leaves(result))
    return jax.tree.map(lambda x: (x.shape, str(x.dtype)), result)


def types(tree: Any) -> Any:
    return shapes(lambda: tree)


def settings_of(name: str) -> Any:
    entry = ENVIRONMENTS[name]
    return entry.presets[entry.default_preset]("dr")


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def room(request) -> Room:
    return ENVIRONMENTS[request.param].build(settings_of(request.param).env)


@pytest.fixture(scope="module")
def level(room) -> Any:
    return jax.jit(room.space.sample)(jax.random.key(0))


@pytest.fixture
def in_jax(room) -> Room:
    """One of JAX. For others see tests/hosts and the tests of each."""
    if isinstance(room.env, HostEnvironment):
        pytest.skip("is played outside of JAX")
    return room


def test_a_step_changes_no_shape_and_no_type(in_jax, level):
    room = in_jax
    state, obs = shapes(room.env.reset, KEY, level)
    first, _ = jax.eval_shape(room.env.reset, KEY, level)
    after, step = shapes(room.env.step, KEY, first, jnp.int32(0))
    assert after == state
    assert isinstance(step, TimeStep)
    assert step.obs == step.next_obs == obs
    assert step.reward == ((), "float32")
    assert step.terminated == step.truncated == ((), "bool")


def test_an_episode_is_what_its_shapes_promised(in_jax, level):
    """Played for real: what comes out has the announced types, and rewards are finite."""
    room = in_jax
    state, obs = jax.jit(room.env.reset)(KEY, level)
    assert types(obs) == jax.tree.map(lambda x: (x.shape, str(x.dtype)), observation_spec(room.env, level))
    step = jax.jit(room.env.step)
    for action in range(room.env.action_space.n):
        after, answer = step(KEY, state, jnp.int32(action))
        assert types(after) == types(state)
        assert np.isfinite(answer.reward)


def test_the_same_key_gives_the_same_episode(in_jax, level):
    room = in_jax
    step = jax.jit(lambda level: room.env.step(KEY, room.env.reset(KEY, level)[0], jnp.int32(1)))
    jax.tree.map(np.testing.assert_array_equal, step(level), step(level))


def test_levels_are_alike_wherever_they_come_from(room, level):
    assert isinstance(room.space, LevelSpace)
    sampled = shapes(room.space.sample, KEY)
    assert types(level) == sampled
    assert shapes(lambda key, level: room.space.edit(key, level, 1), KEY, level) == sampled
    if room.empty is not None:
        assert shapes(room.empty, KEY) == sampled


def test_different_keys_give_different_levels(room):
    levels = jax.jit(jax.vmap(room.space.sample))(jax.random.split(KEY, 32))
    assert any(len(np.unique(np.asarray(leaf), axis=0)) > 1 for leaf in jax.tree.leaves(levels))


def test_metrics_are_named_scalars(room, level):
    metrics = shapes(room.space.metrics, level)
    assert metrics
    assert all(shape == () for shape, _ in metrics.values())


def test_every_suite_can_be_built_and_an_unknown_one_is_refused(room):
    for name in room.suites:
        assert room.suite(name).tasks
    with pytest.raises(ValueError, match="no-such-suite"):
        room.suite("no-such-suite")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_preset_is_for_its_own_environment(name):
    for preset in ENVIRONMENTS[name].presets.values():
        assert preset("dr").environment == name
