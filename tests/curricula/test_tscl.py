"""TSCL: the slope of returns, the bandit over levels, and the windows that it remembers."""

from __future__ import annotations

from collections import deque
from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import UserError, build, override, preset
from tutelage.curricula.tscl import Tscl, TsclState, slope
from tutelage.methods.base import Parts
from tutelage.methods.tscl import TsclSettings, method
from tutelage.settings import BanditSettings, PPOSettings
from tutelage.types import GENERATED, Rollout

SIZE, LEVELS = 6, 4
TEACHER = Tscl(lambda key: 10 * jnp.arange(SIZE), SIZE, LEVELS, window=3, rate=0.5, staleness=0.2)
"""A level is ten times its number."""


def earned(returns: Any) -> Rollout:
    """Episodes of one step."""
    reward = jnp.asarray(returns, jnp.float32)[:, None]
    yes, no = jnp.ones_like(reward, bool), jnp.zeros_like(reward, bool)
    return Rollout((), (), reward, (), reward, reward, reward, terminated=yes, truncated=no, done=yes, first=yes)


def after(progress: list[float], last: list[int], now: int) -> TsclState:
    """A state in which levels have made this progress, and were last played then."""
    state = replace(TEACHER, size=len(progress), window=2).init(jax.random.key(0))
    time = jnp.stack([jnp.array(last), jnp.zeros(len(last), jnp.int32)], axis=1)
    return state._replace(progress=jnp.array(progress), time=time, now=jnp.int32(now))


# --- by hand


