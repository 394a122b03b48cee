"""The held-out mazes that the field reports, and suites of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PRNGKeyArray

from ...errors import require, unknown
from ..base import Suite, Task
from ..grids import cell_mask
from .env import HeldOutMaze, Trial
from .level import MazeLevel, from_ascii, pad
from .settings import MazeSettings
from .space import MazeSpace, SolvableMazes, random_free_cell

COMMON = 19
"""Cells a side inside the border to which the smaller mazes are padded, so that all run as one program."""
PADDED = (COMMON, 49, 99)
"""The sizes to which mazes are padded that somebody drew."""

DRAWN = {
    # As in level.from_ascii; the goal is drawn among the cells marked 'g' each episode. The agent starts facing right.
    "SixteenRooms": """
###############
#...#..#..#...#
#.S.......#...#
#...#..#......#
##.###.##.###.#
#...#.........#
#......#..#...#
###.#.##.###.##
#...#.....#...#
#...#..#......#
#.####.##.#.###
#...#..#..#...#
#......#....G.#
#...#.....#...#
###############
""",
    "SixteenRooms2": """
###############
#...#.....#...#
#.S....#..#...#
#...#..#..#...#
#####.##.###.##
#...#..#......#
#......#..#...#
##.#####.######
#...#..#..#...#
#...#.........#
###.##.##.#####
#...#..#..#...#
#......#....G.#
#...#..#..#...#
###############
""",
    "Labyrinth": """
###############
#.............#
#.###########.#
#.#.........#.#
#.#.#######.#.#
#.#.#.....#.#.#
#.#.#.###.#.#.#
#.#.#.#G#.#.#.#
#.#.#.#.#.#.#.#
#.#...#...#.#.#
#.#########.#.#
#.....#.....#.#
#####.#.#####.#
#S....#.......#
###############
""",
    "Labyrinth2": """
###############
#S#...........#
#.#.#########.#
#.#.#.......#.#
#.#.#.#####.#.#
#.#.#.#...#.#.#
#...#.#.#.#.#.#
#####.#G#.#.#.#
#...#.###.#.#.#
#.#.#.....#.#.#
#.#.#######.#.#
#.#.........#.#
#.###########.#
#.............#
###############
""",
    "Maze": """
###############
#.....#S...#..#
#.###.####.##.#
#.#...........#
#.########.####
#........#....#
#######.#####.#
#....#..#.....#
#.##...##.#####
#..#.#..#...#.#
##.#.##.###.#.#
##.#..#...#...#
##.##.###.###.#
#...#..G#.#...#
###############
""",
    "Maze2": """
###############
#...#.#....#..#
#.#.#.####...##
#.#........#..#
#.########.####
#...#..#.#.#.G#
###.#.##.#.#..#
#S#.#....#.##.#
#.#.##.###..#.#
#.#..#..###.#.#
#.##.##.#.#.#.#
#.#...#.#.#.#.#
#.#.#.#.#.#.#.#
#...#...#.....#
###############
""",
    "Maze3": """
###############
#...S#.#......#
#.####.#.####.#
#.#....#.#....#
#...####.#.#.##
###.#....#.#..#
#...#.##.#.##.#
#.#.#.#..#..#G#
#.#.#.#.###.###
#.#...#.#.#...#
#.###.#.#.###.#
#.#...#.#...#.#
#.#.###.#.#.#.#
#.#...#...#...#
###############
""",
    "SmallCorridor": """
###############
#.............#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.#g#g#g#g#g#.#
#S###########.#
#.#g#g#g#g#g#.#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#
#.............#
###############
""",
    "LargeCorridor": """
#####################
#...................#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#g#g#g#g#g#g#g#g#.#
#S#################.#
#.#g#g#g#g#g#g#g#g#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#.#.#.#.#.#.#.#.#.#.#
#...................#
#####################
""",
    "NineRooms": """
