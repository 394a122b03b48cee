"""Gymnasium's BipedalWalker on a level's terrain. No JAX here: workers start fast.

A level decides everything. Its terrain, the clouds and the push at the start come from its seed, and every episode has
a new Box2D world: the same level and actions give the same episode bit for bit, whatever was played before.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import Box2D
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalker
from gymnasium.utils import EzPickle

from ...errors import require
from .level import PLAIN, Level, read
from .terrain import Block, StairSteps, Terrain, lay

GROUND, EDGE, STONE, STONE_EDGE = (102, 153, 76), ((76, 255, 76), (76, 204, 76)), (255, 255, 255), (153, 153, 153)


class Walker(BipedalWalker):
    """``reset(options={"level": ...})`` starts an episode on a level (``level.read``); the reset's own seed plays no
    part. Without options it is BipedalWalker-v3, whose level is the reset's seed.

    An episode is cut off after ``max_steps``.
    """

    def __init__(
        self, max_steps: int = 2000, stair_steps: StairSteps = "exact", render_mode: str | None = None
    ) -> None:
        super().__init__(render_mode)
        EzPickle.__init__(self, max_steps, stair_steps, render_mode)
        require(max_steps >= 1, f"max_steps is {max_steps}; give at least 1.")
        require(
            stair_steps in ("exact", "below"),
            f"stair_steps is '{stair_steps}'; give 'exact' (as many steps as the level says) or 'below' (drawn below).",
        )
        self.max_steps = max_steps
        self.stair_steps: StairSteps = stair_steps
        self.level: Level | None = None
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if not options:
            self.level = None
        else:
            require("level" in options, f"The options are {sorted(options)}; give a 'level'.")
            self.level = read(options["level"])
            seed = int(self.level.seed)
        self._destroy()
        self.world = Box2D.b2World()  # one that was used before remembers: its contacts come in another order
        obs, info = super().reset(seed=seed)
        self.time = 0  # the reset has played a step
        return obs, info

    def step(self, action: np.ndarray) -> Any:
        obs, reward, terminated, _, info = super().step(action)
        self.time += 1
        return obs, float(reward), terminated, self.time >= self.max_steps, info

    def _generate_terrain(self, hardcore: bool) -> None:
        if self.level is not None and self.level.hardcore:
            super()._generate_terrain(True)
            return
        parameters = np.asarray(PLAIN if self.level is None else self.level.parameters)
        self._build(lay(parameters, self.np_random, self.stair_steps))

    def _build(self, terrain: Terrain) -> None:
        """Put a terrain into the world, as Gymnasium does: blocks, then the ground from left to right."""
        self.terrain = [self._body(self.fd_polygon, block, STONE, STONE_EDGE) for block in terrain.blocks]
        self.terrain_x, self.terrain_y = terrain.x, terrain.y
        self.terrain_poly = []
        points = list(zip(terrain.x, terrain.y, strict=True))
        for i, (left, right) in enumerate(pairwise(points)):
            self.terrain.append(self._body(self.fd_edge, [left, right], EDGE[i % 2], EDGE[i % 2]))
            self.terrain_poly.append(([left, right, (right[0], 0), (left[0], 0)], GROUND))
        self.terrain.reverse()

    def _body(self, fixture: Any, corners: Block, fill: tuple[int, int, int], edge: tuple[int, int, int]) -> Any:
        fixture.shape.vertices = corners
        body = self.world.CreateStaticBody(fixtures=fixture)
        body.color1, body.color2 = fill, edge
        return body


def terrain(level: Level, stair_steps: StairSteps = "exact") -> Terrain:
    """The terrain that a level is played on."""
    walker = Walker(stair_steps=stair_steps)
    walker.reset(options={"level": level})
    shapes = [body.fixtures[0].shape for body in reversed(walker.terrain)]
    blocks = [list(shape.vertices) for shape in shapes if isinstance(shape, Box2D.b2PolygonShape)]
    return Terrain(walker.terrain_x, [float(y) for y in walker.terrain_y], blocks)


def replay(level: Level, actions: np.ndarray, stair_steps: StairSteps = "exact") -> np.ndarray:
    """Where the body was while these actions were played from a level's start, up to the end of the episode:
    ``[T + 1, part, (x, y, angle)]``, the parts in the order hull, upper leg, lower leg, and the other leg's.
    """
    walker = Walker(max(1, len(actions)), stair_steps)
    walker.reset(options={"level": level})
    poses = [_pose(walker)]
    for action in actions:
        _, _, terminated, _, _ = walker.step(action)
        poses.append(_pose(walker))
        if terminated:
            break
    return np.array(poses)


def _pose(walker: Walker) -> list[tuple[float, float, float]]:
    assert walker.hull is not None
    return [(*body.position, body.angle) for body in (walker.hull, *walker.legs)]
