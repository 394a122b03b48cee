"""Pictures of levels and of episodes in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from ...rl.glyphs import GlyphObs
from .env import HEALTH, FruitState
from .level import AGENT, APPLE, BANANA, BROKEN, DOOR, FLOOR, STONE, UP, WALL, FruitLevel

_Colour = tuple[int, int, int]

# Each differs in brightness too, so that a grey print can be read.
_TILES: dict[int, _Colour] = {
    STONE: (40, 42, 48),
    WALL: (110, 114, 122),
    FLOOR: (250, 249, 246),
    DOOR: (138, 90, 44),
    BROKEN: (224, 200, 164),
}
_APPLE, _BANANA, _AGENT, _TRAIL, _START = (206, 38, 38), (240, 200, 40), (40, 72, 188), (90, 130, 220), (150, 152, 156)
_PAYS, _HEALTH, _HURT = (60, 160, 84), (60, 160, 84), (206, 38, 38)

_FINE = 4
"""Drawn so many times larger and scaled down, for smooth edges."""


def picture(level: FruitLevel, cell: int = 0) -> np.ndarray:
    """One level: the fruit that pays has a ring. Without a ``cell``, in pixels, it is about as wide as a caption."""
    tiles = np.asarray(level.tiles)
    return _picture(level, tiles, np.ones_like(tiles, bool), level.start, None, HEALTH, cell or _fitting(tiles, 252))


def frames(level: FruitLevel, states: FruitState, cell: int = 0) -> Iterator[np.ndarray]:
    """An episode: the agent, where it has been, its health at the top; what it has not seen yet is dark.

    ``states`` are those of all its steps, the first included.
    """
    positions = np.asarray(states.position)
    cell = cell or _fitting(np.asarray(level.tiles), 504)
    for t, position in enumerate(positions):
        tiles, seen = np.asarray(states.tiles[t]), np.asarray(states.seen[t])
        shown = level._replace(apple_pays=np.asarray(states.apple_pays[t]))
        yield _picture(shown, tiles, seen, position, positions[: t + 1], int(states.health[t]), cell)


def seen(obs: GlyphObs, cell: int = 12) -> np.ndarray:
    """What the student sees: all that it has ever seen, without which fruit pays."""
    glyphs = np.asarray(obs.glyphs)
    unit = cell * _FINE
    height, width = glyphs.shape
    image = Image.new("RGB", (width * unit, height * unit), _TILES[STONE])
    pen = ImageDraw.Draw(image)
    things = {DOOR: (0.14, _TILES[FLOOR]), UP: (0.16, _START), APPLE: (0.32, _APPLE), BANANA: (0.32, _BANANA)}
    things[AGENT] = 0.28, _AGENT
    for y in range(height):
        for x in range(width):
            glyph = int(glyphs[y, x])
            colour = _TILES.get(glyph, _TILES[FLOOR])
            pen.rectangle((x * unit, y * unit, (x + 1) * unit - 1, (y + 1) * unit - 1), colour)
            if glyph in things:
                radius, colour = things[glyph]
                near, far = 0.5 - radius, 0.5 + radius
                pen.ellipse(((x + near) * unit, (y + near) * unit, (x + far) * unit, (y + far) * unit), colour)
    return np.asarray(image.resize((width * cell, height * cell), Image.Resampling.BOX))


def _fitting(tiles: np.ndarray, width: int) -> int:
    return max(4, min(24, width // tiles.shape[0]))


def _picture(
    level: FruitLevel, tiles: np.ndarray, seen: np.ndarray, position: Any, trail: Any, health: int, cell: int
) -> np.ndarray:
    height, width = tiles.shape
    unit = cell * _FINE
    image = Image.new("RGB", (width * unit, height * unit), _TILES[STONE])
    pen = ImageDraw.Draw(image)

    def disc(place: Any, radius: float, colour: _Colour) -> None:
        x, y = np.asarray(place) + 0.5
        corners = ((x - radius) * unit, (y - radius) * unit, (x + radius) * unit, (y + radius) * unit)
        pen.ellipse(tuple(map(float, corners)), colour)

    for y in range(height):
        for x in range(width):
            colour = _TILES[int(tiles[y, x])]
            colour = colour if seen[y, x] else _darker(colour)
            pen.rectangle((x * unit, y * unit, (x + 1) * unit - 1, (y + 1) * unit - 1), colour)
            if tiles[y, x] == DOOR:  # its lock
                disc((x, y), 0.14, _TILES[FLOOR])
    disc(level.start, 0.16, _START)
    for place, colour, pays in ((level.apple, _APPLE, level.apple_pays), (level.banana, _BANANA, ~level.apple_pays)):
        if pays:
            disc(place, 0.46, _PAYS)
        disc(place, 0.32, colour)
    if trail is not None and len(trail) > 1:
        points = [((x + 0.5) * unit, (y + 0.5) * unit) for x, y in np.asarray(trail)]
        pen.line([tuple(map(float, point)) for point in points], _TRAIL, max(1, unit // 8), joint="curve")
    disc(position, 0.28, _AGENT)
    if trail is not None:
        wide = width * unit * max(health, 0) / HEALTH
        pen.rectangle((0, 0, wide, unit // 4), _HEALTH if health > HEALTH // 2 else _HURT)
    return np.asarray(image.resize((width * cell, height * cell), Image.Resampling.BOX))


def _darker(colour: _Colour) -> _Colour:
    red, green, blue = (part * 2 // 5 for part in colour)
    return red, green, blue
