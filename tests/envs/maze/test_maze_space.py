"""Drawing, editing and measuring mazes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tutelage.envs.maze.domain import build
from tutelage.envs.maze.env import FORWARD, LEFT, RIGHT, STEPS
from tutelage.envs.maze.level import MazeLevel, check, from_ascii
from tutelage.envs.maze.settings import MazeSettings
from tutelage.envs.maze.space import (
    MazeSpace,
    SolvableMazes,
    edit,
    fewest_actions,
    place,
    random_free_cell,
    shortest_path,
)
from tutelage.errors import UserError

seeds = st.integers(0, 2**31 - 1)


@cache
def compiled(name: str, space: MazeSpace, *static: int) -> Callable:
    """Compiled once, not once an example: 64 keys at a time."""
    method = getattr(space, name)
    return jax.jit(jax.vmap(lambda key: method(key, *static)))


@cache
def editor(edits: int, rule: str = "flip") -> Callable:
    change = {"flip": edit, "place": place}[rule]
    return jax.jit(jax.vmap(lambda key, level: change(key, level, edits)))


def draw(name: str, space: MazeSpace, seed: int, *static: int, count: int = 64) -> MazeLevel:
    return jax.device_get(compiled(name, space, *static)(jax.random.split(jax.random.key(seed), count)))


def each(levels: MazeLevel) -> list[MazeLevel]:
    return [jax.tree.map(lambda leaf, i=i: leaf[i], levels) for i in range(len(levels.direction))]


def same(a: MazeLevel, b: MazeLevel) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def breadth_first(level: MazeLevel) -> int:
    """The shortest path, plainly."""
    height, width = level.walls.shape
    start, goal = tuple(map(int, level.start)), tuple(map(int, level.goal))
    distance, queue = {start: 0}, deque([start])
    while queue:
        x, y = queue.popleft()
        for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if 0 <= a < width and 0 <= b < height and not level.walls[b, a] and (a, b) not in distance:
                distance[a, b] = distance[x, y] + 1
                queue.append((a, b))
    return distance.get(goal, -1)


@settings(deadline=None, max_examples=20)
@given(seeds, st.sampled_from([MazeSpace(), MazeSpace(3, 7, "fixed"), MazeSpace(2, 2)]))
def test_samples_are_well_formed(seed: int, space: MazeSpace) -> None:
    for level in each(draw("sample", space, seed)):
        check(level)
        assert level.walls.shape == (space.size, space.size)
        assert level.walls.sum() <= space.blocks


def test_budget_of_blocks() -> None:
    """A taken cell is a no-op, so a fixed budget of n on N cells leaves N (1 - (1 - 1/N)^n) walls on average."""
    fixed = draw("sample", MazeSpace(13, 60, "fixed"), 0, count=2000).walls.sum((1, 2))
    assert fixed.mean() == pytest.approx(169 * (1 - (1 - 1 / 169) ** 60), abs=0.3)
    uniform = draw("sample", MazeSpace(13, 60), 0, count=2000).walls.sum((1, 2))
    expected = np.mean([169 * (1 - (1 - 1 / 169) ** n) for n in range(61)])
    assert uniform.mean() == pytest.approx(expected, abs=1.2)
    assert uniform.min() == 0


def test_start_goal_and_direction_are_uniform() -> None:
    levels = draw("sample", MazeSpace(3, 0), 2, count=8000)
    for cell in (levels.start, levels.goal):
        counts = np.bincount(cell[:, 1] * 3 + cell[:, 0], minlength=9) / 8000
        assert np.abs(counts - 1 / 9).max() < 0.02
    assert np.abs(np.bincount(levels.direction, minlength=4) / 8000 - 1 / 4).max() < 0.025


def test_random_free_cell_is_uniform_over_free_cells() -> None:
    free = jnp.array([[True, False, True], [False, False, True]])
    cells = jax.vmap(lambda key: random_free_cell(key, free))(jax.random.split(jax.random.key(0), 6000))
    counts = np.bincount(np.asarray(cells[:, 1] * 3 + cells[:, 0]), minlength=6) / 6000
    assert np.abs(counts - np.array([1, 0, 1, 0, 0, 1]) / 3).max() < 0.03


def test_empty_and_solvable() -> None:
    space = MazeSpace(6, 30, "fixed")
    assert not draw("empty", space, 0).walls.any()
    assert hash(SolvableMazes(space)) == hash(SolvableMazes(MazeSpace(6, 30, "fixed")))
    assert all(breadth_first(level) > 0 for level in each(draw("sample_solvable", space, 0)))
    assert any(breadth_first(level) < 0 for level in each(draw("sample", space, 0)))


def test_same_key_same_level() -> None:
    space = MazeSpace()
    first, again, other = (draw("sample", space, seed) for seed in (5, 5, 6))
    assert same(first, again)
    assert not same(first, other)


SPACES = {2: MazeSpace(2, 2), 3: MazeSpace(3, 7, "fixed"), 13: MazeSpace()}


@settings(deadline=None, max_examples=40)
@given(seeds, st.sampled_from([(2, 1), (2, 2), (3, 9), (13, 5)]))
@example(0, (2, 2))
def test_an_edit_changes_the_level_and_keeps_it_well_formed(seed: int, case: tuple[int, int]) -> None:
    size, edits = case
    levels = draw("sample", SPACES[size], seed)
    edited = jax.device_get(editor(edits)(jax.random.split(jax.random.key(seed ^ 1), 64), levels))
    for before, after in zip(each(levels), each(edited), strict=True):
        check(after)
        assert not same(before, after)
        assert after.direction == before.direction
        assert (before.walls != after.walls).sum() <= edits
        assert [(leaf.shape, leaf.dtype) for leaf in after] == [(leaf.shape, leaf.dtype) for leaf in before]


@pytest.mark.parametrize("text", ["####\n#>G#\n####", "###\n#v#\n#G#\n###"])
@pytest.mark.parametrize("edits", [1, 2])
def test_with_no_room_start_and_goal_swap(text: str, edits: int) -> None:
    level = from_ascii(text)
    levels = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (64, *leaf.shape)), level)
    after = jax.device_get(editor(edits)(jax.random.split(jax.random.key(0), 64), levels))
    assert not after.walls.any()
    assert (after.start == level.goal).all()
    assert (after.goal == level.start).all()


def test_what_one_edit_does() -> None:
    """One cell of nine: a flip in two of three, a goal in one of three, the displaced one elsewhere."""
    level = from_ascii("#####\n#>..#\n#.#.#\n#..G#\n#####")
    count = 9000
    levels = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), level)
    edited = jax.device_get(editor(1)(jax.random.split(jax.random.key(0), count), levels))
    flips = (edited.walls != level.walls).reshape(count, 9)
    # The centre is a wall: a flip and a goal both remove it. The goal's own cell can only be flipped.
    expected = np.full(9, 2 / 27)
    expected[[4, 8]] = 1 / 9
    assert np.abs(flips.mean(0) - expected).max() < 0.015
    # The goal goes to any of seven free cells and to the centre by an edit, and elsewhere when its cell becomes a wall.
    moved = (edited.goal != level.goal).any(1)
    assert moved.mean() == pytest.approx(8 / 27 + 1 / 9, abs=0.02)
    # The start is displaced by either kind of edit on its cell. A goal put there leaves it the other seven free cells.
    assert (edited.start != level.start).any(1).mean() == pytest.approx(1 / 9, abs=0.015)
    # What stands where it stood is left alone.
    walled = flips[:, 8]
    assert (edited.start[walled] == level.start).all()
    assert len(np.unique(edited.goal[walled], axis=0)) == 6
    walled = flips[:, 0]
    assert (edited.goal[walled] == level.goal).all()
    assert len(np.unique(edited.start[walled], axis=0)) == 6


@settings(deadline=None, max_examples=40)
@given(seeds, st.sampled_from([(2, 1), (2, 9), (3, 9), (13, 5)]))
def test_placing_keeps_levels_well_formed(seed: int, case: tuple[int, int]) -> None:
    size, edits = case
    levels = draw("sample", SPACES[size], seed)
    edited = jax.device_get(editor(edits, "place")(jax.random.split(jax.random.key(seed ^ 1), 64), levels))
    for before, after in zip(each(levels), each(edited), strict=True):
        check(after)
        assert after.direction == before.direction
        assert (before.walls != after.walls).sum() <= edits
        assert [(leaf.shape, leaf.dtype) for leaf in after] == [(leaf.shape, leaf.dtype) for leaf in before]


def test_what_placing_once_does() -> None:
    """One cell of nine: a wall, nothing or the goal, a third each, so that many a time nothing changes."""
    level = from_ascii("#####\n#>..#\n#.#.#\n#..G#\n#####")
    count = 9000
    levels = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), level)
    edited = jax.device_get(editor(1, "place")(jax.random.split(jax.random.key(0), count), levels))
    flips = (edited.walls != level.walls).reshape(count, 9)
    # A free cell becomes a wall in one case of three; the wall in the centre goes with nothing and with the goal.
    expected = np.full(9, 1 / 27)
    expected[4] = 2 / 27
    assert np.abs(flips.mean(0) - expected).max() < 0.01
    # The goal goes to eight cells, and elsewhere where its own becomes a wall.
    goal_moved, start_moved = (edited.goal != level.goal).any(1), (edited.start != level.start).any(1)
    assert goal_moved.mean() == pytest.approx(8 / 27 + 1 / 27, abs=0.02)
    assert len(np.unique(edited.goal[goal_moved], axis=0)) == 8
    # The start makes room for a wall and for the goal.
    assert start_moved.mean() == pytest.approx(2 / 27, abs=0.01)
    # Nothing on eight free cells, a wall on the wall and the goal on the goal change nothing.
    assert (flips.any(1) | goal_moved | start_moved).mean() == pytest.approx(17 / 27, abs=0.02)


def test_placing_later_overwrites_earlier() -> None:
    """In a maze of two cells no wall has room; the goal ends where it was put last, and the start on the other."""
    level = from_ascii("####\n#>G#\n####")
    levels = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (900, *leaf.shape)), level)
    after = jax.device_get(editor(2, "place")(jax.random.split(jax.random.key(0), 900), levels))
    assert not after.walls.any()
    swapped = (after.goal == level.start).all(1)
    assert (after.start[swapped] == level.goal).all()
    assert same(*[jax.tree.map(lambda leaf: leaf[~swapped], tree) for tree in (levels, after)])
    # The last goal is put on the start: by the second edit, or by the first and the second puts none.
    assert swapped.mean() == pytest.approx(1 / 6 + 1 / 6 * 2 / 3, abs=0.05)


def test_the_rule_of_edits_is_the_one_that_is_set() -> None:
    level = MazeSpace(5, 6).sample(jax.random.key(0))
    for rule, function in (("flip", edit), ("place", place)):
        edited = MazeSpace(5, 6, edit_rule=rule).edit(jax.random.key(1), level, 3)
        assert same(jax.device_get(edited), jax.device_get(function(jax.random.key(1), level, 3)))
    with pytest.raises(UserError, match="edits is 0"):
        place(jax.random.key(0), level, 0)


@pytest.mark.parametrize("edits", [0, 170])
def test_impossible_numbers_of_edits_are_refused(edits: int) -> None:
    with pytest.raises(UserError, match=f"edits is {edits}"):
        MazeSpace().edit(jax.random.key(0), MazeSpace().empty(jax.random.key(0)), edits)


@settings(deadline=None, max_examples=10)
@given(seeds, st.sampled_from([MazeSpace(13, 100, "fixed"), MazeSpace(34, 450, "fixed")]))
def test_shortest_path_is_that_of_a_plain_search(seed: int, space: MazeSpace) -> None:
    """A row of the narrow kind is one word of bits, of the wide one two."""
    levels = draw("sample", space, seed, count=16)
    expected = np.array([breadth_first(level) for level in each(levels)])
    assert np.array_equal(paths(levels), expected)
    metrics = measures(levels)
    assert np.array_equal(metrics["path"], np.maximum(expected, 0))
    assert np.array_equal(metrics["solvable"], expected >= 0)
    assert np.array_equal(metrics["blocks"], levels.walls.sum((1, 2)))
    assert {leaf.dtype for leaf in metrics.values()} == {jnp.dtype("float32")}


paths = jax.jit(jax.vmap(shortest_path))
measures = jax.jit(jax.vmap(MazeSpace().metrics))


def actions_by_search(level: MazeLevel) -> list[int] | None:
    """The fewest actions to the goal, turns included, by a search that plays the rules in Python."""
    height, width = level.walls.shape
    begin = (int(level.start[0]), int(level.start[1]), int(level.direction))
    ways: dict[tuple[int, int, int], list[int]] = {begin: []}
    queue = [begin]
    for x, y, facing in queue:
        way = ways[x, y, facing]
        if (x, y) == (int(level.goal[0]), int(level.goal[1])):
            return way
        ahead = (x + STEPS[facing][0], y + STEPS[facing][1])
        inside = 0 <= ahead[0] < width and 0 <= ahead[1] < height and not level.walls[ahead[1], ahead[0]]
        reachable = [((x, y, (facing - 1) % 4), LEFT), ((x, y, (facing + 1) % 4), RIGHT)]
        for state, action in reachable + ([((*map(int, ahead), facing), FORWARD)] if inside else []):
            if state not in ways:
                ways[state] = [*way, action]
                queue.append(state)
    return None


actions = jax.jit(jax.vmap(fewest_actions))


@settings(deadline=None, max_examples=6)
@given(seeds, st.sampled_from([MazeSpace(13, 100, "fixed"), MazeSpace(34, 450, "fixed")]))
def test_fewest_actions_are_those_of_a_plain_search(seed: int, space: MazeSpace) -> None:
    levels = draw("sample", space, seed, count=8)
    searched = [actions_by_search(level) for level in each(levels)]
    assert actions(levels).tolist() == [-1 if way is None else len(way) for way in searched]


@pytest.mark.parametrize("reward", ["minigrid", "appendix"])
@pytest.mark.parametrize("limit", [20, 250])
def test_the_optimum_is_what_the_shortest_way_earns(reward: Any, limit: int) -> None:
    """Played in the environment: no more is possible, and nothing where the way is too long or there is none."""
    room = build(MazeSettings(size=7, blocks=24, block_count="fixed", max_steps=limit, reward=reward))
    levels = draw("sample", MazeSpace(7, 24, "fixed"), 3, count=24)
    best, step = jax.jit(jax.vmap(room.rules.optimum))(levels), jax.jit(room.env.step)
    ways = [actions_by_search(level) for level in each(levels)]
    assert any(way is None for way in ways)
    assert any(way is not None and len(way) > 20 for way in ways) or limit > 20
    for level, way, optimum in zip(each(levels), ways, best, strict=True):
        prepared = room.env.prepare(level)
        earned, state = 0.0, room.env.reset(jax.random.key(0), prepared)[0]
        for action in (way or [])[:limit]:
            state, timestep = step(jax.random.key(0), state, jnp.int32(action), prepared)
            earned += float(timestep.reward)
        assert float(optimum) == pytest.approx(earned)


@pytest.mark.parametrize("width", [31, 32, 33, 64, 65, 97])
def test_shortest_path_at_the_width_of_a_word(width: int) -> None:
    level = from_ascii("\n".join(["#" * (width + 2), "#>" + "." * (width - 2) + "G#", "#" * (width + 2)]))
    assert int(shortest_path(level)) == width - 1
    assert int(shortest_path(level._replace(start=level.goal, goal=level.start))) == width - 1
    assert int(fewest_actions(level)) == width - 1
    assert int(fewest_actions(level._replace(direction=jnp.int32(2)))) == width + 1


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"size": 1}, "size is 1"),
        ({"size": 3, "blocks": 8}, "blocks is 8; a 3x3 maze .* 0 to 7"),
        ({"blocks": -1}, "blocks is -1"),
        ({"block_count": "some"}, "block_count is 'some'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        MazeSpace(**wrong)


def test_equal_spaces_are_the_same_to_what_is_compiled() -> None:
    assert hash(MazeSpace()) == hash(MazeSpace(13, 60, "uniform"))
