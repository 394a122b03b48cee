"""Pictures of levels and of episodes in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from ...rl.glyphs import GlyphObs
from .env import LavaState
from .level import AGENT, DOWN, FLOOR, LAVA, STONE, UP, WALL, LavaLevel

_Colour = tuple[int, int, int]

# Each differs in brightness too, so that a grey print can be read.
_TILES: dict[int, _Colour] = {STONE: (40, 42, 48), WALL: (92, 96, 104), FLOOR: (250, 249, 246), LAVA: (214, 84, 30)}
_EDGE, _GLOW = (222, 220, 214), (250, 178, 70)
_GOAL, _START, _AGENT, _TRAIL = (72, 187, 96), (150, 152, 156), (40, 72, 188), (90, 130, 220)

_FINE = 4
"""Drawn so many times larger and scaled down, for smooth edges."""


def picture(level: LavaLevel, cell: int = 0) -> np.ndarray:
    """One level. Without a ``cell``, in pixels, it is about as wide as a caption."""
    return _picture(level, level.start, None, cell or max(4, 180 // np.asarray(level.tiles).shape[0]))


def frames(level: LavaLevel, states: LavaState, cell: int = 0) -> Iterator[np.ndarray]:
    """An episode: the agent, and where it has been. ``states`` are those of all its steps, the first included."""
    cell = cell or max(4, min(32, 504 // np.asarray(level.tiles).shape[0]))
    positions = np.asarray(states.position)
    for t, position in enumerate(positions):
        yield _picture(level, position, positions[: t + 1], cell)


def seen(obs: GlyphObs, cell: int = 12) -> np.ndarray:
    """What the student sees: the whole level, with itself on top of where it stands."""
    glyphs, (x, y) = np.asarray(obs.glyphs), np.asarray(obs.position)
    tiles = np.where(np.isin(glyphs, (UP, DOWN, AGENT)), FLOOR, glyphs)
    stairs = [np.argwhere(glyphs == glyph)[:, ::-1] for glyph in (UP, DOWN)]
    start, goal = (found[0] if len(found) else np.array([x, y]) for found in stairs)
    return _picture(LavaLevel(tiles, start, goal), (x, y), None, cell)  # pyright: ignore[reportArgumentType]


def _picture(level: LavaLevel, position: Any, trail: Any, cell: int) -> np.ndarray:
    tiles = np.asarray(level.tiles)
    height, width = tiles.shape
    unit = cell * _FINE
    image = Image.new("RGB", (width * unit, height * unit), _EDGE)
    pen = ImageDraw.Draw(image)

    def box(x: float, y: float, colour: _Colour, margin: float) -> None:
        pen.rectangle((x * unit + margin, y * unit + margin, (x + 1) * unit - 1, (y + 1) * unit - 1), colour)

    for y in range(height):
        for x in range(width):
            box(x, y, _TILES[int(tiles[y, x])], _FINE if tiles[y, x] in (FLOOR, LAVA) else 0)
            if tiles[y, x] == LAVA:  # waves
                for row in (0.35, 0.65):
                    line = [(x + 0.2, y + row), (x + 0.4, y + row - 0.1), (x + 0.6, y + row), (x + 0.8, y + row - 0.1)]
                    pen.line([(a * unit, b * unit) for a, b in line], _GLOW, max(1, unit // 12), joint="curve")
    for (x, y), colour, steps in (
        (np.asarray(level.start), _START, (0.7, 0.5, 0.3)),
        (np.asarray(level.goal), _GOAL, (0.3, 0.5, 0.7)),
    ):
        for i, step in enumerate(steps):  # three steps of a stair
            left, top = x + 0.14 + 0.25 * i, y + min(step, 0.8)
            pen.rectangle((left * unit, top * unit, (left + 0.24) * unit, (y + 0.88) * unit), colour)
    if trail is not None and len(trail) > 1:
        points = [((x + 0.5) * unit, (y + 0.5) * unit) for x, y in np.asarray(trail)]
        pen.line([tuple(map(float, point)) for point in points], _TRAIL, max(1, unit // 8), joint="curve")
    x, y = np.asarray(position)
    pen.ellipse(((x + 0.25) * unit, (y + 0.25) * unit, (x + 0.75) * unit, (y + 0.75) * unit), _AGENT)
    return np.asarray(image.resize((width * cell, height * cell), Image.Resampling.BOX))
