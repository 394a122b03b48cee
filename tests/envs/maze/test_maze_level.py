"""Mazes as text, and what is refused."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.envs.maze.level import MazeLevel, check, crop, from_ascii, pad, to_ascii
from tutelage.envs.maze.space import MazeSpace
from tutelage.errors import UserError

SMALL = """
#####
#v.##
#.#G#
#...#
#####
"""


def equal(a: MazeLevel, b: MazeLevel) -> bool:
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b, strict=True))


@st.composite
def mazes(draw: st.DrawFn) -> MazeLevel:
    height, width = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    start, goal = draw(st.lists(st.integers(0, height * width - 1), min_size=2, max_size=2, unique=True))
    walls = np.array(draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width)))
    walls[[start, goal]] = False
    start, goal = (np.array([cell % width, cell // width], np.int32) for cell in (start, goal))
    return MazeLevel(walls.reshape(height, width), start, np.asarray(draw(st.integers(0, 3)), np.int32), goal)


def test_reads_what_is_drawn() -> None:
    level = from_ascii(SMALL)
    assert level.walls.tolist() == [[False, False, True], [False, True, False], [False, False, False]]
    assert (level.start.tolist(), int(level.direction), level.goal.tolist()) == ([0, 0], 1, [2, 1])
    assert to_ascii(level) == SMALL.strip()


@settings(deadline=None, max_examples=50)
@given(mazes())
def test_text_round_trip(level: MazeLevel) -> None:
    check(level)
    assert equal(from_ascii(to_ascii(level)), level)


def test_plain_start_takes_the_given_direction() -> None:
    text = SMALL.replace("v", "S")
    assert int(from_ascii(text).direction) == 0
    assert int(from_ascii(text, direction=3).direction) == 3


def test_read_and_generated_levels_are_alike() -> None:
    drawn, generated = from_ascii(SMALL), MazeSpace(3, 2).sample(jax.random.key(0))
    assert [(a.shape, a.dtype) for a in drawn] == [(a.shape, a.dtype) for a in generated]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "too small"),
        ("###\n###", "too small"),
        ("####\n#SG#\n###", "Row 3 .* 3 characters .* row 1 is 4"),
        ("#####\n#SxG#\n#####", "Row 2, column 3 .* 'x'.*Allowed"),
        ("##.##\n#S.G#\n#####", "Row 1, column 3 .* outer ring"),
        ("#####\n#S..#\n#####", "0 goals.*exactly one"),
        ("#####\n#G..#\n#####", "0 starts"),
        ("#####\n#S>G#\n#####", "2 starts, row 2 column 2, row 2 column 3"),
        ("#####\n#SGG#\n#####", "2 goals"),
    ],
)
def test_malformed_text_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        from_ascii(text)


def test_wrong_direction_is_refused() -> None:
    with pytest.raises(UserError, match="direction is 4"):
        from_ascii(SMALL, direction=4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"walls": np.zeros((3, 3), np.int32)}, "bool"),
        ({"walls": np.zeros((2, 3, 3), bool)}, "one level"),
        ({"start": np.array([3, 0])}, "start is at x=3, y=0, outside .* 0 to 2"),
        ({"goal": np.array([0, -1])}, "goal .* outside"),
        ({"goal": np.array([1, 1])}, "inside a wall"),
        ({"start": np.array([2, 1])}, "both at x=2, y=1"),
        ({"start": np.array([0.0, 1.0])}, "whole numbers"),
        ({"direction": np.array(7)}, "direction is 7"),
    ],
)
def test_malformed_level_is_refused(change: dict[str, np.ndarray], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        check(from_ascii(SMALL)._replace(**change))


@settings(deadline=None, max_examples=20)
@given(mazes())
def test_padding_adds_walls_only(level: MazeLevel) -> None:
    padded = pad(level, 7)
    check(padded)
    assert padded.walls.shape == (7, 7)
    height, width = level.walls.shape
    assert np.array_equal(padded.walls[:height, :width], level.walls)
    assert int(padded.walls.sum()) == level.walls.sum() + 49 - height * width
    assert equal(crop(padded), crop(level))


def test_padding_to_less_is_refused() -> None:
    with pytest.raises(UserError, match="does not fit into 2x2"):
        pad(from_ascii(SMALL), 2)
