"""The terrain of a level: a line of ground and the blocks that stand on it. NumPy only.

Random numbers are drawn in the order of Gymnasium's own generator, so that a level without obstacles and with a
roughness of 1 is BipedalWalker-v3's terrain of the same seed. Obstacles follow POET and the thesis's published
environment: cells of grass take turns with one obstacle, drawn from the kinds that the level has.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from gymnasium.envs.box2d.bipedal_walker import (
    SCALE,
    TERRAIN_GRASS,
    TERRAIN_HEIGHT,
    TERRAIN_LENGTH,
    TERRAIN_STARTPAD,
    TERRAIN_STEP,
)

from .level import PIT_HIGH, PIT_LOW, ROUGHNESS, STAIR_HIGH, STAIR_LOW, STAIR_STEPS, STUMP_HIGH, STUMP_LOW, has

# The published ranges are [1, 2] for the width of a stump, [0, 1] for how far it floats and [4, 5] for the width of a
# stair, as whole numbers without the upper end: one number each, and 0 for the second.
STUMP_WIDTH = 1
STAIR_WIDTH = 4
PIT_DEPTH = 4

THINNEST = 0.01
"""Blocks lower than this are left out: Box2D wants shapes with an area."""

StairSteps = Literal["exact", "below"]
"""A staircase has exactly the level's number of steps, as in the thesis; or, as the code that was published with it
has it, a number drawn from 0 to one less."""

Point = tuple[float, float]
Block = list[Point]


class Terrain(NamedTuple):
    x: list[float]
    y: list[float]
    """The ground, a point for each cell."""
    blocks: list[Block]
    """Four corners each."""


class Obstacle(NamedTuple):
    blocks: list[Block]
    ground: list[Point]
    """The points of the ground under it, from its first cell on."""


def lay(parameters: np.ndarray, rng: np.random.Generator, stair_steps: StairSteps = "exact") -> Terrain:
    """Lay out the terrain of a level's parameters."""
    values = [float(value) for value in parameters]
    obstacles = _obstacles(values, rng, stair_steps)
    x, y, blocks = [], [], []
    height, velocity = TERRAIN_HEIGHT, 0.0
    cells, on_grass, first = TERRAIN_STARTPAD, True, False
    ahead: list[Point] = []
    for i in range(TERRAIN_LENGTH):
        at = i * TERRAIN_STEP
        if ahead:
            at, height = ahead.pop(0)
        elif not first:  # a stretch of grass starts as high as what was before
            velocity = 0.8 * velocity + 0.01 * np.sign(TERRAIN_HEIGHT - height)
            if i > TERRAIN_STARTPAD:
                velocity += rng.uniform(-1, 1) / SCALE
            height += values[ROUGHNESS] * velocity
        x.append(at)
        y.append(float(height))
        cells -= 1
        first = cells == 0
        if first:
            cells = int(rng.integers(TERRAIN_GRASS // 2, TERRAIN_GRASS))
            if on_grass and obstacles and i + 1 < TERRAIN_LENGTH:
                obstacle = obstacles[rng.integers(len(obstacles))]((i + 1) * TERRAIN_STEP, float(height), cells)
                blocks += obstacle.blocks
                ahead = list(obstacle.ground)
                cells = len(ahead)
            on_grass = not ahead
    return Terrain(x, y, blocks)


def _obstacles(
    values: list[float], rng: np.random.Generator, stair_steps: StairSteps
) -> list[Callable[[float, float, int], Obstacle]]:
    """The kinds of obstacles that a level has: functions of where one starts, and of its length where that is free."""

    def stump(x: float, y: float, cells: int) -> Obstacle:
        height = rng.uniform(values[STUMP_LOW], values[STUMP_HIGH])
        block = _block(x, y + height * TERRAIN_STEP, STUMP_WIDTH, height)
        return Obstacle([block] * (height >= THINNEST), [(x + i * TERRAIN_STEP, y) for i in range(cells)])

    def stairs(x: float, y: float, cells: int) -> Obstacle:
        height = rng.uniform(values[STAIR_LOW], values[STAIR_HIGH])
        rise = height if rng.random() > 0.5 else -height
        most = round(values[STAIR_STEPS])
        steps = most if stair_steps == "exact" else int(rng.integers(most))
        wide = STAIR_WIDTH * TERRAIN_STEP
        blocks = [_block(x + i * wide, y + i * rise * TERRAIN_STEP, STAIR_WIDTH, height) for i in range(steps)]
        # The ground runs below the blocks: their tops are what one walks on.
        down = min(rise, 0.0)
        under = [y + (i // STAIR_WIDTH * rise + down) * TERRAIN_STEP for i in range(steps * STAIR_WIDTH)]
        ground = [(x, y)] + [(x + (i + 1) * TERRAIN_STEP, below) for i, below in enumerate(under)]
        return Obstacle(blocks if height >= THINNEST else [], ground)

    def pit(x: float, y: float, cells: int) -> Obstacle:
        gap = 1.0 + rng.uniform(values[PIT_LOW], values[PIT_HIGH])  # with the wall on its left
        walls = [_block(x, y, 1, PIT_DEPTH), _block(x + gap * TERRAIN_STEP, y, 1, PIT_DEPTH)]
        bottom = [(x + i * TERRAIN_STEP, y - PIT_DEPTH * TERRAIN_STEP) for i in range(1, ceil(gap) + 1)]
        return Obstacle(walls, [(x, y), *bottom, (x + (gap + 1) * TERRAIN_STEP, y)])

    kinds = ((stump, STUMP_HIGH), (stairs, STAIR_HIGH), (pit, PIT_HIGH))
    return [kind for kind, high in kinds if has(values, high)]


def _block(x: float, y: float, width: float, height: float) -> Block:
    """By its upper left corner; width and height in cells."""
    right, bottom = x + width * TERRAIN_STEP, y - height * TERRAIN_STEP
    return [(x, y), (right, y), (right, bottom), (x, bottom)]
