"""A level as data, and as text that a person can read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Int, UInt8

from ...errors import UserError, require

STONE, FLOOR, WALL, LAVA, UP, DOWN, AGENT = range(7)
"""What can be seen of a cell. A level has the first four; the stairs are where it starts and where it leads."""

_CHARACTERS = {".": FLOOR, "#": WALL, "}": LAVA}
_ALLOWED = "Allowed are '.' (floor), '}' (lava), '#' (wall), one '<' (start) and one '>' (goal)"


class LavaLevel(NamedTuple):
    """A square with the ring around it. Positions are (x, y) and count the ring, arrays are [y, x]."""

    tiles: UInt8[Array, "H W"]
    """``FLOOR``, ``LAVA`` or ``WALL``; the ring is ``STONE``, or ``WALL`` where a level is walled in."""
    start: Int[Array, "2"]
    goal: Int[Array, "2"]


def to_text(level: LavaLevel) -> str:
    """In NetHack's characters. A ring of stone is left out; ``from_text`` reads it back."""
    tiles = np.asarray(level.tiles)
    shown = np.full(tiles.shape, " ")
    for character, tile in _CHARACTERS.items():
        shown[tiles == tile] = character
    for character, name, (x, y) in (("<", "start", np.asarray(level.start)), (">", "goal", np.asarray(level.goal))):
        require(
            0 <= x < tiles.shape[1] and 0 <= y < tiles.shape[0],
            f"The level's {name} is ({x}, {y}), outside of its {tiles.shape[1]} columns and {tiles.shape[0]} rows.",
        )
        shown[y, x] = character
    if tiles[0, 0] == STONE:
        shown = shown[1:-1, 1:-1]
    return "\n".join("".join(row) for row in shown)


def from_text(text: str, size: int) -> LavaLevel:
    """Read a level of so many cells a side, or of two more with a ring of walls. Blank lines around are ignored."""
    rows = [line.strip() for line in text.strip().splitlines()]
    walled = len(rows) == size + 2
    require(
        walled or len(rows) == size,
        f"The level has {len(rows)} rows; draw {size}, or {size + 2} with a ring of walls. {_ALLOWED}.",
    )
    for y, row in enumerate(rows):
        require(
            len(row) == len(rows),
            f"Row {y + 1} of the level has {len(row)} cells, and there are {len(rows)} rows; a level is a square.",
        )
    grid = np.array([list(row) for row in rows])
    for y, x in np.argwhere(~np.isin(grid, list(f"<>{''.join(_CHARACTERS)}"))):
        raise UserError(f"Row {y + 1}, column {x + 1} of the level is '{grid[y, x]}'. {_ALLOWED}.")
    ring = np.pad(np.zeros((size, size), bool), 1, constant_values=True)
    if walled:
        for y, x in np.argwhere(ring & (grid != "#")):
            raise UserError(
                f"Row {y + 1}, column {x + 1} of the level is '{grid[y, x]}', and the ring of a level with "
                f"{size + 2} rows is walls; put '#' there."
            )
    else:
        grid = np.pad(grid, 1, constant_values=" ")
    places = {}
    for name, character in (("start", "<"), ("goal", ">")):
        found = np.argwhere(grid == character)
        require(len(found) == 1, f"The level has {len(found)} of '{character}' ({name}); it needs exactly one.")
        places[name] = found[0][::-1]
    tiles = np.full(grid.shape, FLOOR)
    tiles[ring] = WALL if walled else STONE
    for character, tile in _CHARACTERS.items():
        tiles[grid == character] = tile
    return made(tiles, places["start"], places["goal"])


def made(tiles: Any, start: Any, goal: Any) -> LavaLevel:
    """With the dtypes of a generated level, so that both compile once. On the host."""
    arrays: Any = (np.asarray(tiles, np.uint8), np.asarray(start, np.int32), np.asarray(goal, np.int32))
    return LavaLevel(*arrays)
