"""What every registered environment promises: shapes and types that never change, and levels that are all alike."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import preset
from tutelage.envs.base import Brief, DesignTask, Domain, observation_spec
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.hosts.environment import HostEnvironment
from tutelage.methods.registry import built_in
from tutelage.types import Discrete, TimeStep

KEY = jax.random.key(1)


def shapes(function: Any, *args: Any) -> Any:
    """Structure, shapes and dtypes of a result. No dtype may be weak: it would change under a caller's hands."""
    result = jax.eval_shape(function, *args)
    assert not any(x.weak_type for x in jax.tree.leaves(result))
    return jax.tree.map(lambda x: (x.shape, str(x.dtype)), result)


def types(tree: Any) -> Any:
    return shapes(lambda: tree)


def an_action(env: Any, number: int) -> Any:
    """One of several."""
    space = env.action_space
    return jnp.int32(number) if isinstance(space, Discrete) else jnp.full(space.n, number / space.n - 0.5, jnp.float32)


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def domain(request) -> Domain:
    entry = ENVIRONMENTS[request.param]
    return entry.build(entry.presets[entry.default_preset].env)


@pytest.fixture(scope="module")
def level(domain) -> Any:
    return jax.jit(domain.levels.sample)(jax.random.key(0))


@pytest.fixture
def in_jax(domain) -> Domain:
    """One of JAX. For others see tests/hosts and the tests of each."""
    if isinstance(domain.env, HostEnvironment):
        pytest.skip("is played outside of JAX")
    return domain


def test_a_step_changes_no_shape_and_no_type(in_jax, level):
    env = in_jax.env
    prepared = jax.eval_shape(env.prepare, level)
    state, obs = shapes(env.reset, KEY, prepared)
    first, _ = jax.eval_shape(env.reset, KEY, prepared)
    after, step = shapes(env.step, KEY, first, an_action(env, 0), prepared)
    assert after == state
    assert isinstance(step, TimeStep)
    assert step.obs == step.transition.next_obs == obs
    assert step.reward == ((), "float32")
    assert step.done == step.transition.terminated == step.transition.truncated == ((), "bool")


def test_an_episode_is_what_its_shapes_promised(in_jax, level):
    """Played for real: what comes out has the announced types, and rewards are finite."""
    env = in_jax.env
    prepared = jax.jit(env.prepare)(level)
    state, obs = jax.jit(env.reset)(KEY, prepared)
    assert types(obs) == jax.tree.map(lambda x: (x.shape, str(x.dtype)), observation_spec(env, level))
    step = jax.jit(env.step)
    for action in range(env.action_space.n):
        after, answer = step(KEY, state, an_action(env, action), prepared)
        assert types(after) == types(state)
        assert np.isfinite(answer.reward)
        assert answer.done == (answer.transition.terminated | answer.transition.truncated)
        jax.tree.map(np.testing.assert_array_equal, answer.obs, answer.transition.next_obs)


def test_the_same_key_gives_the_same_episode(in_jax, level):
    env = in_jax.env

    @jax.jit
    def step(level: Any) -> Any:
        prepared = env.prepare(level)
        return env.step(KEY, env.reset(KEY, prepared)[0], an_action(env, 1), prepared)

    jax.tree.map(np.testing.assert_array_equal, step(level), step(level))


def test_levels_are_alike_wherever_they_come_from(domain, level):
    """All but drawing them is an ability that an environment may lack."""
    levels = domain.levels
    sampled = shapes(levels.sample, KEY)
    assert types(level) == sampled
    if levels.edit is not None:
        assert shapes(lambda key, level: levels.edit(key, level, 1), KEY, level) == sampled
    if levels.easy is not None:
        assert shapes(levels.easy, KEY) == sampled
    if levels.numbered is not None:
        assert shapes(levels.numbered, jnp.int32(0)) == sampled
    if levels.vectors is not None:
        low, high = levels.vectors.box
        assert len(low) == len(high)
        assert shapes(levels.vectors.level, KEY, jnp.array(low)) == sampled


def tasks(domain: Domain, level: Any) -> list[tuple[DesignTask, Brief]]:
    """What a teacher could do here, and what it would start from."""
    design, key_data = domain.levels.design, jax.random.key_data(KEY)
    build = [(design.build, Brief(key_data, ()))] if design and design.build else []
    return build + ([(design.edit(3), Brief(key_data, level))] if design and design.edit else [])


def test_a_design_ends_after_its_steps_with_a_level_like_others(domain, level):
    for task, brief in tasks(domain, level):
        actions = np.arange(task.steps)
        if not isinstance(task.action_space, Discrete):
            actions = np.linspace(-1, 1, task.steps * task.action_space.n).reshape(task.steps, -1).astype(np.float32)

        def play(brief: Brief, actions: Any, task: DesignTask = task) -> Any:
            prepared = task.prepare(brief)

            def step(state: Any, action: Any) -> Any:
                state, answer = task.step(KEY, state, action, prepared)
                return state, (answer.done, answer.transition.terminated, answer.reward)

            state, answers = jax.lax.scan(step, task.reset(KEY, prepared)[0], actions)
            return task.level(state), answers

        limit = task.action_space.n if isinstance(task.action_space, Discrete) else None
        designed, (done, terminated, reward) = jax.jit(play)(brief, actions % limit if limit else actions)
        assert types(designed) == types(level)
        assert np.flatnonzero(done).tolist() == np.flatnonzero(terminated).tolist() == [task.steps - 1]
        assert (np.asarray(reward) == 0).all()


def test_different_keys_give_different_levels(domain):
    levels = jax.jit(jax.vmap(domain.levels.sample))(jax.random.split(KEY, 32))
    assert any(len(np.unique(np.asarray(leaf), axis=0)) > 1 for leaf in jax.tree.leaves(levels))


def test_metrics_are_named_scalars(domain, level):
    """Where levels can be measured at all: Procgen's are seeds."""
    metrics = shapes(domain.levels.metrics, level)
    assert all(shape == () for shape, _ in metrics.values())


def test_every_suite_can_be_built_and_an_unknown_one_is_refused(domain):
    for name in domain.suites:
        assert domain.suites[name].tasks
    with pytest.raises(ValueError, match="no-such-suite"):
        domain.suites["no-such-suite"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_preset_goes_with_every_method(name):
    for chosen in ENVIRONMENTS[name].presets:
        for method in built_in():
            settings = preset(name, method, chosen)
            assert (settings.environment, settings.method) == (name, method)
            assert type(settings.env) is type(ENVIRONMENTS[name].presets[chosen].env)
