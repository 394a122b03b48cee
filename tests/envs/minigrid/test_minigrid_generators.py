"""The generators against MiniGrid's own, and against what was measured of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.minigrid import chain, multiroom, obstructed
from tutelage.envs.minigrid.draws import uniform_where
from tutelage.envs.minigrid.level import BALL, BLUE, BOX, DOOR, EMPTY, GOAL, KEY, LOCKED, WALL, GridLevel
from tutelage.envs.minigrid.solve import fewest_actions, shortest_path, solvable
from tutelage.envs.minigrid.space import GridSpace

from .reference import Far, FarRepaired, Fixed, FixedMaze, Near, Player, Rooms, drawn

OURS, THEIRS = 3000, 600
ROOMS, MAZES, REPAIRED = GridSpace("multiroom"), GridSpace("omg-medium"), GridSpace("omg-medium", lost_keys=False)


@cache
def ours(space: GridSpace, difficulty: int) -> GridLevel:
    sample = _sampler(space)
    return jax.device_get(sample(jax.random.split(jax.random.key(difficulty), OURS), difficulty))


@cache
def _sampler(space: GridSpace) -> Callable[..., Any]:
    return jax.jit(jax.vmap(space.at, (0, None)))


@cache
def measured(space: GridSpace) -> Callable[..., Any]:
    return jax.jit(jax.vmap(space.metrics))


@cache
def theirs(space: GridSpace, difficulty: int) -> GridLevel:
    hidden, blocked = difficulty % 3 >= 1, difficulty % 3 == 2
    if space == ROOMS:
        env: Any = Rooms(difficulty + 1)
    elif difficulty < 3:
        env = Near(hidden, blocked)
    else:
        env = (Far if space.lost_keys else FarRepaired)(hidden, blocked)
    found = [drawn(env, seed, space.size) for seed in range(THEIRS)]
    return GridLevel(*(np.stack(parts) for parts in zip(*found, strict=True)))


def features(levels: GridLevel) -> np.ndarray:
    """What is where, and of which colour: flags ``[N, F]`` of every level."""
    cells, n = levels.cells, len(levels.cells)
    kinds = [cells[..., 0] == kind for kind in (WALL, DOOR, KEY, BALL, BOX, GOAL)]
    blue = (cells[..., 0] == BALL) & (cells[..., 1] == BLUE)
    grid = [flags.reshape(n, -1) for flags in (*kinds, blue)]
    tints = [
        np.stack([((cells[..., 0] == kind) & (cells[..., 1] == tint)).any((1, 2)) for tint in range(6)], 1)
        for kind in (DOOR, KEY, BOX)
    ]
    held = np.stack([((cells[..., 0] == BOX) & (cells[..., 2] == 16 * (1 + tint))).any((1, 2)) for tint in range(6)], 1)
    x, y = levels.start.T.astype(int)
    start = np.zeros(cells.shape[:3], bool)
    start[np.arange(n), x, y] = True
    ahead = np.eye(4, dtype=bool)[levels.direction]
    posed = start.reshape(n, -1, 1) & ahead[:, None]
    return np.concatenate([*grid, *tints, held, start.reshape(n, -1), ahead, posed.reshape(n, -1)], axis=1)


CASES = [(ROOMS, i) for i in range(4)] + [(MAZES, i) for i in range(6)] + [(REPAIRED, 5)]


@pytest.mark.parametrize(("space", "difficulty"), CASES)
def test_levels_have_the_distribution_of_minigrids_own(space, difficulty):
    """Every flag is as frequent in both, within what chance allows; and none is there in one of them alone."""
    a, b = features(ours(space, difficulty)), features(theirs(space, difficulty))
    together = (a.sum(0) + b.sum(0)) / (OURS + THEIRS)
    deviation = np.sqrt(together * (1 - together) * (1 / OURS + 1 / THEIRS))
    varied = deviation > 0
    scores = (a.mean(0) - b.mean(0))[varied] / deviation[varied]
    assert varied.sum() > 100
    assert abs(scores).max() < 5.0
    assert 0.6 < (scores**2).mean() < 1.5  # not one great difference, but many small ones, would show here


def test_numbers_of_rooms_and_difficulties_are_equally_frequent():
    for space in (ROOMS, GridSpace("omg-easy"), MAZES):
        levels = jax.jit(jax.vmap(space.sample))(jax.random.split(jax.random.key(1), OURS))
        found = jax.device_get(measured(space)(levels))
        for name in space.difficulties:
            assert found[name].mean() == pytest.approx(1 / len(space.difficulties), abs=0.035)
        assert sum(found[name] for name in space.difficulties).tolist() == [1.0] * OURS
        numbers = np.array([found[name] for name in space.difficulties])
        np.testing.assert_array_equal(numbers.argmax(0) + 1, found["difficulty"])


@pytest.mark.parametrize(("space", "difficulty"), CASES)
def test_a_difficulty_is_read_off_its_levels(space, difficulty):
    found = jax.device_get(measured(space)(ours(space, difficulty)))
    assert set(found["difficulty"]) == {difficulty + 1}
    rooms = difficulty + 1 if space == ROOMS else (2 if difficulty < 3 else 4)
    assert set(found["rooms"]) == {rooms}


# --- rooms

MEASURED = {1: (3.4, 9), 2: (9.6, 17), 3: (16.0, 24), 4: (22.3, 32)}
"""Fewest actions in MiniGrid's own levels, mean and largest, by number of rooms."""


