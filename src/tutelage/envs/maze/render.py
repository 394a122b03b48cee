"""Pictures of mazes and of episodes in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from .env import STEPS, MazeObs, MazeState, Trial
from .level import MazeLevel, crop

# Each differs in brightness too, so that a grey print can be read.
WALL, WALL_EDGE = (66, 70, 78), (92, 96, 104)
FLOOR, FLOOR_EDGE = (250, 249, 246), (222, 220, 214)
GOAL, AGENT, TRAIL, SEEN = (72, 187, 96), (206, 38, 38), (226, 120, 60), (255, 228, 140)

_FINE = 4
"""Drawn so many times larger and scaled down, for smooth edges."""


def shown(level: MazeLevel | Trial) -> MazeLevel:
    """The maze of a level, without the walls that a held-out one was padded with."""
    return crop(level.level) if isinstance(level, Trial) else level


def picture(level: MazeLevel | Trial, cell: int = 0) -> np.ndarray:
    """One maze with its border. Without a ``cell``, in pixels, it is about as wide as a caption."""
    maze = shown(level)
    cell = cell or max(4, 180 // _side(maze))
    return np.asarray(_picture(maze, maze.start, maze.direction, None, cell))


def frames(level: MazeLevel | Trial, states: MazeState, view: int = 5, cell: int = 0) -> Iterator[np.ndarray]:
    """An episode: the agent, its view lightly shaded, and where it has been.

    ``states`` are those of all its steps, the first included.
    """
    maze, played = shown(level), states
    cell = cell or max(4, min(24, 504 // _side(maze)))
    positions, directions = np.asarray(played.position), np.asarray(played.direction)
    for t, (position, direction) in enumerate(zip(positions, directions, strict=True)):
        yield np.asarray(_picture(maze, position, direction, positions[: t + 1], cell, view))


_SHOWN = {0: (120, 124, 132), 1: FLOOR, 2: WALL, 8: GOAL}
"""MiniGrid's numbers of objects as colours; 0 is what the agent cannot see."""


def seen(obs: MazeObs, cell: int = 24) -> np.ndarray:
    """What the agent sees: it is in the middle of the last row, and looks up."""
    objects = np.asarray(obs.image)[..., 0].T
    colours = np.zeros((*objects.shape, 3), np.uint8)
    for number, colour in _SHOWN.items():
        colours[objects == number] = colour
    shown = colours.repeat(cell, axis=0).repeat(cell, axis=1)
    shown[::cell], shown[:, ::cell] = FLOOR_EDGE, FLOOR_EDGE
    image = Image.fromarray(shown)
    side, middle = objects.shape[0] * cell, objects.shape[1] // 2 * cell + cell / 2
    top, bottom = side - 0.86 * cell, side - 0.14 * cell
    ImageDraw.Draw(image).polygon([(middle, top), (middle + cell / 3, bottom), (middle - cell / 3, bottom)], AGENT)
    return np.asarray(image)


def _side(level: MazeLevel) -> int:
    """Cells, with the border."""
    return max(level.walls.shape) + 2


def _picture(level: MazeLevel, position: Any, direction: Any, trail: Any, cell: int, view: int = 0) -> Image.Image:
    walls = np.pad(np.asarray(level.walls), 1, constant_values=True)
    height, width = walls.shape
    unit = cell * _FINE
    image = Image.new("RGB", (width * unit, height * unit), FLOOR_EDGE)
    pen = ImageDraw.Draw(image)
    (x, y), direction = np.asarray(position) + 1, int(direction)
    ahead, (goal_x, goal_y) = STEPS[direction], np.asarray(level.goal) + 1
    right = np.array([-ahead[1], ahead[0]])

    def square(column: int, row: int, colour: tuple[int, int, int], margin: int) -> None:
        corner = (column * unit + margin, row * unit + margin, (column + 1) * unit - 1, (row + 1) * unit - 1)
        pen.rectangle(corner, colour)

    for row in range(height):
        for column in range(width):
            offset = np.array([column - x, row - y])
            seen = 0 <= offset @ ahead < view and abs(offset @ right) <= view // 2
            wall = walls[row, column]
            if wall:
                square(column, row, WALL_EDGE, 0)
            colour = WALL if wall else FLOOR
            square(column, row, _mix(colour, SEEN, 0.25 if wall else 0.55) if seen else colour, _FINE)
    square(int(goal_x), int(goal_y), GOAL, _FINE)

    if trail is not None and len(trail) > 1:
        points = [((px + 1.5) * unit, (py + 1.5) * unit) for px, py in np.asarray(trail)]
        pen.line([tuple(map(float, point)) for point in points], TRAIL, max(1, unit // 6), joint="curve")
    middle = (np.array([x, y]) + 0.5) * unit
    tip, back, side = ahead * 0.40 * unit, ahead * -0.34 * unit, right * 0.36 * unit
    pen.polygon([tuple(map(float, middle + corner)) for corner in (tip, back + side, back - side)], AGENT)
    return image.resize((width * cell, height * cell), Image.Resampling.BOX)


def _mix(colour: tuple[int, int, int], other: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue
