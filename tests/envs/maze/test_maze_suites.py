"""The held-out mazes and their suites."""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
import pytest
from minigrid.envs import CrossingEnv, FourRoomsEnv

from tutelage.envs.maze.env import HeldOutMaze, Trial
from tutelage.envs.maze.level import MazeLevel, check
from tutelage.envs.maze.settings import MazeSettings
from tutelage.envs.maze.space import shortest_path
from tutelage.envs.maze.suites import DRAWN, FourRooms, PerfectMaze, SimpleCrossing, maze_names, suite, suite_names
from tutelage.errors import UserError

SETTINGS = MazeSettings()
paths = jax.jit(jax.vmap(shortest_path))

PROCEDURAL = ["SimpleCrossing", "FourRooms", "PerfectMaze-S", "PerfectMaze-M", "PerfectMaze-L", "PerfectMaze-XL"]
THESIS = [
    "SixteenRooms",
    "SixteenRooms2",
    "SimpleCrossing",
    "FourRooms",
    "SmallCorridor",
    "LargeCorridor",
    "Labyrinth",
    "Labyrinth2",
    "Maze",
    "Maze2",
    "Maze3",
    "PerfectMaze-M",
]


@cache
def draws(name: str, count: int) -> Trial:
    (task,) = suite(name, SETTINGS).tasks
    return jax.device_get(jax.jit(jax.vmap(task.sample))(jax.random.split(jax.random.key(7), count)))


@cache
def many(maze: object, count: int) -> MazeLevel:
    assert callable(maze)
    return jax.device_get(jax.jit(jax.vmap(maze))(jax.random.split(jax.random.key(7), count)))


def test_names() -> None:
    assert [task.name for task in suite("thesis-12", SETTINGS).tasks] == THESIS
    assert [task.name for task in suite("validation-3", SETTINGS).tasks] == ["SixteenRooms", "Labyrinth", "Maze"]
    assert len(suite("dcd-8", SETTINGS).tasks) == 8
    assert set(maze_names()) == set(DRAWN) | set(PROCEDURAL)
    everything = {task.name for task in suite("all", SETTINGS).tasks}
    assert everything == set(maze_names()) - {"PerfectMaze-L", "PerfectMaze-XL"}
    for name in suite_names():
        assert suite(name, SETTINGS).name == name
        assert suite(name, SETTINGS) == suite(name, MazeSettings())
        assert hash(suite(name, SETTINGS)) == hash(suite(name, SETTINGS))
    for name in maze_names():
        assert [task.name for task in suite(name, SETTINGS).tasks] == [name]


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UserError, match="no suite called 'thesis-13'. Did you mean thesis-12"):
        suite("thesis-13", SETTINGS)


def test_settings_of_the_student_are_those_of_the_test() -> None:
    tasks = suite("all", MazeSettings(view=7, reward="appendix")).tasks
    assert {task.env for task in tasks} == {HeldOutMaze(7, "appendix")}


def test_smaller_mazes_are_one_program() -> None:
    tasks = suite("all", SETTINGS).tasks
    shapes = {str(jax.eval_shape(task.sample, jax.random.key(0))) for task in tasks}
    assert len(shapes) == 1


@pytest.mark.parametrize("name", [*DRAWN, *PROCEDURAL[:4]])
def test_every_maze_can_be_solved_in_its_limit(name: str) -> None:
    trials = draws(name, 100)
    (task,) = suite(name, SETTINGS).tasks
    found = np.asarray(paths(trials.level))
    assert (found > 0).all()
    assert (found < task.max_steps).all()
    assert (trials.max_steps == task.max_steps).all()
    for i in range(10):
        check(jax.tree.map(lambda leaf, i=i: leaf[i], trials.level))


def test_rules() -> None:
    limits = {task.name: task.max_steps for task in suite("all", SETTINGS).tasks}
    assert limits["SixteenRooms"] == 2 * 15 * 15
    assert limits["LargeCorridor"] == limits["PerfectMaze-M"] == 2 * 21 * 21
    assert (limits["SimpleCrossing"], limits["FourRooms"]) == (4 * 11 * 11, 100)
    blocked = {name for name in limits if not draws(name, 100).see_through_walls.any()}
    assert blocked == {"SimpleCrossing", "FourRooms"}


@pytest.mark.parametrize(("name", "cells"), [("SmallCorridor", 10), ("LargeCorridor", 16), ("Labyrinth", 1)])
def test_goals_are_drawn_among_their_cells(name: str, cells: int) -> None:
    level = draws(name, 100).level
    drawn = DRAWN[name].strip().splitlines()
    marked = {(x - 1, y - 1) for y, row in enumerate(drawn) for x, cell in enumerate(row) if cell in "gG"}
    assert len(marked) == cells
    met = {tuple(map(int, goal)) for goal in level.goal}
    assert met <= marked
    assert len(met) >= 0.9 * cells
    assert (level.direction == 0).all()


@pytest.mark.parametrize(("size", "count"), [(7, 4000), (21, 20), (101, 2)])
def test_perfect_mazes_are_spanning_trees(size: int, count: int) -> None:
    """As many openings as rooms less one, and all connected: exactly one way between any two."""
    levels = many(PerfectMaze(size), count)
    rooms = size // 2
    free = ~levels.walls
    assert free[:, ::2, ::2].all()
    assert not free[:, 1::2, 1::2].any()
    assert (free.sum((1, 2)) == 2 * rooms**2 - 1).all()
    for open_cells in free[:20]:
        assert len(reachable(open_cells)) == open_cells.sum()
    corner = {0, size - 3}
    assert set(np.unique(levels.start)) | set(np.unique(levels.goal)) <= corner
    assert (levels.start != levels.goal).any(1).all()
    assert (paths(levels) > 0).all()


