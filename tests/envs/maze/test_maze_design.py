"""The maze from its teacher's side."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.envs.base import Brief
from tutelage.envs.maze.design import NOISE, MazeDesign, MazeEditing
from tutelage.envs.maze.level import check, from_ascii
from tutelage.envs.maze.space import MazeSpace

SIZE, BLOCKS, EDITS = 5, 6, 3
BUILD, EDIT = MazeDesign(SIZE, BLOCKS), MazeEditing(SIZE, EDITS)
SAMPLE = jax.jit(MazeSpace(SIZE, 10).sample)


def play(task, brief, actions):
    """Every observation and ending, and the level that comes out."""
    prepared = task.prepare(brief)
    state, obs = task.reset(None, prepared)
    seen = [obs]

    def step(state, action):
        return task.step(None, state, action, prepared)

    state, steps = jax.lax.scan(step, state, jnp.asarray(actions, jnp.int32))
    return seen, steps, task.level(state)


PLAY_BUILD = jax.jit(lambda brief, actions: play(BUILD, brief, actions))
PLAY_EDIT = jax.jit(lambda brief, actions: play(EDIT, brief, actions))


def brief(seed, start=()):
    return Brief(jax.random.key_data(jax.random.key(seed)), start)


def cell(x, y):
    return y * SIZE + x


def test_blocks_then_goal_then_agent():
    actions = [cell(0, 0), cell(1, 0), cell(1, 0), cell(2, 2), cell(2, 2), cell(4, 4), cell(3, 3), cell(0, 4)]
    _, steps, level = PLAY_BUILD(brief(0), actions)
    # A block on a block changes nothing: four walls from six blocks.
    assert sorted(zip(*np.nonzero(np.asarray(level.walls).T), strict=True)) == [(0, 0), (1, 0), (2, 2), (4, 4)]
    assert level.goal.tolist() == [3, 3]
    assert level.start.tolist() == [0, 4]
    assert steps.transition.terminated.tolist() == [False] * 7 + [True]
    assert not steps.transition.truncated.any()
    assert not steps.reward.any()


@given(st.integers(0, 2**16), st.lists(st.integers(0, SIZE**2 - 1), min_size=BLOCKS + 2, max_size=BLOCKS + 2))
def test_every_design_is_a_level(seed, actions):
    _, _, level = PLAY_BUILD(brief(seed), actions)
    check(level)
    walls = {(a % SIZE, a // SIZE) for a in actions[:BLOCKS]}
    assert int(level.walls.sum()) == len(walls)
    goal = (actions[-2] % SIZE, actions[-2] // SIZE)
    assert tuple(level.goal.tolist()) == goal or goal in walls


def test_a_taken_cell_sends_goal_and_agent_to_random_free_cells():
    actions = [cell(0, 0)] * BLOCKS + [cell(0, 0), cell(0, 0)]
    goals = {tuple(PLAY_BUILD(brief(seed), actions)[2].goal.tolist()) for seed in range(40)}
    starts = {tuple(PLAY_BUILD(brief(seed), actions)[2].start.tolist()) for seed in range(40)}
    assert len(goals) > 10
    assert len(starts) > 10
    assert (0, 0) not in goals | starts


def test_the_noise_is_random_at_every_step_and_in_every_design():
    actions = [0] * BUILD.steps
    noise = [np.asarray(PLAY_BUILD(brief(seed), actions)[1].obs.noise) for seed in range(3)]
    every = np.concatenate(noise)
    assert every.shape == (3 * BUILD.steps, NOISE)
    assert len(np.unique(every.round(6), axis=0)) == len(every)
    assert every.mean() == pytest.approx(0.5, abs=0.05)
    assert every.min() >= 0
    assert every.max() < 1


def test_a_design_can_be_replayed_from_its_actions():
    actions = jax.random.randint(jax.random.key(3), (BUILD.steps,), 0, SIZE**2)
    first, again = PLAY_BUILD(brief(7), actions)[2], PLAY_BUILD(brief(7), actions)[2]
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


def test_the_teacher_sees_the_whole_maze_in_minigrids_code():
    actions = [cell(1, 0)] * BLOCKS + [cell(2, 2), cell(4, 4)]
    _, steps, level = PLAY_BUILD(brief(0), actions)
    image = np.asarray(steps.obs.image[-1])
    assert image.shape == (SIZE + 2, SIZE + 2, 3)
    assert image[0, 0].tolist() == [2, 5, 0]
    assert image[1, 2].tolist() == [2, 5, 0]  # row 0, column 1, inside the border
    assert image[3, 3].tolist() == [8, 1, 0]
    assert image[5, 5].tolist() == [10, 0, int(level.direction)]
    assert steps.obs.time.tolist() == list(range(1, BUILD.steps + 1))


@given(st.integers(0, 2**16), st.lists(st.integers(0, 2 * SIZE**2 - 1), min_size=EDITS, max_size=EDITS))
def test_every_edit_leaves_a_level(seed, actions):
    start = SAMPLE(jax.random.key(seed))
    _, steps, level = PLAY_EDIT(brief(seed, start), actions)
    check(level)
    assert int(level.direction) == int(start.direction)
    flips = {a for a in actions if a < SIZE**2}
    assert int((level.walls != start.walls).sum()) <= EDITS
    if not any(a >= SIZE**2 for a in actions) and len(flips) == 1:
        (flip,) = flips
        changed = actions.count(flip) % 2 == 1
        assert bool(level.walls.reshape(-1)[flip] != start.walls.reshape(-1)[flip]) == changed
    assert steps.transition.terminated.tolist() == [False] * (EDITS - 1) + [True]


def test_the_goal_can_be_moved_onto_a_wall_and_off_the_agent():
    start = from_ascii("#######\n#>....#\n#.....#\n#..#..#\n#.....#\n#....G#\n#######")
    put = SIZE**2
    _, _, level = PLAY_EDIT(brief(0, start), [put + cell(2, 2), cell(4, 0), cell(4, 1)])
    assert level.goal.tolist() == [2, 2]
    assert not level.walls[2, 2]
    _, _, level = PLAY_EDIT(brief(0, start), [put + cell(0, 0), cell(4, 0), cell(4, 1)])
    assert level.goal.tolist() == [0, 0]
    assert level.start.tolist() != [0, 0]
