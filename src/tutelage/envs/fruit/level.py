"""A level as data, and as text that a person can read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Int, UInt8

from ...errors import UserError, require

STONE, WALL, FLOOR, DOOR, BROKEN, APPLE, BANANA, UP, AGENT = range(9)
"""What can be seen of a cell; ``STONE`` is also what was not seen yet. A level has the first four."""

_CHARACTERS = {"_": STONE, "#": WALL, ".": FLOOR, "+": DOOR}
_ALLOWED = (
    "Allowed are '_' (rock), '#' (wall), '.' (floor), '+' (locked door), one '<' (start), one 'a' or 'A' (apple) and "
    "one 'b' or 'B' (banana), where the capital is the fruit that pays"
)


class FruitLevel(NamedTuple):
    """A chain of rooms. Positions are (x, y), arrays are [y, x]."""

    tiles: UInt8[Array, "H W"]
    """``STONE``, ``WALL``, ``FLOOR`` or ``DOOR``. Rooms are rectangles."""
    start: Int[Array, "2"]
    apple: Int[Array, "2"]
    banana: Int[Array, "2"]
    apple_pays: Bool[Array, ""]
    """Which of the two is right: hidden from the student."""


def to_text(level: FruitLevel) -> str:
    """A line for each row; ``from_text`` reads it back."""
    tiles, pays = np.asarray(level.tiles), bool(level.apple_pays)
    shown = np.full(tiles.shape, "_")
    for character, tile in _CHARACTERS.items():
        shown[tiles == tile] = character
    places = {"<": level.start, "A" if pays else "a": level.apple, "b" if pays else "B": level.banana}
    for character, place in places.items():
        x, y = np.asarray(place)
        require(
            0 <= x < tiles.shape[1] and 0 <= y < tiles.shape[0],
            f"'{character}' of the level is at ({x}, {y}), outside of its {tiles.shape[1]} columns and "
            f"{tiles.shape[0]} rows.",
        )
        shown[y, x] = character
    return "\n".join("".join(row) for row in shown)


def from_text(text: str, size: int) -> FruitLevel:
    """Read a level of so many cells a side. Blank lines around are ignored."""
    rows = [line.strip() for line in text.strip().splitlines()]
    require(len(rows) == size, f"The level has {len(rows)} rows, and env.size is {size}. {_ALLOWED}.")
    for y, row in enumerate(rows):
        require(len(row) == size, f"Row {y + 1} of the level has {len(row)} cells, and env.size is {size}. {_ALLOWED}.")
    grid = np.array([list(row) for row in rows])
    for y, x in np.argwhere(~np.isin(grid, list(f"<aAbB{''.join(_CHARACTERS)}"))):
        raise UserError(f"Row {y + 1}, column {x + 1} of the level is '{grid[y, x]}'. {_ALLOWED}.")
    places = []
    for name, characters in (("start", "<"), ("apple", "aA"), ("banana", "bB")):
        found = np.argwhere(np.isin(grid, list(characters)))
        require(len(found) == 1, f"The level has {len(found)} of {name}; it needs exactly one. {_ALLOWED}.")
        places.append(found[0][::-1])
    apple_pays = bool((grid == "A").any())
    require(
        apple_pays != bool((grid == "B").any()),
        f"The level has to say which fruit pays, and only one does. {_ALLOWED}.",
    )
    tiles = np.full(grid.shape, FLOOR)
    for character, tile in _CHARACTERS.items():
        tiles[grid == character] = tile
    edge = np.pad(np.zeros((size - 2, size - 2), bool), 1, constant_values=True)
    require(
        not (edge & ((tiles == FLOOR) | (tiles == DOOR))).any(),
        "The level has floor or a door on its border; rooms are walled in.",
    )
    arrays: Any = (
        np.asarray(tiles, np.uint8),
        *(np.asarray(place, np.int32) for place in places),
        np.asarray(apple_pays),
    )
    return FruitLevel(*arrays)