def reachable(free: np.ndarray) -> set[tuple[int, int]]:
    found, queue = {(0, 0)}, [(0, 0)]
    while queue:
        y, x = queue.pop()
        for b, a in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            inside = 0 <= b < free.shape[0] and 0 <= a < free.shape[1]
            if inside and free[b, a] and (b, a) not in found:
                found.add((b, a))
                queue.append((b, a))
    return found


def test_perfect_mazes_are_distributed_as_kruskals() -> None:
    """The number of doors of the centre of 3x3 rooms, against a plain Kruskal."""
    rng = np.random.default_rng(0)
    numbers = np.arange(9).reshape(3, 3)
    edges = [*zip(numbers[:, :-1].ravel(), numbers[:, 1:].ravel(), strict=True)]
    edges += [*zip(numbers[:-1].ravel(), numbers[1:].ravel(), strict=True)]
    expected = np.zeros(5)
    for _ in range(4000):
        tree, doors = np.arange(9), 0
        for i in rng.permutation(len(edges)):
            a, b = edges[i]
            if tree[a] != tree[b]:
                tree[tree == tree[b]] = tree[a]
                doors += 4 in (a, b)
        expected[doors] += 1 / 4000
    free = ~many(PerfectMaze(7), 4000).walls
    doors = free[:, 1, 2].astype(int) + free[:, 3, 2] + free[:, 2, 1] + free[:, 2, 3]
    assert np.abs(np.bincount(doors, minlength=5) / 4000 - expected).max() < 0.035


def test_perfect_mazes_of_an_even_size_are_refused() -> None:
    with pytest.raises(UserError, match="perfect maze is 10"):
        PerfectMaze(10)


def test_perfect_maze_corners_are_uniform() -> None:
    levels = many(PerfectMaze(7), 4000)
    pairs = (levels.start // 4 @ [1, 2]) * 4 + (levels.goal // 4 @ [1, 2])
    counts = np.bincount(pairs, minlength=16).reshape(4, 4) / 4000
    assert np.abs(counts - (1 - np.eye(4)) / 12).max() < 0.02


def minigrid_walls(env: object, count: int) -> np.ndarray:
    """Interior walls of MiniGrid's own draws."""
    walls = []
    for seed in range(count):
        env.reset(seed=seed)  # type: ignore[attr-defined]
        grid = env.grid  # type: ignore[attr-defined]
        cells = [[(cell := grid.get(x, y)) is not None and cell.type == "wall" for x in range(1, grid.width - 1)]
                 for y in range(1, grid.height - 1)]  # fmt: skip
        walls.append(cells)
    return np.array(walls)


@pytest.mark.parametrize(
    ("maze", "reference"),
    [
        (SimpleCrossing(), lambda: CrossingEnv(size=11, num_crossings=5, obstacle_type="wall")),
        (FourRooms(), lambda: FourRoomsEnv()),
    ],
    ids=["SimpleCrossing", "FourRooms"],
)
def test_distributed_as_minigrids(maze: object, reference: object) -> None:
    """How often each cell is a wall, and how many there are, agree with MiniGrid's own draws."""
    count = 1500
    assert callable(reference)
    theirs, ours = minigrid_walls(reference(), count), many(maze, 4 * count).walls
    assert theirs.shape[1:] == ours.shape[1:]
    assert np.abs(theirs.mean(0) - ours.mean(0)).max() < 0.065
    assert set(np.unique(ours.sum((1, 2)))) == set(np.unique(theirs.sum((1, 2))))
    most = ours.shape[1] * ours.shape[2] + 1
    histograms = [np.bincount(walls.sum((1, 2)), minlength=most) / len(walls) for walls in (theirs, ours)]
    assert np.abs(histograms[0] - histograms[1]).max() < 0.05
    # Joint structure too: pairs of cells are walls together as often.
    flat = [walls.reshape(len(walls), -1).astype(np.float32) for walls in (theirs, ours)]
    pairs = [walls.T @ walls / len(walls) for walls in flat]
    assert np.abs(pairs[0] - pairs[1]).max() < 0.07


def test_starts_of_procedural_mazes() -> None:
    crossing, rooms = many(SimpleCrossing(), 6000), many(FourRooms(), 6000)
    assert (crossing.start == 0).all()
    assert (crossing.direction == 0).all()
    assert (crossing.goal == 8).all()
    assert np.abs(np.bincount(rooms.direction, minlength=4) / 6000 - 1 / 4).max() < 0.03
    quarter = (rooms.start > 8) @ [1, 2]
    assert np.abs(np.bincount(quarter, minlength=4) / 6000 - 1 / 4).max() < 0.04


@pytest.mark.parametrize("name", ["PerfectMaze-S", "SmallCorridor"])
def test_same_key_same_level(name: str) -> None:
    (task,) = suite(name, SETTINGS).tasks
    draw = jax.jit(task.sample)
    first, again, other = (jax.device_get(draw(jax.random.key(seed))) for seed in (1, 1, 2))
    assert jax.tree.all(jax.tree.map(np.array_equal, first, again))
    assert not jax.tree.all(jax.tree.map(np.array_equal, first, other))


def test_fresh_mazes_are_solvable_ones_of_the_training_space() -> None:
    chosen = MazeSettings(size=6, blocks=25, block_count="fixed", max_steps=77, see_through_walls=False)
    (task,) = suite("fresh", chosen).tasks
    trials = jax.device_get(jax.jit(jax.vmap(task.sample))(jax.random.split(jax.random.key(0), 100)))
    assert task.max_steps == 77
    assert (trials.max_steps == 77).all()
    assert not trials.see_through_walls.any()
    assert trials.level.walls.shape == (100, 6, 6)
    assert (paths(trials.level) > 0).all()
