"""What every registered environment promises: shapes and types that never change, and levels that are all alike."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Domain, LevelSpace, observation_spec
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
def domain(request) -> Domain:
    return ENVIRONMENTS[request.param].build(settings_of(request.param).env)


@pytest.fixture(scope="module")
def level(domain) -> Any:
    return jax.jit(domain.space.sample)(jax.random.key(0))


@pytest.fixture
def in_jax(domain) -> Domain:
    """One of JAX. For others see tests/hosts and the tests of each."""
    if isinstance(domain.env, HostEnvironment):
        pytest.skip("is played outside of JAX")
    return domain


def test_a_step_changes_no_shape_and_no_type(in_jax, level):
    domain = in_jax
    state, obs = shapes(domain.env.reset, KEY, level)
    first, _ = jax.eval_shape(domain.env.reset, KEY, level)
    after, step = shapes(domain.env.step, KEY, first, jnp.int32(0))
    assert after == state
    assert isinstance(step, TimeStep)
    assert step.obs == step.next_obs == obs
    assert step.reward == ((), "float32")
    assert step.terminated == step.truncated == ((), "bool")


def test_an_episode_is_what_its_shapes_promised(in_jax, level):
    """Played for real: what comes out has the announced types, and rewards are finite."""
    domain = in_jax
    state, obs = jax.jit(domain.env.reset)(KEY, level)
    assert types(obs) == jax.tree.map(lambda x: (x.shape, str(x.dtype)), observation_spec(domain.env, level))
    step = jax.jit(domain.env.step)
    for action in range(domain.env.action_space.n):
        after, answer = step(KEY, state, jnp.int32(action))
        assert types(after) == types(state)
        assert np.isfinite(answer.reward)


def test_the_same_key_gives_the_same_episode(in_jax, level):
    domain = in_jax
    step = jax.jit(lambda level: domain.env.step(KEY, domain.env.reset(KEY, level)[0], jnp.int32(1)))
    jax.tree.map(np.testing.assert_array_equal, step(level), step(level))


def test_levels_are_alike_wherever_they_come_from(domain, level):
    assert isinstance(domain.space, LevelSpace)
    sampled = shapes(domain.space.sample, KEY)
    assert types(level) == sampled
    assert shapes(lambda key, level: domain.space.edit(key, level, 1), KEY, level) == sampled
    if domain.empty is not None:
        assert shapes(domain.empty, KEY) == sampled


def test_different_keys_give_different_levels(domain):
    levels = jax.jit(jax.vmap(domain.space.sample))(jax.random.split(KEY, 32))
    assert any(len(np.unique(np.asarray(leaf), axis=0)) > 1 for leaf in jax.tree.leaves(levels))


def test_metrics_are_named_scalars(domain, level):
    metrics = shapes(domain.space.metrics, level)
    assert metrics
    assert all(shape == () for shape, _ in metrics.values())


def test_every_suite_can_be_built_and_an_unknown_one_is_refused(domain):
    for name in domain.suites:
        assert domain.suite(name).tasks
    with pytest.raises(ValueError, match="no-such-suite"):
        domain.suite("no-such-suite")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_preset_is_for_its_own_environment(name):
    for preset in ENVIRONMENTS[name].presets.values():
        assert preset("dr").environment == name