@pytest.mark.parametrize("rooms", MEASURED)
def test_shortest_solutions_are_as_long_as_in_minigrid(rooms):
    actions = jax.device_get(measured(ROOMS)(ours(ROOMS, rooms - 1)))["actions"]
    mean, largest = MEASURED[rooms]
    assert actions.mean() == pytest.approx(mean, abs=0.25)
    assert abs(actions.max() - largest) <= 3
    assert actions.min() >= 1  # every level can be solved


def test_the_fewest_actions_are_those_of_a_search():
    solve = jax.jit(fewest_actions)
    for difficulty in range(4):
        levels = theirs(ROOMS, difficulty)
        for i in range(15):
            level = jax.tree.map(lambda x, i=i: x[i], levels)
            player = Player(Fixed(level, 80), np.random.default_rng(0))
            player.solve_rooms()
            assert int(solve(level)) == len(player.actions)


def test_the_shortest_path_is_that_of_a_search():
    dice = np.random.default_rng(0)
    levels = [jax.tree.map(lambda x, i=i: x[i], ours(ROOMS, difficulty)) for difficulty in range(4) for i in range(8)]
    for level in list(levels):  # with holes in walls, and with more of them: as people draw
        other = np.where(dice.random(level.cells.shape[:2]) < 0.5, level.cells[..., 0] == WALL, False)
        floor = np.where(other[..., None], np.array([EMPTY, 0, 0], np.uint8), level.cells)
        some = (dice.random(level.cells.shape[:2]) < 0.2) & (level.cells[..., 0] == EMPTY)
        some[tuple(level.start)] = False
        walls = np.where(some[..., None], np.array([WALL, 5, 0], np.uint8), level.cells)
        levels += [level._replace(cells=floor), level._replace(cells=walls)]
    solve, lengths = jax.jit(shortest_path), []
    for level in levels:
        lengths.append(searched(level))
        assert int(solve(level)) == lengths[-1]
    assert min(lengths) == -1
    assert max(lengths) > 10
    found = jax.device_get(jax.jit(ROOMS.measured)(levels[-1]))
    assert set(found) == {"difficulty", "rooms", "actions", "solvable", "path"}
    assert found["path"] == max(lengths[-1], 0)


def searched(level: GridLevel) -> int:
    """Breadth first, over all that is no wall and no locked door."""
    kind, state = level.cells[..., 0], level.cells[..., 2]
    start = tuple(int(x) for x in level.start)
    seen, waiting = {start: 0}, deque([start])
    while waiting:
        x, y = waiting.popleft()
        if kind[x, y] == GOAL:
            return seen[x, y]
        for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            inside = all(0 <= at < side for at, side in zip(cell, kind.shape, strict=True))
            if (
                inside
                and cell not in seen
                and kind[cell] != WALL
                and not (kind[cell] == DOOR and state[cell] == LOCKED)
            ):
                seen[cell] = seen[x, y] + 1
                waiting.append(cell)
    return -1


def test_levels_without_a_way_are_known():
    level = jax.tree.map(lambda x: x[0], ours(ROOMS, 1))
    door = level.cells[..., 0] == DOOR
    cells = np.where(door[..., None], np.array([WALL, 5, 0], np.uint8), level.cells)
    assert int(jax.jit(fewest_actions)(level._replace(cells=cells))) == -1
    locked = np.where(door[..., None], np.array([DOOR, 0, 2], np.uint8), level.cells)
    assert int(jax.jit(fewest_actions)(level._replace(cells=locked))) == -1


