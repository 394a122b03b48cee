"""What a teacher may do to mazes: draw, edit and measure them."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from ...errors import require
from ...types import Metrics
from ..grids import cell_mask
from .level import MazeLevel

_Cells = tuple[UInt32[Array, " H"], ...]
"""Some cells of a maze, as bits: a word for each row of the first 32 columns, for each of the next, and so on. The
leftmost cell is the lowest bit. A batch of mazes so takes a few vector operations a move."""


@dataclass(frozen=True)
class MazeSpace:
    """Square mazes with up to ``blocks`` walls. Every level is well formed; it need not be solvable."""

    size: int = 13
    blocks: int = 60
    block_count: Literal["uniform", "fixed"] = "uniform"
    edit_rule: Literal["flip", "place"] = "flip"

    def __post_init__(self) -> None:
        require(self.size >= 2, f"size is {self.size}; a maze needs at least 2 cells a side.")
        self._check_blocks(self.blocks)
        require(
            self.block_count in ("uniform", "fixed"),
            f"block_count is '{self.block_count}'; give 'uniform' (a budget from 0 to blocks) or 'fixed'.",
        )

    def sample(self, key: PRNGKeyArray) -> MazeLevel:
        """Spend a budget of blocks on random cells, where a taken cell is a no-op; then place goal and agent."""
        budget_key, cell_key, place_key = jax.random.split(key, 3)
        budget = self.blocks if self.block_count == "fixed" else jax.random.randint(budget_key, (), 0, self.blocks + 1)
        cells = jax.random.randint(cell_key, (self.blocks,), 0, self.size**2)
        cells = jnp.where(jnp.arange(self.blocks) < budget, cells, self.size**2)  # out of range: dropped
        walls = jnp.zeros(self.size**2, bool).at[cells].set(True, mode="drop")
        return _place(place_key, walls.reshape(self.size, self.size))

    def sample_solvable(self, key: PRNGKeyArray) -> MazeLevel:
        """Like ``sample``, drawn again until the goal can be reached."""

        def again(carry: tuple[PRNGKeyArray, MazeLevel, Array]) -> tuple[PRNGKeyArray, MazeLevel, Array]:
            next_key, sample_key = jax.random.split(carry[0])
            level = self.sample(sample_key)
            return next_key, level, solvable(level)

        zero = jnp.zeros(2, jnp.int32)
        nothing = MazeLevel(jnp.zeros((self.size, self.size), bool), zero, jnp.int32(0), zero)
        return lax.while_loop(lambda carry: ~carry[2], again, (key, nothing, jnp.bool_(False)))[1]

    def empty(self, key: PRNGKeyArray) -> MazeLevel:
        """A maze without walls."""
        return _place(key, jnp.zeros((self.size, self.size), bool))

    def edit(self, key: PRNGKeyArray, level: MazeLevel, edits: int) -> MazeLevel:
        """Change so many cells. What stood on a cell moves to a random free cell after all edits; the result is well
        formed.

        ``flip`` takes distinct cells, two in three flip a wall and one in three puts the goal there: never the same
        level. ``place`` takes any cells and puts a wall, nothing or the goal there, a third each: about half as strong.
        """
        return edit(key, level, edits) if self.edit_rule == "flip" else place(key, level, edits)

    def metrics(self, level: MazeLevel) -> Metrics:
        """Number of blocks, length of the shortest path (0 where there is none), and whether there is one."""
        distance = shortest_path(level)
        return {
            "blocks": jnp.sum(level.walls, dtype=jnp.float32),
            "path": jnp.maximum(distance, 0).astype(jnp.float32),
            "solvable": (distance >= 0).astype(jnp.float32),
        }

    def _check_blocks(self, blocks: int) -> None:
        room = self.size**2 - 2
        require(
            0 <= blocks <= room,
            f"blocks is {blocks}; a {self.size}x{self.size} maze with an agent and a goal has room for 0 to {room}.",
        )


@dataclass(frozen=True)
class SolvableMazes:
    """A generator of the space's solvable mazes, for tests."""

    space: MazeSpace

    def __call__(self, key: PRNGKeyArray) -> MazeLevel:
        return self.space.sample_solvable(key)


def random_free_cell(key: PRNGKeyArray, free: Bool[Array, "H W"]) -> Int[Array, "2"]:
    """Uniform over the free cells, as (x, y). One random number: that many free cells are skipped."""
    before = jnp.cumsum(free.reshape(-1), dtype=jnp.int32)
    # A share of a float is a third of the work of an integer, to run and to compile; its bias is one in 2^23.
    cell = jnp.sum(before <= jax.random.uniform(key) * before[-1], dtype=jnp.int32)
    return _position(cell, free.shape[1])


