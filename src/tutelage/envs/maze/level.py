"""A maze as data, and as text that a person can read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ...errors import UserError, require

HEADINGS = ">v<^"
"""The start as a character, by direction."""

_ALLOWED = "Allowed are '#' (wall), '.' (free), one 'G' (goal) and one of 'S', '>', 'v', '<', '^' (start)"


class MazeLevel(NamedTuple):
    """A maze without its outer ring of walls, which every maze has. Positions are (x, y), arrays are [y, x]."""

    walls: Bool[Array, "H W"]
    start: Int[Array, "2"]
    direction: Int[Array, ""]
    """MiniGrid's order: 0 right, 1 down, 2 left, 3 up."""
    goal: Int[Array, "2"]


def from_ascii(text: str, direction: int = 0) -> MazeLevel:
    """Read a maze drawn with its outer ring. ``direction`` is that of a plain 'S'. Blank lines around are ignored."""
    rows = [line.strip() for line in text.strip().splitlines()]
    require(
        len(rows) >= 3 and len(rows[0]) >= 3,
        "The maze is too small; draw at least one cell inside an outer ring of '#'.",
    )
    for y, row in enumerate(rows):
        require(
            len(row) == len(rows[0]),
            f"Row {y + 1} of the maze is {len(row)} characters long and row 1 is {len(rows[0])}; "
            "make all rows equally long.",
        )
    require(direction in range(4), f"The direction is {direction}; give 0 right, 1 down, 2 left or 3 up.")

    grid = np.array([list(row) for row in rows])
    ring = np.pad(np.zeros((grid.shape[0] - 2, grid.shape[1] - 2), bool), 1, constant_values=True)
    for y, x in np.argwhere(~np.isin(grid, list(f"#.SG{HEADINGS}"))):
        raise UserError(f"Row {y + 1}, column {x + 1} of the maze is '{grid[y, x]}'. {_ALLOWED}.")
    for y, x in np.argwhere(ring & (grid != "#")):
        raise UserError(
            f"Row {y + 1}, column {x + 1} of the maze is '{grid[y, x]}', but the outer ring is walls; put '#' there."
        )

    starts = np.argwhere(np.isin(grid, list(f"S{HEADINGS}")))
    goals = np.argwhere(grid == "G")
    for name, found in (("start", starts), ("goal", goals)):
        if len(found) != 1:
            places = "".join(f", row {y + 1} column {x + 1}" for y, x in found)
            raise UserError(f"The maze has {len(found)} {name}s{places}; it needs exactly one. {_ALLOWED}.")

    heading = HEADINGS.find(str(grid[tuple(starts[0])]))
    return _level(
        grid[1:-1, 1:-1] == "#", starts[0][::-1] - 1, heading if heading >= 0 else direction, goals[0][::-1] - 1
    )


def to_ascii(level: MazeLevel) -> str:
    """The maze with its outer ring; ``from_ascii`` reads it back."""
    check(level)
    grid = np.where(np.pad(np.asarray(level.walls), 1, constant_values=True), "#", ".")
    (start_x, start_y), (goal_x, goal_y) = np.asarray(level.start), np.asarray(level.goal)
    grid[start_y + 1, start_x + 1] = HEADINGS[int(level.direction)]
    grid[goal_y + 1, goal_x + 1] = "G"
    return "\n".join("".join(row) for row in grid)


def check(level: MazeLevel) -> None:
    """Refuse a maze that cannot be played. On the host: for levels that people bring."""
    walls, start, goal = np.asarray(level.walls), np.asarray(level.start), np.asarray(level.goal)
    require(
        walls.ndim == 2 and walls.dtype == bool and walls.size >= 1,
        f"The walls are {walls.dtype}{list(walls.shape)}; give a bool array of [height, width] of one level.",
    )
    height, width = walls.shape
    for name, cell in (("start", start), ("goal", goal)):
        require(
            cell.shape == (2,) and np.issubdtype(cell.dtype, np.integer),
            f"The {name} is {cell.dtype}{list(cell.shape)}; give two whole numbers (x, y).",
        )
        x, y = cell
        require(
            0 <= x < width and 0 <= y < height,
            f"The {name} is at x={x}, y={y}, outside of the maze; allowed are x from 0 to {width - 1} "
            f"and y from 0 to {height - 1}.",
        )
        require(not walls[y, x], f"The {name} is at x={x}, y={y}, inside a wall; move it to a free cell.")
    require(
        not np.array_equal(start, goal), f"Start and goal are both at x={start[0]}, y={start[1]}; move one of them."
    )
    require(
        int(level.direction) in range(4),
        f"The direction is {int(level.direction)}; give 0 right, 1 down, 2 left or 3 up.",
    )


def pad(level: MazeLevel, size: int) -> MazeLevel:
    """The same maze to play in a bigger square: the walls below and on the right are as solid as the border."""
    height, width = level.walls.shape
    require(
        size >= max(height, width), f"A maze of {width}x{height} cells does not fit into {size}x{size}; pad to more."
    )
    return level._replace(
        walls=jnp.pad(jnp.asarray(level.walls), ((0, size - height), (0, size - width)), constant_values=True)
    )


def crop(level: MazeLevel) -> MazeLevel:
    """The smallest maze that plays the same: undoes ``pad``. On the host: for pictures."""
    walls = np.asarray(level.walls)
    height, width = (int(np.flatnonzero(~walls.all(axis)).max()) + 1 for axis in (1, 0))
    return _level(walls[:height, :width], level.start, level.direction, level.goal)


def _level(walls: Any, start: Any, direction: Any, goal: Any) -> MazeLevel:
    """With the dtypes of a generated level, so that both compile once."""
    arrays: Any = (np.asarray(walls, bool), *(np.asarray(value, np.int32) for value in (start, direction, goal)))
    return MazeLevel(*arrays)
