"""ALP-GMM: how progress is measured, when Gaussians are fitted, and where levels then come from."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import UserError, build, override, preset
from tutelage.curricula.alp_gmm import AlpGmm, History, absolute_progress, chances
from tutelage.curricula.mixture import Mixture
from tutelage.envs.base import Box, Vectors
from tutelage.methods.alp_gmm import AlpGmmSettings, method
from tutelage.methods.base import Parts
from tutelage.settings import MixtureSettings, PPOSettings
from tutelage.types import GENERATED, Rollout

LOW, HIGH = (-1.0, 0.0), (1.0, 10.0)
VECTORS = Vectors(Box(LOW, HIGH), lambda key, vector: vector)
"""A level is its vector."""
TEACHER = AlpGmm(VECTORS, levels=20, fit_every=100, most=4, history=300)


def earned(returns: Any) -> Rollout:
    """Episodes of one step."""
    reward = jnp.asarray(returns, jnp.float32)[:, None]
    yes, no = jnp.ones_like(reward, bool), jnp.zeros_like(reward, bool)
    return Rollout((), (), reward, (), reward, reward, reward, terminated=yes, truncated=no, done=yes, first=yes)


# --- progress


def test_progress_is_the_distance_from_the_return_of_the_nearest_level_before():
    history = History(jnp.array([[0.2], [0.9], [0.2], [0.0]]), jnp.array([3.0, 5.0, 9.0, 7.0]), jnp.zeros(4))
    points, returns = jnp.array([[0.3], [0.2], [0.8], [0.0]]), jnp.array([1.0, 4.0, 6.0, 3.0])
    # The first two are nearest to 0.2, of which the newest earned 3; the place at 0.0 is still empty.
    assert absolute_progress(points, returns, history, jnp.int32(3)).tolist() == [2, 1, 1, 0]
    assert absolute_progress(points, returns, history, jnp.int32(9)).tolist() == [2, 1, 1, 4]
    assert absolute_progress(points, returns, history, jnp.int32(0)).tolist() == [0, 0, 0, 0]


def test_gaussians_are_chosen_in_proportion_to_their_mean_progress():
    mean = jnp.array([[0.5, 0.1], [0.2, 0.3], [0.7, 0.9]])
    mixture = Mixture(jnp.array([0.8, 0.2, 0.0]), mean, jnp.zeros((3, 2, 2)))
    np.testing.assert_allclose(chances(mixture), [0.25, 0.75, 0], rtol=1e-6)
    nothing_moves = mixture._replace(mean=mean.at[:, 1].set(0.0))
    np.testing.assert_allclose(chances(nothing_moves), [0.5, 0.5, 0], rtol=1e-6)


# --- a student that learns on a part of the box only


def practised(vectors: np.ndarray, iteration: int) -> np.ndarray:
    """Returns that rise on a quarter of the box, and are those of the place elsewhere."""
    rising = (vectors[:, 0] > 0) & (vectors[:, 1] < 5)
    return np.where(rising, 0.1 * iteration, 0.01 * vectors[:, 1])


@pytest.fixture(scope="module")
def compiled():
    return jax.jit(TEACHER.init), jax.jit(TEACHER.propose), jax.jit(TEACHER.observe)


@pytest.fixture(scope="module")
def taught(compiled) -> list[Any]:
    """Each iteration's proposal, what was found out, and the state after it."""
    init, propose, observe = compiled
    state, lesson = init(jax.random.key(0)), []
    for i in range(30):
        k_propose, k_branch, k_observe = jax.random.split(jax.random.key(i), 3)
        state, proposal = propose(k_propose, k_branch, state)
        rollout = earned(practised(np.asarray(proposal.levels[0]), i)[None])
        state, info = observe(k_observe, state, proposal, rollout, ())
        lesson.append(jax.tree.map(np.asarray, (proposal, info, state)))
    return lesson


def test_levels_come_to_lie_where_returns_change(taught):
    vectors = np.concatenate([proposal.levels[0] for proposal, _, _ in taught])
    rising = (vectors[:, 0] > 0) & (vectors[:, 1] < 5)
    assert rising[:100].mean() == pytest.approx(0.25, abs=0.1), "before the first fit they are random"
    # A fifth stays random, so that at most 0.85 can lie there.
    assert rising[200:].mean() > 0.6


def test_levels_are_of_the_box_and_all_are_learned_from(taught):
    for proposal, _, _ in taught:
        assert ((proposal.levels >= LOW) & (proposal.levels <= HIGH)).all()
        assert (proposal.source == GENERATED).all()
        assert proposal.learn