def edit(key: PRNGKeyArray, level: MazeLevel, edits: int) -> MazeLevel:
    """See ``MazeSpace.edit``; mazes of any shape."""
    height, width = level.walls.shape
    require(
        1 <= edits <= height * width,
        f"edits is {edits}; a maze of {width}x{height} cells has 1 to {height * width} cells to edit.",
    )
    cell_key, kind_key, goal_key, start_key = jax.random.split(key, 4)
    cells = lax.top_k(jax.random.uniform(cell_key, (height * width,)), edits)[1]
    walls = jnp.asarray(level.walls).reshape(-1)
    old_goal, old_start = _index(level.goal, width), _index(level.start, width)

    # The goal's old cell is always flipped: putting the goal back there would undo the edits before. As all cells are
    # different, no edit sees what an earlier one did, and all are decided at once.
    puts = jax.random.bernoulli(kind_key, 1 / 3, (edits,)) & (cells != old_goal)
    was_wall = walls[cells]
    builds = ~puts & ~was_wall

    # Flips that would leave fewer than two free cells are left out. The number of free cells is then a walk reflected
    # at 2, and a step is left out where the reflection grows.
    count = jnp.sum(~walls) + jnp.cumsum(was_wall.astype(jnp.int32) - builds)
    lift = lax.cummax(jnp.maximum(2 - count, 0))
    done = lift == jnp.concatenate([jnp.zeros(1, lift.dtype), lift[:-1]])

    walls = walls.at[cells].set(builds & done)
    last_put = jnp.max(jnp.where(puts, jnp.arange(edits), -1))
    goal = jnp.where(last_put >= 0, cells[last_put], old_goal)
    start_displaced = jnp.any((cells == old_start) & done)
    goal_displaced = walls[goal]

    free = ~walls.reshape(height, width)
    goal = _position(goal, width)
    for_goal = free & (start_displaced | ~cell_mask(free.shape, level.start))
    goal = jnp.where(goal_displaced, random_free_cell(goal_key, for_goal), goal)
    for_start = free & ~cell_mask(free.shape, goal)
    start = jnp.where(start_displaced, random_free_cell(start_key, for_start), level.start)

    # Where every edit was left out, the one change that needs no room is to swap.
    swap = ~jnp.any(done)
    return MazeLevel(
        walls=walls.reshape(height, width),
        start=jnp.where(swap, level.goal, start),
        direction=jnp.asarray(level.direction),
        goal=jnp.where(swap, level.start, goal),
    )