###############
#........#....#
#.S..#........#
#....#...#....#
#....#...#....#
##.###.######.#
#....#........#
#........#....#
#....#...#....#
####.###.##.###
#....#...#....#
#........#....#
#....#......G.#
#....#...#....#
###############
""",
}


@dataclass(frozen=True)
class DrawnMaze:
    """A maze of ``DRAWN``, by name."""

    name: str

    def __call__(self, key: PRNGKeyArray) -> MazeLevel:
        level, goals = _read(self.name)
        return level._replace(goal=jnp.asarray(goals)[jax.random.randint(key, (), 0, len(goals))])


@dataclass(frozen=True)
class SimpleCrossing:
    """MiniGrid's SimpleCrossing: walls across the room, each with one opening on a way from corner to corner."""

    size: int = 11
    crossings: int = 5

    def __call__(self, key: PRNGKeyArray) -> MazeLevel:
        river_key, path_key, gap_key = jax.random.split(key, 3)
        end = self.size - 2  # the border, counted inside it
        lines = np.arange(1, end - 1, 2)
        chosen = (jax.random.permutation(river_key, 2 * len(lines)) < self.crossings).reshape(2, -1)
        # The limits of the rooms along each axis, borders included. Lines not chosen count as the far border.
        limits = jnp.sort(jnp.where(chosen, lines, end), axis=1)
        limits = jnp.pad(limits, ((0, 0), (1, 1)), constant_values=((end, end), (-1, end)))
        across = jnp.zeros((2, end), bool).at[:, lines].set(chosen)
        walls = across[0] | across[1][:, None]

        # The way to the goal, room by room, crosses upright walls (axis 0, x) and level ones in random order.
        axes = (jax.random.permutation(path_key, self.crossings) >= jnp.sum(chosen[0])).astype(jnp.int32)
        room = jnp.zeros(2, jnp.int32)
        for axis, share in zip(axes, jax.random.uniform(gap_key, (self.crossings,)), strict=True):
            low, high = limits[1 - axis, room[1 - axis]], limits[1 - axis, room[1 - axis] + 1]
            along = low + 1 + jnp.floor(share * (high - low - 1)).astype(jnp.int32)
            wall = limits[axis, room[axis] + 1]
            walls &= ~cell_mask(walls.shape, jnp.where(axis == 0, jnp.stack([wall, along]), jnp.stack([along, wall])))
            room = room.at[axis].add(1)
        return MazeLevel(walls, jnp.zeros(2, jnp.int32), jnp.int32(0), jnp.full(2, end - 1, jnp.int32))


@dataclass(frozen=True)
class FourRooms:
    """MiniGrid's FourRooms: a cross of walls with a door in each arm; agent, direction and goal anywhere free."""

    size: int = 19

    def __call__(self, key: PRNGKeyArray) -> MazeLevel:
        door_key, start_key, direction_key, goal_key = jax.random.split(key, 4)
        side, middle = self.size - 2, self.size // 2 - 1
        up, down, left, right = jax.random.randint(door_key, (4,), 0, middle)
        cells = jnp.arange(side)
        upright = (cells != up) & (cells != down + middle + 1)
        level = (cells != left) & (cells != right + middle + 1)
        walls = (upright[:, None] & (cells == middle)) | (level & (cells == middle)[:, None])
        start = random_free_cell(start_key, ~walls)
        goal = random_free_cell(goal_key, ~walls & ~cell_mask(walls.shape, start))
        return MazeLevel(walls, start, jax.random.randint(direction_key, (), 0, 4), goal)


