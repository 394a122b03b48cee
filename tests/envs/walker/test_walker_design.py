"""The walker from its teacher's side."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.envs.base import Brief, Continuous
from tutelage.envs.walker.design import NOISE, DesignEncoder, WalkerDesign
from tutelage.envs.walker.level import check
from tutelage.envs.walker.space import WalkerSpace

TASKS = {n: WalkerDesign(WalkerSpace(stairs=n == 8)) for n in (8, 5)}


def play(task, brief, actions):
    prepared = task.prepare(brief)
    state, first = task.reset(None, prepared)
    state, steps = jax.lax.scan(lambda state, action: task.step(None, state, action, prepared), state, actions)
    return first, steps, task.level(state)


PLAY = {n: jax.jit(lambda brief, actions, task=task: play(task, brief, actions)) for n, task in TASKS.items()}


def design(size, seed, actions):
    brief = Brief(jax.random.key_data(jax.random.key(seed)), ())
    return PLAY[size](brief, jnp.asarray(actions, jnp.float32)[:, None])


@given(st.sampled_from([8, 5]), st.integers(0, 2**16), st.data())
def test_every_design_is_a_level(size, seed, data):
    actions = data.draw(st.lists(st.floats(-2, 2, width=32), min_size=size, max_size=size))
    _, steps, level = design(size, seed, actions)
    check(jax.tree.map(np.asarray, level))
    assert steps.transition.terminated.tolist() == [False] * (size - 1) + [True]
    assert not steps.transition.truncated.any()
    assert not steps.reward.any()


def test_an_action_is_a_place_between_a_parameters_ends():
    level = design(8, 0, [-1, -1, 1, -0.5, 0.5, 1, 0, -0.5])[2]
    assert np.asarray(level.parameters) == pytest.approx([0, 0, 10, 1.25, 3.75, 2.5, 5, 3])
    level = design(5, 0, [0, 1, -1, 1, 0])[2]
    assert np.asarray(level.parameters) == pytest.approx([5, 0, 10, 2.5, 5, 0, 0, 1])
    assert TASKS[8].action_space == Continuous(1)
    assert (TASKS[8].steps, TASKS[5].steps) == (8, 5)


def test_the_teacher_sees_what_it_has_done_and_new_noise_at_every_step():
    first, steps, _ = design(8, 0, np.linspace(-0.7, 0.7, 8))
    assert not first.point.any()
    assert steps.obs.point[2].tolist() == pytest.approx([-0.7, -0.5, -0.3, 0, 0, 0, 0, 0])
    assert steps.obs.time.tolist() == list(range(1, 9))
    noise = np.concatenate([np.asarray(design(8, seed, np.zeros(8))[1].obs.noise) for seed in range(3)])
    assert noise.shape == (24, NOISE)
    assert len(np.unique(noise.round(6), axis=0)) == 24
    assert noise.mean() == pytest.approx(0.5, abs=0.06)


def test_seeds_are_the_briefs_and_a_design_can_be_replayed():
    seeds = [int(design(8, seed, np.zeros(8))[2].seed) for seed in (0, 1, 2, 0)]
    assert seeds[0] == seeds[3]
    assert len(set(seeds)) == 3


def test_the_encoder_puts_all_numbers_side_by_side():
    _, steps, _ = design(8, 0, np.ones(8))
    seen = DesignEncoder(8).apply({}, steps.obs)
    assert seen.shape == (8, 8 + 1 + NOISE)
    assert seen[:, 8].tolist() == pytest.approx(np.arange(1, 9) / 8)