def place(key: PRNGKeyArray, level: MazeLevel, edits: int) -> MazeLevel:
    """See ``MazeSpace.edit``: later edits overwrite earlier ones, and a wall that would leave fewer than two free cells
    is not built.
    """
    height, width = level.walls.shape
    require(edits >= 1, f"edits is {edits}; give at least 1.")
    cell_key, kind_key, goal_key, start_key = jax.random.split(key, 4)
    cells = jax.random.randint(cell_key, (edits,), 0, height * width)
    kinds = jax.random.randint(kind_key, (edits,), 0, 3)

    def put(carry: tuple[Array, Array], edit: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        walls, goal = carry
        cell, kind = edit
        wall = (kind == 0) & (jnp.sum(~walls) > 2)
        walls = walls.at[cell].set(jnp.where(kind == 0, wall | walls[cell], False))
        return (walls, jnp.where(kind == 2, cell, goal)), None

    start = (jnp.asarray(level.walls).reshape(-1), _index(level.goal, width))
    (walls, goal), _ = lax.scan(put, start, (cells, kinds))
    free = ~walls.reshape(height, width)
    goal_cell = _position(goal, width)
    at_start = cell_mask(free.shape, level.start)
    goal_cell = jnp.where(walls[goal], random_free_cell(goal_key, free & ~at_start), goal_cell)
    for_start = free & ~cell_mask(free.shape, goal_cell)
    lost = ~jnp.any(for_start & at_start)
    return MazeLevel(
        walls=walls.reshape(height, width),
        start=jnp.where(lost, random_free_cell(start_key, for_start), level.start),
        direction=jnp.asarray(level.direction),
        goal=goal_cell,
    )


def solvable(level: MazeLevel) -> Bool[Array, ""]:
    """Can the goal be reached?"""
    return shortest_path(level) >= 0


def shortest_path(level: MazeLevel) -> Int[Array, ""]:
    """Moves from cell to cell between start and goal, -1 where there is no way. Turns are not counted."""
    free, start, goal = _bits(level)

    def spread(pictures: list[_Cells]) -> list[_Cells]:
        (reached,) = pictures
        return [_or(reached, _left(reached), _right(reached), _up(reached), _down(reached))]

    return _flood(free, [start], goal, spread)


def fewest_actions(level: MazeLevel) -> Int[Array, ""]:
    """Actions of an agent that knows the maze, turns included, -1 where there is no way."""
    free, start, goal = _bits(level)
    # One picture for each direction: turning goes from one to the next, walking stays in its own.
    walks = (_right, _down, _left, _up)
    facing = [tuple(jnp.where(level.direction == way, word, jnp.uint32(0)) for word in start) for way in range(4)]

    def spread(pictures: list[_Cells]) -> list[_Cells]:
        return [
            _or(pictures[way], pictures[way - 1], pictures[way - 3], walk(pictures[way]))
            for way, walk in enumerate(walks)
        ]

    return _flood(free, facing, goal, spread)


def _flood(
    free: _Cells, start: list[_Cells], goal: _Cells, spread: Callable[[list[_Cells]], list[_Cells]]
) -> Int[Array, ""]:
    """How often the pictures of ``start`` have to spread over free cells to reach the goal, -1 if they never do."""

    def there(pictures: list[_Cells]) -> Array:
        return _any(_and(reached, goal) for reached in pictures)

    def flood(carry: tuple[list[_Cells], Array, Array]) -> tuple[list[_Cells], Array, Array]:
        pictures, times, _ = carry
        further = [_and(reached, free) for reached in spread(pictures)]
        return further, times + 1, _any(jax.tree.map(operator.xor, further, pictures))

    start_of_all = (start, jnp.int32(0), jnp.bool_(True))
    pictures, times, _ = lax.while_loop(lambda carry: carry[2] & ~there(carry[0]), flood, start_of_all)
    return jnp.where(there(pictures), times, -1)


def _bits(level: MazeLevel) -> tuple[_Cells, _Cells, _Cells]:
    """Free cells, start and goal."""
    free = ~jnp.asarray(level.walls)
    return _pack(free), _pack(cell_mask(free.shape, level.start)), _pack(cell_mask(free.shape, level.goal))


def _pack(mask: Bool[Array, "H W"]) -> _Cells:
    parts = [mask[:, x : x + 32].astype(jnp.uint32) for x in range(0, mask.shape[1], 32)]
    return tuple(
        jnp.sum(part << jnp.arange(part.shape[1], dtype=jnp.uint32), axis=1, dtype=jnp.uint32) for part in parts
    )


def _any(pictures: Iterable[_Cells]) -> Bool[Array, ""]:
    """Is there a cell in one of them?"""
    return jnp.any(functools.reduce(operator.or_, jax.tree.leaves(list(pictures))) != 0)


def _or(*pictures: _Cells) -> _Cells:
    return tuple(functools.reduce(operator.or_, words) for words in zip(*pictures, strict=True))


def _and(a: _Cells, b: _Cells) -> _Cells:
    return tuple(x & y for x, y in zip(a, b, strict=True))


def _left(cells: _Cells) -> _Cells:
    """All cells moved by one; what leaves a word comes into its neighbour."""
    return (*(word >> 1 | follows << 31 for word, follows in itertools.pairwise(cells)), cells[-1] >> 1)


def _right(cells: _Cells) -> _Cells:
    return (cells[0] << 1, *(follows << 1 | word >> 31 for word, follows in itertools.pairwise(cells)))


def _up(cells: _Cells) -> _Cells:
    return tuple(jnp.concatenate([word[1:], jnp.zeros_like(word[:1])]) for word in cells)


def _down(cells: _Cells) -> _Cells:
    return tuple(jnp.concatenate([jnp.zeros_like(word[:1]), word[:-1]]) for word in cells)


def _place(key: PRNGKeyArray, walls: Bool[Array, "H W"]) -> MazeLevel:
    """Goal and agent on free cells, the agent facing anywhere. (A cell drawn from all, and again from the free ones
    where it is taken, is a cell drawn from the free ones.)
    """
    goal_key, start_key, direction_key = jax.random.split(key, 3)
    goal = random_free_cell(goal_key, ~walls)
    start = random_free_cell(start_key, ~walls & ~cell_mask(walls.shape, goal))
    return MazeLevel(walls, start, jax.random.randint(direction_key, (), 0, 4), goal)


def _index(cell: Int[Array, "2"], width: int) -> Int[Array, ""]:
    return cell[1] * width + cell[0]


def _position(index: Int[Array, ""], width: int) -> Int[Array, "2"]:
    return jnp.stack([index % width, index // width]).astype(jnp.int32)