@dataclass(frozen=True)
class PerfectMaze:
    """One way between any two cells: Kruskal's spanning tree over every other cell, its edges in random order."""

    size: int

    def __post_init__(self) -> None:
        require(
            self.size % 2 == 1 and self.size >= 5,
            f"The size of a perfect maze is {self.size}; give an odd number of at least 5, border included.",
        )

    def __call__(self, key: PRNGKeyArray) -> MazeLevel:
        order_key, corner_key = jax.random.split(key)
        side, rooms = self.size - 2, self.size // 2
        numbers = np.arange(rooms**2, dtype=np.int32).reshape(rooms, rooms)
        edges = np.concatenate(
            [
                np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], 1),
                np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], 1),
            ]
        )
        order = jax.random.permutation(order_key, edges)

        def join(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            trees, opened = carry
            ours, theirs = trees[order[i, 0]], trees[order[i, 1]]
            # Renaming a whole tree is one vector operation, which beats chasing parents in a compiled loop.
            return jnp.where(trees == theirs, ours, trees), opened.at[i].set(ours != theirs)

        opened = lax.fori_loop(0, len(edges), join, (jnp.asarray(numbers.ravel()), jnp.zeros(len(edges), bool)))[1]
        # The cell between two rooms is half way: its coordinates are the sums of theirs.
        y, x = (order // rooms).sum(1), (order % rooms).sum(1)
        walls = jnp.ones((side, side), bool).at[::2, ::2].set(False).at[y, x].set(~opened)

        corners = np.array([(0, 0), (side - 1, 0), (0, side - 1), (side - 1, side - 1)], np.int32)
        first, turn = jax.random.randint(corner_key, (2,), 0, np.array([4, 3]))
        start, goal = jnp.asarray(corners)[first], jnp.asarray(corners)[(first + 1 + turn) % 4]
        return MazeLevel(walls, start, jnp.int32(0), goal)


@dataclass(frozen=True)
class Trials:
    """Mazes to be played under the same rules, padded to one size."""

    maze: Callable[[PRNGKeyArray], MazeLevel]
    max_steps: int
    see_through_walls: bool
    interior: int

    def __call__(self, key: PRNGKeyArray) -> Trial:
        level = pad(self.maze(key), self.interior)
        return Trial(level, jnp.int32(self.max_steps), jnp.bool_(self.see_through_walls))


def perfect_size(interior: int) -> int:
    """Of the largest perfect maze that fits into so many cells a side, its border included."""
    return max(5, interior + 2 - (interior + 1) % 2)


def _perfect(size: int) -> Trials:
    return Trials(PerfectMaze(size), 2 * size * size, True, max(size - 2, COMMON))


def _drawn(name: str) -> Trials:
    size = len(_read(name)[0].walls) + 2
    return Trials(DrawnMaze(name), 2 * size * size, True, COMMON)


@cache
def _read(name: str) -> tuple[MazeLevel, np.ndarray]:
    """A drawn maze, and the cells among which its goal is drawn."""
    text = DRAWN[name].strip()
    cells = np.array([list(row) for row in text.splitlines()])
    goals = np.argwhere(np.isin(cells, ["g", "G"]))[:, ::-1].astype(np.int32) - 1
    return from_ascii(text.replace("g", "G", 1).replace("g", ".")), goals


_MAZES: dict[str, Trials] = {
    **{name: _drawn(name) for name in DRAWN},
    "SimpleCrossing": Trials(SimpleCrossing(), 4 * 11 * 11, False, COMMON),
    "FourRooms": Trials(FourRooms(), 100, False, COMMON),
    "PerfectMaze-S": _perfect(11),
    "PerfectMaze-M": _perfect(21),
    "PerfectMaze-L": _perfect(51),
    "PerfectMaze-XL": _perfect(101),
}

_SUITES: dict[str, tuple[str, ...]] = {
    "thesis-12": (
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
    ),
    "dcd-8": (
        "SixteenRooms",
        "SixteenRooms2",
        "Labyrinth",
        "Labyrinth2",
        "Maze",
        "Maze2",
        "LargeCorridor",
        "PerfectMaze-M",
    ),
    "validation-3": ("SixteenRooms", "Labyrinth", "Maze"),
    "perfect-s": ("PerfectMaze-S",),
    "perfect-m": ("PerfectMaze-M",),
    "perfect-l": ("PerfectMaze-L",),
    "perfect-xl": ("PerfectMaze-XL",),
    "all": tuple(name for name, trials in _MAZES.items() if trials.interior == COMMON),
}


def suite_names() -> tuple[str, ...]:
    """Every suite. The name of a single maze is a suite too (``maze_names``)."""
    return (*_SUITES, "fresh")


def maze_names() -> tuple[str, ...]:
    """Every held-out maze."""
    return tuple(_MAZES)


def suite(name: str, settings: MazeSettings) -> Suite:
    """A suite, or a single maze, as a student with these settings sees and is paid for it."""
    env = HeldOutMaze(settings.view, settings.reward)
    if name == "fresh":
        space = MazeSpace(settings.size, settings.blocks, settings.block_count)
        return fresh(space, settings.max_steps, settings.see_through_walls, env)
    if name not in _SUITES and name not in _MAZES:
        raise unknown("suite", name, (*suite_names(), *maze_names()))
    members = _SUITES.get(name, (name,))
    return Suite(name, tuple(Task(maze, env, _MAZES[maze], _MAZES[maze].max_steps) for maze in members))


def fresh(space: MazeSpace, max_steps: int, see_through_walls: bool, env: HeldOutMaze) -> Suite:
    """Solvable mazes of a training space, newly drawn each episode: how good the student is where it was trained."""
    trials = Trials(SolvableMazes(space), max_steps, see_through_walls, space.size)
    return Suite("fresh", (Task("Fresh", env, trials, max_steps),))
