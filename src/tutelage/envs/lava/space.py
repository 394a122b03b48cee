"""What a teacher may do to levels: draw, edit and measure them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ...errors import require
from ...types import Metrics
from ..grids import cell_mask
from ..maze.level import MazeLevel
from ..maze.space import random_free_cell, shortest_path
from .env import PENALTY, Penalty
from .level import FLOOR, LAVA, STONE, LavaLevel

TileCount = Literal["uniform", "fixed", "placements"]


@dataclass(frozen=True)
class LavaSpace:
    """Square rooms with lava. Every level is well formed; it need not be solvable."""

    size: int = 7
    tiles: int = 20
    tile_count: TileCount = "uniform"

    def sample(self, key: PRNGKeyArray) -> LavaLevel:
        """Lava on random cells, then goal and agent on two others."""
        count_key, tile_key, goal_key, start_key = jax.random.split(key, 4)
        cells = self.size**2
        if self.tile_count == "placements":
            chosen = jax.random.randint(tile_key, (self.tiles,), 0, cells)
            lava = jnp.zeros(cells, bool).at[chosen].set(True)
        else:
            drawn = jax.random.randint(count_key, (), 0, self.tiles + 1)
            count = self.tiles if self.tile_count == "fixed" else drawn
            lava = jax.random.permutation(tile_key, cells) < count
        lava = lava.reshape(self.size, self.size)
        goal = random_free_cell(goal_key, ~lava)
        start = random_free_cell(start_key, ~lava & ~cell_mask(lava.shape, goal))
        return from_maze(MazeLevel(lava, start, jnp.int32(0), goal))

    def empty(self, key: PRNGKeyArray) -> LavaLevel:
        """A room without lava."""
        return LavaSpace(self.size, 0, "fixed").sample(key)

    def edit(self, key: PRNGKeyArray, level: LavaLevel, edits: int) -> LavaLevel:
        """Add or remove lava on so many different cells; never the same level. Goal and agent do not move, except from
        under new lava: to a random free cell, after all edits. Lava that would leave fewer than two free cells is left
        out.
        """
        require(
            1 <= edits <= self.size**2,
            f"edits is {edits}; a room of {self.size}x{self.size} cells has 1 to {self.size**2} cells to edit.",
        )
        cell_key, goal_key, start_key = jax.random.split(key, 3)
        room = to_maze(level)
        cells = lax.top_k(jax.random.uniform(cell_key, (self.size**2,)), edits)[1]

        def flip(lava: Bool[Array, " cells"], cell: Int[Array, ""]) -> tuple[Array, Array]:
            done = lava[cell] | (jnp.sum(~lava) > 2)
            return lava.at[cell].set(~lava[cell] & done), done

        lava, done = lax.scan(flip, room.walls.reshape(-1), cells)
        lava = lava.reshape(room.walls.shape)
        at_start = cell_mask(lava.shape, room.start)
        goal_lost = jnp.any(lava & cell_mask(lava.shape, room.goal))
        goal = jnp.where(goal_lost, random_free_cell(goal_key, ~lava & ~at_start), room.goal)
        start_lost = jnp.any(lava & at_start)
        beside = ~lava & ~cell_mask(lava.shape, goal)
        start = jnp.where(start_lost, random_free_cell(start_key, beside), room.start)
        swap = ~jnp.any(done)  # where every edit was left out, the one change that needs no room
        start, goal = jnp.where(swap, room.goal, start), jnp.where(swap, room.start, goal)
        return from_maze(MazeLevel(lava, start, room.direction, goal))

    def metrics(self, level: LavaLevel) -> Metrics:
        """Lava tiles; the shortest way by eight moves and by four (0 where there is none); whether there is one."""
        moves, four = fewest_moves(level), shortest_path(to_maze(level))
        return {
            "lava": jnp.sum(level.tiles == LAVA, dtype=jnp.float32),
            "path": jnp.maximum(moves, 0).astype(jnp.float32),
            "path_of_four": jnp.maximum(four, 0).astype(jnp.float32),
            "solvable": (moves >= 0).astype(jnp.float32),
        }


def to_maze(level: LavaLevel) -> MazeLevel:
    """The cells inside of the ring, with all that cannot be walked on as walls."""
    tiles = jnp.asarray(level.tiles)[1:-1, 1:-1]
    return MazeLevel(tiles != FLOOR, jnp.asarray(level.start) - 1, jnp.int32(0), jnp.asarray(level.goal) - 1)


def from_maze(room: MazeLevel) -> LavaLevel:
    """A ring of stone around a room whose walls are lava."""
    inside = jnp.where(room.walls, LAVA, FLOOR).astype(jnp.uint8)
    return LavaLevel(jnp.pad(inside, 1, constant_values=STONE), room.start + 1, room.goal + 1)


def fewest_moves(level: LavaLevel) -> Int[Array, ""]:
    """In eight directions from the start to the goal, -1 where there is no way."""
    tiles = jnp.asarray(level.tiles)
    return _distance(tiles, level.start, cell_mask(tiles.shape, level.goal))


def optimum(level: LavaLevel, penalty: Penalty, max_steps: int) -> Array:
    """The highest return. Where every step costs and there is no way, the best is to be done with it in lava."""
    moves = fewest_moves(level)
    solved = (moves >= 0) & (moves <= max_steps)
    if penalty == "bumps":
        return jnp.where(solved, 1.0, 0.0)
    tiles = jnp.asarray(level.tiles)
    lava = _distance(tiles, level.start, tiles == LAVA)
    steps = jnp.where(solved, moves, jnp.where((lava >= 0) & (lava <= max_steps), lava, max_steps))
    return jnp.where(solved, 1.0, 0.0) + PENALTY * steps


def _distance(tiles: Array, start: Int[Array, "2"], target: Bool[Array, "H W"]) -> Int[Array, ""]:
    """Moves over floor until one reaches a cell of the target, -1 if none ever does."""

    def further(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        reached, moves, _, _ = carry
        padded = jnp.pad(reached, 1)
        height, width = reached.shape
        spread = reached
        for i in range(3):
            for j in range(3):
                spread |= padded[i : i + height, j : j + width]
        walked = spread & (tiles == FLOOR)
        return walked, moves + 1, jnp.any(spread & target), jnp.any(walked != reached)

    first = (cell_mask(tiles.shape, start), jnp.int32(0), jnp.bool_(False), jnp.bool_(True))
    _, moves, there, _ = lax.while_loop(lambda carry: ~carry[2] & carry[3], further, first)
    return jnp.where(there, moves, -1)
