"""A level as data, and as text that a person can read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, UInt8

from ...errors import UserError, require

EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA, AGENT = range(1, 11)
"""MiniGrid's numbers of objects; 0 is what nobody sees."""
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(6)
"""MiniGrid's numbers of colours."""
OPEN, CLOSED, LOCKED = range(3)
"""States of a door."""

HELD = 16
"""The hidden part of a state counts in sixteens."""

NOTHING = np.array([EMPTY, 0, 0], np.uint8)
"""An empty cell, or an empty hand."""
BRICK = np.array([WALL, GREY, 0], np.uint8)
TARGET = np.array([GOAL, GREEN, 0], np.uint8)
PRIZE = np.array([BALL, BLUE, 0], np.uint8)
"""The ball to be picked up in an obstructed maze. No other ball is blue."""

HEADINGS = ">v<^"
"""The agent as a character, by direction."""
_COLOURS = "rgbpye"
_DOORS = "ODL"
_PLAIN = {".": NOTHING, "#": BRICK, "G": TARGET}
_ALLOWED = (
    "Cells are separated by spaces: '#' (wall), '.' (empty), 'G' (goal), one of '>', 'v', '<', '^' (agent), or two "
    "letters: 'D' (closed door), 'O' (open door), 'L' (locked door), 'K' (key), 'B' (ball) or 'X' (box), then a "
    "colour, 'r' (red), 'g' (green), 'b' (blue), 'p' (purple), 'y' (yellow) or 'e' (grey); a box that holds a key has "
    "the key's colour as its third letter"
)


class GridLevel(NamedTuple):
    """A whole grid. Positions are (x, y), and so are arrays: column before row, as in MiniGrid's observations."""

    cells: UInt8[Array, "W H 3"]
    """Object, colour and state of each cell, in MiniGrid's numbers. The upper four bits of a state are hidden
    from view: for a box that holds a key they are 1 more than the key's colour."""
    start: UInt8[Array, "2"]
    direction: UInt8[Array, ""]
    """0 right, 1 down, 2 left, 3 up."""


def to_text(level: GridLevel) -> str:
    """A line for each row, a word for each cell; ``from_text`` reads it back."""
    cells = np.asarray(level.cells)
    words = [[_word(cell) for cell in row] for row in cells.transpose(1, 0, 2)]
    x, y = np.asarray(level.start)
    words[y][x] = HEADINGS[int(level.direction)]
    return "\n".join(" ".join(word.ljust(3) for word in row).rstrip() for row in words)


def from_text(text: str, size: int, ball: bool) -> GridLevel:
    """Read a square level of so many cells a side; ``ball``: its goal is the blue ball."""
    rows = [line.split() for line in text.strip().splitlines()]
    require(
        len(rows) == size,
        f"The level has {len(rows)} rows, and this task has {size}; draw a row on every line. {_ALLOWED}.",
    )
    cells = np.empty((size, size, 3), np.uint8)
    starts: list[tuple[int, int, int]] = []
    for y, row in enumerate(rows):
        require(
            len(row) == size, f"Row {y + 1} of the level has {len(row)} cells, and this task has {size}. {_ALLOWED}."
        )
        for x, word in enumerate(row):
            if word in HEADINGS:
                starts.append((x, y, HEADINGS.index(word)))
                cells[x, y] = NOTHING
            else:
                cells[x, y] = _cell(word, f"row {y + 1}, column {x + 1}")
    places = "".join(f", row {y + 1} column {x + 1}" for x, y, _ in starts)
    require(
        len(starts) == 1, f"The level has {len(starts)} agents{places}; it needs exactly one of '>', 'v', '<', '^'."
    )
    (x, y, direction), *_ = starts
    level = GridLevel(cells, *(np.asarray(value, np.uint8) for value in ([x, y], direction)))  # pyright: ignore[reportArgumentType]
    check(level, ball)
    return level


def check(level: GridLevel, ball: bool) -> None:
    """Refuse a level that is not one of a task. On the host: for levels that people bring."""
    cells, (x, y) = np.asarray(level.cells), np.asarray(level.start)
    wanted, name, other = (PRIZE, "blue balls ('Bb')", "goals") if ball else (TARGET, "goals ('G')", "blue balls")
    found = int((cells == wanted).all(-1).sum())
    require(found == 1, f"The level has {found} {name}; it needs exactly one.")
    stray = int((cells == (TARGET if ball else PRIZE)).all(-1).sum())
    require(stray == 0, f"The level has {stray} {other}, which are worth nothing in this task; leave them out.")
    require(
        cells[x, y, 0] == EMPTY, f"The agent starts at x={x}, y={y}, where something is; start it on an empty cell."
    )


def _word(cell: Any) -> str:
    kind, colour, state = (int(number) for number in cell)
    for word, plain in _PLAIN.items():
        if kind == plain[0]:
            return word
    if kind == DOOR:
        return _DOORS[state] + _COLOURS[colour]
    if kind in (KEY, BALL, BOX):
        held = _COLOURS[state // HELD - 1] if kind == BOX and state else ""
        return "KBX"[kind - KEY] + _COLOURS[colour] + held
    raise UserError(f"A cell of the level is {[kind, colour, state]}, which is not an object of this environment.")


def _cell(word: str, where: str) -> Any:
    if word in _PLAIN:
        return _PLAIN[word]
    kind, colour, held = word[:1], _COLOURS.find(word[1:2]), _COLOURS.find(word[2:3])
    known = kind in f"KBX{_DOORS}" and len(word) in (2, 3) and min(colour, held) >= 0
    if not known or (len(word) == 3 and kind != "X"):
        raise UserError(f"'{word}' in {where} of the level is not a cell. {_ALLOWED}.")
    if kind in _DOORS:
        return DOOR, colour, _DOORS.index(kind)
    return KEY + "KBX".index(kind), colour, HELD * (held + 1) if len(word) == 3 else 0
