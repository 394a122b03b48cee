"""Pictures of mazes: one, many with captions, and an episode that moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ...errors import require
from .env import STEPS, MazeState, Trial, TrialState
from .level import MazeLevel, crop

# Each differs in brightness too, so that a grey print can be read.
WALL, WALL_EDGE = (66, 70, 78), (92, 96, 104)
FLOOR, FLOOR_EDGE = (250, 249, 246), (222, 220, 214)
GOAL, AGENT, TRAIL, SEEN = (72, 187, 96), (206, 38, 38), (226, 120, 60), (255, 228, 140)
TEXT, PAPER = (40, 40, 40), (255, 255, 255)

_FINE = 4
"""Drawn so many times larger and scaled down, for smooth edges."""


def draw(level: MazeLevel, path: Any = None, cell: int = 12) -> np.ndarray:
    """One maze with its border, RGB. ``path`` is a sequence of (x, y) that the agent went through."""
    return np.asarray(_picture(level, level.start, level.direction, path, cell))


def gallery(
    levels: Sequence[MazeLevel], captions: Sequence[str], path: str | Path, columns: int = 6, cell: int = 0
) -> None:
    """Write many mazes into one PNG, a caption under each. Lines of a caption are split at a line break.

    Without a ``cell``, mazes are drawn about as wide as a caption.
    """
    require(len(levels) > 0, "There are no mazes to draw; give at least one.")
    require(
        len(levels) == len(captions),
        f"There are {len(levels)} mazes and {len(captions)} captions; give as many of both.",
    )
    require(columns >= 1, f"columns is {columns}; give at least 1.")
    cell = cell or max(4, 180 // (max(max(level.walls.shape) for level in levels) + 2))
    font = ImageFont.load_default(size=12)
    pictures = [_picture(level, level.start, level.direction, None, cell) for level in levels]
    columns, gap = min(columns, len(levels)), 14
    rows = [range(i, min(i + columns, len(levels))) for i in range(0, len(levels), columns)]

    ruler = ImageDraw.Draw(pictures[0])
    texts = [ruler.multiline_textbbox((0, 0), text, font)[2:] for text in captions]
    width = max(int(max(picture.width, text[0])) for picture, text in zip(pictures, texts, strict=True))
    tops = [max(pictures[i].height for i in row) + 6 for row in rows]
    heights = [top + int(max(texts[i][1] for i in row)) + gap for top, row in zip(tops, rows, strict=True)]

    sheet = Image.new("RGB", (gap + columns * (width + gap), gap + sum(heights)), PAPER)
    pen = ImageDraw.Draw(sheet)
    y = gap
    for row, top, height in zip(rows, tops, heights, strict=True):
        for column, i in enumerate(row):
            middle = gap + column * (width + gap) + width // 2
            sheet.paste(pictures[i], (middle - pictures[i].width // 2, y + top - 6 - pictures[i].height))
            pen.multiline_text((middle, y + top), captions[i], TEXT, font, anchor="ma", align="center")
        y += height
    sheet.save(path, format="PNG")


def animate(
    level: MazeLevel, positions: Any, directions: Any, path: str | Path, view: int = 5, cell: int = 16, pace: int = 120
) -> None:
    """Write an episode as a GIF: the agent, its view lightly shaded, and where it has been. ``pace`` is ms a step."""
    positions, directions = np.asarray(positions), np.asarray(directions)
    require(
        len(positions) > 0 and len(positions) == len(directions),
        f"There are {len(positions)} positions and {len(directions)} directions; give as many of both, at least one.",
    )
    frames = [
        _picture(level, positions[t], directions[t], positions[: t + 1], cell, view).quantize(64)
        for t in range(len(positions))
    ]
    # The last frame stays, so that one sees how it ended.
    duration = [pace] * (len(frames) - 1) + [8 * pace]
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=duration, loop=0)


def animate_episode(level: MazeLevel | Trial, states: MazeState | TrialState, path: str | Path, view: int = 5) -> None:
    """Write a recorded episode as a GIF. ``states`` are those of all its steps, the first included."""
    maze = level.level if isinstance(level, Trial) else level
    played = states.maze if isinstance(states, TrialState) else states
    animate(crop(maze), played.position, played.direction, path, view, cell=24)


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