def test_the_slope_is_that_of_the_line_through_a_levels_returns():
    time = jnp.array([[7, 1, 4], [0, 0, 0], [5, 0, 0], [2, 3, 0]])
    result = jnp.array([[3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [1.0, -1.0, 5.0]])
    np.testing.assert_allclose(slope(time, result, jnp.int32(8)), [1 / 3, 0, 0, -2], rtol=1e-6)
    late = jnp.where(time > 0, time + 10**8, 0)
    np.testing.assert_allclose(slope(late, result, jnp.int32(10**8 + 8)), [1 / 3, 0, 0, -2], rtol=1e-6)


def test_epsilon_greedy_gives_the_steepest_what_it_does_not_spread():
    teacher = replace(TEACHER, size=4, epsilon=0.2, staleness=0.0)
    state = after([0.5, -2.0, 1.0, 0.0], [3, 3, 3, 3], 4)
    np.testing.assert_allclose(teacher.chances(state), [0.05, 0.85, 0.05, 0.05], rtol=1e-5)
    ties = state._replace(progress=jnp.array([2.0, -2.0, 1.0, 0.0]))
    np.testing.assert_allclose(teacher.chances(ties), [0.45, 0.45, 0.05, 0.05], rtol=1e-5)


def test_boltzmann_weighs_absolute_slopes():
    teacher = replace(TEACHER, size=3, policy="boltzmann", temperature=0.5, staleness=0.0)
    expected = np.exp([2.0, 4.0, 0.0])
    chances = teacher.chances(after([1.0, -2.0, 0.0], [1, 1, 1], 2))
    np.testing.assert_allclose(chances, expected / expected.sum(), rtol=1e-5)


def test_staleness_takes_its_share():
    """Ages of 1, 2 and 5 iterations; the last was never played."""
    teacher = replace(TEACHER, size=3, epsilon=0.0, staleness=0.4)
    chances = teacher.chances(after([0.0, 1.0, 0.0], [4, 3, 0], 5))
    np.testing.assert_allclose(chances, 0.4 * np.array([1, 2, 5]) / 8 + [0, 0.6, 0], rtol=1e-5)


policies = st.sampled_from(["epsilon-greedy", "boltzmann"])
shares = st.floats(0, 1)


@given(policies, shares, shares, st.floats(0.01, 10), st.integers(0, 99))
def test_chances_sum_to_1(policy, epsilon, staleness, temperature, seed):
    rng = np.random.default_rng(seed)
    teacher = replace(TEACHER, policy=policy, epsilon=epsilon, staleness=staleness, temperature=temperature)
    state = after(rng.normal(0, 100, SIZE).tolist(), rng.integers(0, 9, SIZE).tolist(), 9)
    chances = np.asarray(teacher.chances(state))
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    assert (chances >= 0).all()


# --- a student whose returns on one level rise


@pytest.fixture(scope="module")
def compiled():
    return jax.jit(TEACHER.init), jax.jit(TEACHER.propose), jax.jit(TEACHER.observe)


def rising(numbers: np.ndarray, iteration: int) -> np.ndarray:
    return np.where(numbers == 2, 3.0 * iteration, numbers) + np.arange(len(numbers)) / 10


@pytest.fixture(scope="module")
def taught(compiled) -> list[Any]:
    """Each iteration's proposal, what was found out, and the state after it."""
    init, propose, observe = compiled
    state, lesson = init(jax.random.key(0)), []
    for i in range(40):
        k_propose, k_branch, k_observe = jax.random.split(jax.random.key(i), 3)
        state, proposal = propose(k_propose, k_branch, state)
        numbers = np.asarray(proposal.levels[0]) // 10
        state, info = observe(k_observe, state, proposal, earned(rising(numbers, i)[None]), ())
        lesson.append(jax.tree.map(np.asarray, (proposal, info, state)))
    return lesson


def test_windows_and_progress_are_those_of_plain_lists(taught):
    """The same bookkeeping with queues and numpy's own line."""
    windows = [deque(maxlen=3) for _ in range(SIZE)]
    progress = np.ones(SIZE)
    for i, (proposal, info, state) in enumerate(taught):
        numbers = proposal.levels[0] // 10
        returns = rising(numbers, i)
        for level in set(numbers.tolist()):
            windows[level].append((i + 1, returns[numbers == level].mean()))
            times, results = zip(*windows[level], strict=True)
            found = np.polyfit(times, results, 1)[0] if len(times) > 1 else 1.0
            progress[level] = 0.5 * progress[level] + 0.5 * found
        np.testing.assert_allclose(state.progress, progress, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(info.scores[0], np.abs(progress[numbers]), rtol=1e-3, atol=1e-4)
        assert info.metrics["coverage"] == pytest.approx(np.mean([len(window) > 0 for window in windows]))


def test_the_level_whose_returns_rise_is_played_most(taught):
    numbers = np.concatenate([proposal.levels[0] // 10 for proposal, _, _ in taught[10:]])
    # 0.8 of the draws are not for staleness, and half of those are greedy.
    assert 0.4 < (numbers == 2).mean() < 0.7
    assert set(numbers.tolist()) == set(range(SIZE))
    assert all((p.source == GENERATED).all() and p.learn for p, _, _ in taught)


def test_the_same_state_and_keys_give_the_same_lesson(compiled, taught):
    _, propose, observe = compiled
    k_propose, k_branch, k_observe = jax.random.split(jax.random.key(20), 3)
    state, proposal = propose(k_propose, k_branch, taught[19][2])
    rollout = earned(rising(np.asarray(proposal.levels[0]) // 10, 20)[None])
    again = (proposal, *reversed(observe(k_observe, state, proposal, rollout, ())))
    jax.tree.map(np.testing.assert_array_equal, again, taught[20])


# --- settings

CHANGED = {
    "window": 5,
    "rate": 0.5,
    "policy": "boltzmann",
    "epsilon": 0.25,
    "temperature": 2.0,
    "staleness": 0.125,
    "optimism": 3.0,
}


def program(toy: Any, settings: BanditSettings) -> str:
    teacher = method.build(TsclSettings(settings), Parts(toy, 4, 1, PPOSettings(), training_set=8))

    def iterate(key: Any) -> Any:
        state, proposal = teacher.propose(key, key, teacher.init(key))
        return teacher.observe(key, state, proposal, earned(jnp.zeros((1, 4))), ())

    return str(jax.make_jaxpr(iterate)(jax.random.key(0)))


@pytest.mark.parametrize("name", [field.name for field in fields(BanditSettings)])
def test_every_bandit_setting_changes_the_program(toy, name):
    base = BanditSettings(policy="boltzmann" if name == "temperature" else "epsilon-greedy")
    assert program(toy, base) != program(toy, replace(base, **{name: CHANGED[name]}))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"window": 1}, "bandit.window is 1; a slope needs at least 2 returns"),
        ({"rate": 2.0}, "bandit.rate is 2.0; give a number greater than 0 and at most 1"),
        ({"epsilon": -0.1}, "bandit.epsilon is -0.1; it is a probability"),
        ({"staleness": 1.5}, "bandit.staleness is 1.5; it is a probability"),
        ({"temperature": 0.0}, "bandit.temperature is 0.0; give a number greater than 0"),
        ({"optimism": -1.0}, "bandit.optimism is -1.0; give 0 or more"),
    ],
)
def test_a_bandit_that_cannot_be_is_refused(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        BanditSettings(**settings)


def test_levels_without_end_are_refused():
    with pytest.raises(UserError, match="train.training_set is 0, and TSCL follows .* give it a size, such as 200"):
        build(override(preset("maze", "tscl"), {"train.training_set": "0"}))
