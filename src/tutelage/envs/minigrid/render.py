"""Pictures of levels and of episodes in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from .env import STEPS, GridState
from .level import AGENT, BALL, BOX, DOOR, EMPTY, GOAL, HELD, KEY, LOCKED, OPEN, WALL, GridLevel

_Colour = tuple[int, int, int]

_WALL, _WALL_EDGE = (66, 70, 78), (92, 96, 104)
_FLOOR, _FLOOR_EDGE = (250, 249, 246), (222, 220, 214)
_GOAL, _AGENT, _TRAIL = (72, 187, 96), (206, 38, 38), (226, 120, 60)
# Red, green, blue, purple, yellow and grey, each of a brightness of its own.
_COLOURS: tuple[_Colour, ...] = (
    (222, 92, 92),
    (52, 138, 72),
    (40, 72, 188),
    (122, 58, 176),
    (232, 190, 40),
    (150, 152, 156),
)

_FINE = 4
"""Drawn so many times larger and scaled down, for smooth edges."""


def picture(level: GridLevel, cell: int = 0) -> np.ndarray:
    """One level. Without a ``cell``, in pixels, it is about as wide as a caption."""
    cells = np.asarray(level.cells)
    return _picture(cells, level.start, level.direction, (), None, cell or max(4, 247 // cells.shape[0]))


def frames(level: GridLevel, states: GridState, cell: int = 0) -> Iterator[np.ndarray]:
    """An episode: the agent, what it carries, and where it has been. ``states`` are those of all its steps, the first
    included.
    """
    side = np.asarray(level.cells).shape[0]
    cell = cell or max(4, min(24, 504 // side))
    positions = np.asarray(states.position)
    for t, position in enumerate(positions):
        carried = np.asarray(states.carried[t])
        shown = () if carried[0] == EMPTY else (carried,)
        yield _picture(np.asarray(states.cells[t]), position, states.direction[t], shown, positions[: t + 1], cell)


def seen(obs: Any, cell: int = 12) -> np.ndarray:
    """What the student sees: the whole grid, the agent in it, without what boxes hold."""
    cells = np.array(obs)[..., :3]
    (x, y), *_ = np.argwhere(cells[..., 0] == AGENT)
    direction = int(cells[x, y, 2])
    cells[x, y] = (EMPTY, 0, 0)
    return _picture(cells, (x, y), direction, (), None, cell)


def _picture(cells: np.ndarray, position: Any, direction: Any, carried: Any, trail: Any, cell: int) -> np.ndarray:
    width, height, _ = cells.shape
    unit = cell * _FINE
    image = Image.new("RGB", (width * unit, height * unit), _FLOOR_EDGE)
    pen = ImageDraw.Draw(image)
    for x in range(width):
        for y in range(height):
            wall = cells[x, y, 0] == WALL
            if wall:
                _square(pen, x * unit, y * unit, unit, _WALL_EDGE, 0)
            _square(pen, x * unit, y * unit, unit, _WALL if wall else _FLOOR, _FINE)
            _thing(pen, cells[x, y], x * unit, y * unit, unit)

    if trail is not None and len(trail) > 1:
        points = [((x + 0.5) * unit, (y + 0.5) * unit) for x, y in np.asarray(trail)]
        pen.line([tuple(map(float, point)) for point in points], _TRAIL, max(1, unit // 8), joint="curve")
    ahead = STEPS[int(direction)]
    right = np.array([-ahead[1], ahead[0]])
    middle = (np.asarray(position, np.int32) + 0.5) * unit
    tip, back, side = ahead * 0.40 * unit, ahead * -0.34 * unit, right * 0.36 * unit
    pen.polygon([tuple(map(float, middle + corner)) for corner in (tip, back + side, back - side)], _AGENT)
    for thing in carried:
        corner = np.asarray(position, np.int32) * unit + 0.2 * unit
        _thing(pen, thing, float(corner[0]), float(corner[1]), 0.6 * unit)
    return np.asarray(image.resize((width * cell, height * cell), Image.Resampling.BOX))


def _square(pen: ImageDraw.ImageDraw, left: float, top: float, unit: float, colour: _Colour, margin: float) -> None:
    pen.rectangle((left + margin, top + margin, left + unit - 1, top + unit - 1), colour)


def _thing(pen: ImageDraw.ImageDraw, cell: Any, left: float, top: float, unit: float) -> None:
    """Whatever stands on a cell: doors have a frame, a handle or a keyhole; a box shows the key in it."""
    kind, tint, state = (int(number) for number in cell)
    colour = _COLOURS[tint]

    def box(x0: float, y0: float, x1: float, y1: float, fill: _Colour) -> None:
        pen.rectangle((left + x0 * unit, top + y0 * unit, left + x1 * unit, top + y1 * unit), fill)

    def disc(x: float, y: float, radius: float, fill: _Colour) -> None:
        x, y, radius = left + x * unit, top + y * unit, radius * unit
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill)

    def key(fill: _Colour, x: float, y: float, size: float) -> None:
        disc(x, y - 0.2 * size, 0.2 * size, fill)
        disc(x, y - 0.2 * size, 0.08 * size, _FLOOR)
        box(x - 0.06 * size, y, x + 0.06 * size, y + 0.42 * size, fill)
        for tooth in (0.16, 0.32):
            box(x - 0.2 * size, y + tooth * size, x, y + (tooth + 0.1) * size, fill)

    if kind == GOAL:
        _square(pen, left, top, unit, _GOAL, _FINE)
    elif kind == DOOR and state == OPEN:
        box(0.04, 0.04, 0.2, 0.96, colour)
    elif kind == DOOR:
        box(0.0, 0.0, 1.0, 1.0, colour)
        box(0.12, 0.12, 0.88, 0.88, _WALL if state == LOCKED else _FLOOR)
        if state == LOCKED:
            disc(0.5, 0.4, 0.14, colour)
            box(0.43, 0.4, 0.57, 0.74, colour)
        else:
            box(0.2, 0.2, 0.8, 0.8, colour)
            disc(0.66, 0.5, 0.08, _FLOOR)
    elif kind == KEY:
        key(colour, 0.5, 0.44, 1.0)
    elif kind == BALL:
        disc(0.5, 0.5, 0.32, colour)
    elif kind == BOX:
        box(0.12, 0.12, 0.88, 0.88, colour)
        box(0.2, 0.2, 0.8, 0.8, _FLOOR)
        if state:
            key(_COLOURS[state // HELD - 1], 0.5, 0.48, 0.6)