def test_chains_succeed_as_often_as_minigrids_and_nearly_none_is_left_without():
    """MiniGrid's first rooms may be outside of the grid, which costs it a try; ours never are."""
    _, complete = jax.jit(jax.vmap(multiroom.CHAIN.tries))(jax.random.split(jax.random.key(2), 4000))
    shares = np.asarray(complete).reshape(-1, 4).mean(0)
    inside = 34 / 44 * 30 / 44
    for rooms, share in enumerate(shares, start=1):
        env = Rooms(rooms)
        env.tries = 0
        for seed in range(THEIRS):
            env.reset(seed=10_000 + seed)
        assert env.tries / THEIRS == pytest.approx(1 / (share * inside), rel=0.15)
    assert (1 - 0.95 * shares[3]) ** (chain.TRIES * chain.ROUNDS) < 1e-14


def test_a_level_that_found_no_chain_is_one_that_could_have_been_drawn(monkeypatch):
    monkeypatch.setattr(chain, "ROUNDS", 0)
    for rooms in range(1, 5):
        level = jax.jit(lambda key, rooms: multiroom.sample(key, rooms))(jax.random.key(rooms), rooms)
        found = ROOMS.metrics(level)
        assert (float(found["rooms"]), float(found["solvable"])) == (rooms, 1.0)


def test_a_batch_is_not_kept_waiting():
    """The number of rounds is bounded, and hardly any are needed, also for thousands of levels."""
    keys = jax.random.split(jax.random.key(3), 2000)
    _, complete = jax.jit(jax.vmap(multiroom.CHAIN.tries))(keys)
    late = 1 - np.asarray(complete)[..., 3].any(1).mean()
    assert late == pytest.approx((1 - np.asarray(complete)[..., 3].mean()) ** chain.TRIES, abs=0.03)
    assert 4000 * late**12 < 1  # of so many levels, none is expected to need more than 12 rounds


def test_choices_are_uniform_over_a_mask():
    mask = np.zeros((5, 7), bool)
    mask[[0, 2, 4, 4], [6, 3, 0, 6]] = True
    places = jax.jit(jax.vmap(uniform_where, (0, None)))(jax.random.split(jax.random.key(0), 4000), mask)
    found, counts = np.unique(np.asarray(places), axis=0, return_counts=True)
    assert found.tolist() == [[0, 6], [2, 3], [4, 0], [4, 6]]
    assert abs(counts - 1000).max() < 150


# --- obstructed mazes

SOLUTIONS = (19.8, 20.8, 28.1, 18.4, 19.4, 25.1)
"""Mean lengths of short solutions, measured on 12 levels of MiniGrid each: they are sure to about one action."""


@pytest.mark.parametrize("difficulty", range(6))
def test_mazes_that_can_be_solved_are_and_about_as_soon_as_in_minigrid(difficulty):
    levels, lengths = ours(MAZES, difficulty), []
    possible = np.asarray(jax.jit(jax.vmap(solvable))(levels))
    for i in range(60):
        player = Player(FixedMaze(jax.tree.map(lambda x, i=i: x[i], levels), 784), np.random.default_rng(0))
        if player.solve_maze():
            assert possible[i]
            lengths.append(len(player.actions))
    assert len(lengths) >= possible[:60].sum() - 1
    assert np.mean(lengths) == pytest.approx(SOLUTIONS[difficulty], abs=3.0)


def test_one_in_24_of_the_hardest_has_lost_the_goals_key_unless_asked_otherwise():
    def lost(space: GridSpace, difficulty: int) -> float:
        return 1 - float(measured(space)(ours(space, difficulty))["solvable"].mean())

    assert [lost(MAZES, difficulty) for difficulty in range(5)] == [0.0] * 5
    assert lost(MAZES, 5) == pytest.approx(1 / 24, abs=0.012)
    assert lost(REPAIRED, 5) == 0.0


def test_a_key_behind_its_own_door_solves_nothing():
    level = jax.tree.map(lambda x: x[0], ours(MAZES, 0))
    cells = level.cells.copy()
    (key,) = np.argwhere(cells[..., 0] == KEY)
    there = next(place for place in np.argwhere(cells[..., 0] == 1) if 6 < place[0] < 12 and place[1] < 6)
    cells[tuple(there)], cells[tuple(key)] = cells[tuple(key)], [1, 0, 0]
    assert bool(solvable(level))
    assert not bool(solvable(level._replace(cells=cells)))


def test_easy_levels_are_the_first_three_difficulties_of_medium_ones():
    key = jax.random.key(7)
    for difficulty in range(3):
        easy, medium = (
            jax.jit(obstructed.sample, static_argnums=(2, 3))(key, jnp.int32(difficulty), medium, True)
            for medium in (False, True)
        )
        jax.tree.map(np.testing.assert_array_equal, easy, medium)