def test_gaussians_are_fitted_once_in_so_many_levels(taught):
    fits = [i for i, (_, info, _) in enumerate(taught) if np.isfinite(info.metrics["mixture/gaussians"])]
    assert fits == [4, 9, 14, 19, 24, 29]
    for i in range(1, 30):
        same = jax.tree.map(np.array_equal, taught[i - 1][2].mixture, taught[i][2].mixture)
        assert all(same) == (i not in fits)
    assert not taught[3][2].mixture.used.any()


def test_the_history_is_of_the_last_levels_newest_first(taught):
    history = taught[-1][2].history
    assert len(history.result) == 300
    for age in range(15):
        proposal, info, _ = taught[-1 - age]
        here = slice(20 * age, 20 * age + 20)
        np.testing.assert_allclose(history.point[here] * [2, 10] + LOW, proposal.levels[0], atol=1e-5)
        np.testing.assert_array_equal(history.result[here], info.returns[0])
        np.testing.assert_array_equal(history.progress[here], info.scores[0])


def test_the_same_state_and_keys_give_the_same_lesson(compiled, taught):
    """All there is to it is in the state: what is stored and read back goes on as it was."""
    _, propose, observe = compiled
    k_propose, k_branch, k_observe = jax.random.split(jax.random.key(24), 3)
    state, proposal = propose(k_propose, k_branch, taught[23][2])
    rollout = earned(practised(np.asarray(proposal.levels[0]), 24)[None])
    again = (proposal, *reversed(observe(k_observe, state, proposal, rollout, ())))
    jax.tree.map(np.testing.assert_array_equal, again, taught[24])


@given(st.integers(0, 2**31 - 1), st.floats(0, 3), st.lists(st.booleans(), min_size=4, max_size=4).filter(any))
def test_whatever_was_fitted_levels_are_of_the_box_and_chances_sum_to_1(compiled, seed, spread, used):
    rng = np.random.default_rng(seed)
    weight = np.array(used, np.float32) / sum(used)
    mean = rng.uniform(0, 1, (4, 3)).astype(np.float32) * rng.integers(0, 2, (4, 1))
    factor = (spread * np.tril(rng.normal(size=(4, 3, 3)))).astype(np.float32)
    state = compiled[0](jax.random.key(0))._replace(seen=jnp.int32(100), mixture=Mixture(weight, mean, factor))
    probabilities = np.asarray(chances(Mixture(*map(jnp.asarray, (weight, mean, factor)))))
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert (probabilities[~np.array(used)] == 0).all()
    vectors = np.asarray(compiled[1](jax.random.key(seed), jax.random.key(0), state)[1].levels)
    assert ((vectors >= LOW) & (vectors <= HIGH)).all()


# --- settings


CHANGED = {"fit_every": 60, "explore": 0.5, "fewest": 3, "most": 5, "history": 80}


def program(toy: Any, settings: MixtureSettings) -> str:
    domain = replace(toy, levels=replace(toy.levels, vectors=VECTORS))
    teacher = method.build(AlpGmmSettings(settings), Parts(domain, 4, 1, PPOSettings()))

    def iterate(key: Any) -> Any:
        state, proposal = teacher.propose(key, key, teacher.init(key))
        return teacher.observe(key, state, proposal, earned(jnp.zeros((1, 4))), ())

    return str(jax.make_jaxpr(iterate)(jax.random.key(0)))


def test_every_mixture_setting_changes_the_program(toy):
    base = MixtureSettings(fit_every=50, most=4, history=70)
    programs = [program(toy, replace(base, **{field.name: CHANGED[field.name]})) for field in fields(base)]
    assert len({program(toy, base), *programs}) == 1 + len(CHANGED)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"explore": 1.2}, "mixture.explore is 1.2; it is a probability"),
        ({"fewest": 0}, "mixture.fewest is 0; give a number greater than 0"),
        ({"most": 1}, "mixture.most is 1, less than mixture.fewest, which is 2; give at least 2"),
        ({"fit_every": 9}, "mixture.fit_every is 9, less than mixture.most, which is 10"),
        ({"history": 249}, "mixture.history is 249, less than mixture.fit_every, which is 250"),
    ],
)
def test_a_mixture_that_cannot_be_is_refused(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        MixtureSettings(**settings)


def test_levels_that_are_not_vectors_and_levels_that_are_given_are_refused():
    with pytest.raises(UserError, match="no levels that are vectors.* choose a method that needs none"):
        build(preset("maze", "alp-gmm"))
    with pytest.raises(UserError, match="train.training_set is 64, and ALP-GMM draws every level anew"):
        build(override(preset("matrix", "alp-gmm"), {"train.training_set": "64"}))
    with pytest.raises(UserError, match="do not go together"):
        AlpGmm(VECTORS, levels=4, fit_every=5, most=10)
