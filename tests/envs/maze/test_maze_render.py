"""Pictures of mazes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.maze.env import HeldOutMaze, MazeState, Trial
from tutelage.envs.maze.level import from_ascii, pad, to_ascii
from tutelage.envs.maze.render import AGENT, FLOOR, GOAL, TRAIL, WALL, frames, picture, shown
from tutelage.envs.maze.space import MazeSpace

LEVEL = from_ascii("######\n#>..G#\n#.##.#\n######")


def middle(drawn: np.ndarray, x: int, y: int, cell: int) -> tuple[int, ...]:
    """The colour at the centre of an interior cell."""
    return tuple(map(int, drawn[(y + 1) * cell + cell // 2, (x + 1) * cell + cell // 2]))


def test_every_cell_has_its_colour() -> None:
    drawn = picture(LEVEL, cell=16)
    assert (drawn.shape, drawn.dtype) == ((4 * 16, 6 * 16, 3), np.uint8)
    seen = {cell: middle(drawn, *cell, 16) for cell in ((0, 0), (1, 0), (3, 0), (1, 1), (-1, 0))}
    assert seen == {(0, 0): AGENT, (1, 0): FLOOR, (3, 0): GOAL, (1, 1): WALL, (-1, 0): WALL}


@pytest.mark.parametrize(("direction", "tip"), [*enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)])])
def test_the_agent_points_where_it_looks(direction: int, tip: tuple[int, int]) -> None:
    """The half of the triangle with the tip has less of it."""
    cell = 20
    level = LEVEL._replace(direction=np.asarray(direction, np.int32))
    own = picture(level, cell=cell)[cell : 2 * cell, cell : 2 * cell]
    red = (own[..., 0] > 150) & (own[..., 1] < 120)
    rows, columns = np.nonzero(red)
    leaning = np.array([columns.mean(), rows.mean()]) - (cell - 1) / 2
    assert leaning @ np.array(tip) < -0.5


def test_a_picture_is_about_as_wide_as_a_caption() -> None:
    sizes = {side: picture(MazeSpace(side, 5).sample(jax.random.key(0))).shape for side in (5, 13, 60)}
    assert sizes == {5: (175, 175, 3), 13: (180, 180, 3), 60: (248, 248, 3)}


def walk(positions: list[tuple[int, int]], directions: list[int]) -> MazeState:
    """As a recorded episode has them. Pictures need neither grid nor time."""
    unused: Any = None
    return MazeState(jnp.array(positions), jnp.array(directions), unused)


def test_frames_show_the_agent_its_view_and_where_it_has_been() -> None:
    drawn = list(frames(LEVEL, walk([(0, 0), (1, 0), (2, 0), (2, 0)], [0, 0, 0, 1]), view=3, cell=16))
    assert [frame.shape for frame in drawn] == [(4 * 16, 6 * 16, 3)] * 4
    assert [middle(frame, 1, 0, 16) == TRAIL for frame in drawn] == [False, False, True, True]
    assert [middle(frame, 2, 0, 16) == AGENT for frame in drawn] == [False, False, True, True]
    assert [middle(frame, 3, 1, 16) == FLOOR for frame in drawn] == [True, False, False, False]  # in view


def test_large_mazes_have_small_frames() -> None:
    for side, size in ((9, 11 * 24), (19, 21 * 24), (49, 51 * 9)):
        level = MazeSpace(side, 5).sample(jax.random.key(0))
        (frame,) = frames(level, walk([(0, 0)], [0]))
        assert frame.shape == (size, size, 3)


def test_of_a_held_out_maze_the_padding_is_left_out() -> None:
    trial = Trial(pad(LEVEL, 9), jnp.int32(7), jnp.bool_(True))
    jax.tree.map(np.testing.assert_array_equal, shown(trial), LEVEL)
    assert to_ascii(shown(trial)) == to_ascii(LEVEL)
    np.testing.assert_array_equal(picture(trial), picture(LEVEL))
    env = HeldOutMaze()
    state, _ = env.reset(jax.random.key(0), env.prepare(trial))
    (frame,) = frames(trial, jax.tree.map(lambda x: x[None], state))
    assert frame.shape == (4 * 24, 6 * 24, 3)
