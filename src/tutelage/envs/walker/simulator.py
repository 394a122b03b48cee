"""Gymnasium's BipedalWalker on a level's terrain. No JAX here: workers start fast.

A level decides everything. Its terrain, the clouds and the push at the start come from its seed, and every episode has
a new Box2D world: the same level and actions give the same episode bit for bit, whatever was played before.

``step`` and the clouds are Gymnasium's own to the last bit, written for speed: most of a step's time is Python's, so
what is asked of NumPy one number at a time there is asked once here, and clouds nobody sees are not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import cos, sin
from typing import Any

import Box2D
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import (
    FPS,
    LIDAR_RANGE,
    MOTORS_TORQUE,
    SCALE,
    SPEED_HIP,
    SPEED_KNEE,
    TERRAIN_GRASS,
    TERRAIN_LENGTH,
    TERRAIN_STEP,
    VIEWPORT_H,
    VIEWPORT_W,
    BipedalWalker,
)
from gymnasium.utils import EzPickle

from ...errors import require
from .level import PLAIN, Level, read
from .terrain import Block, StairSteps, Terrain, lay

GROUND, EDGE, STONE, STONE_EDGE = (102, 153, 76), ((76, 255, 76), (76, 204, 76)), (255, 255, 255), (153, 153, 153)

SPEEDS = (SPEED_HIP, SPEED_KNEE, SPEED_HIP, SPEED_KNEE)
RAYS = [(sin(1.5 * i / 10.0) * LIDAR_RANGE, cos(1.5 * i / 10.0) * LIDAR_RANGE) for i in range(10)]
END = (TERRAIN_LENGTH - TERRAIN_GRASS) * TERRAIN_STEP
CLOUD_DICE = TERRAIN_LENGTH // 20 * 11
"""Numbers that the clouds are drawn from."""


class _Ray(Box2D.b2RayCastCallback):
    """How far a ray gets before it meets the ground."""

    fraction = 1.0

    def ReportFixture(self, fixture: Any, point: Any, normal: Any, fraction: float) -> float:
        if fixture.density:  # only the walker itself has any, and it sees through itself
            return -1.0
        self.fraction = fraction
        return fraction


class _Contacts(Box2D.b2ContactListener):
    """Who touches the ground, by the handles of bodies: comparing them as Gymnasium does takes ten times as long."""

    def __init__(self, walker: Walker) -> None:
        super().__init__()
        assert walker.hull is not None
        self._walker, self._hull = walker, hash(walker.hull)
        self._feet: dict[int, Any] = {hash(leg): leg for leg in (walker.legs[1], walker.legs[3])}

    def BeginContact(self, contact: Any) -> None:
        for body in (hash(contact.fixtureA.body), hash(contact.fixtureB.body)):
            if body == self._hull:
                self._walker.game_over = True
            elif body in self._feet:
                self._feet[body].ground_contact = True

    def EndContact(self, contact: Any) -> None:
        for body in (hash(contact.fixtureA.body), hash(contact.fixtureB.body)):
            if body in self._feet:
                self._feet[body].ground_contact = False


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
        self._ray = _Ray()
        self._contacts: _Contacts | None = None
        self._laid: tuple[Any, Terrain, Any] | None = None
        self._still = Box2D.b2BodyDef(type=Box2D.b2_staticBody)

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
        self.world.contactListener = self._contacts = _Contacts(self)
        self.time = 0  # the reset has played a step
        return obs, info

    def step(self, action: np.ndarray) -> Any:
        if self.render_mode is not None:  # whoever looks sees the rays of Gymnasium's step
            obs, reward, terminated, _, info = super().step(action)
            self.time += 1
            return obs, float(reward), terminated, self.time >= self.max_steps, info
        hull, joints = self.hull, self.joints
        assert hull is not None
        feet: list[Any] = [self.legs[1], self.legs[3]]
        effort = np.minimum(np.abs(action), 1)
        torques, signs = (MOTORS_TORQUE * effort).tolist(), np.sign(action).tolist()
        for joint, speed, sign, torque in zip(joints, SPEEDS, signs, torques, strict=True):
            joint.motorSpeed = float(speed * sign)
            joint.maxMotorTorque = float(torque)
        self.world.Step(1.0 / FPS, 6 * 30, 2 * 30)

        place, velocity = hull.position, hull.linearVelocity
        x, y = place.x, place.y
        hip, knee, other_hip, other_knee = joints
        state = [
            hull.angle,
            2.0 * hull.angularVelocity / FPS,
            0.3 * velocity.x * (VIEWPORT_W / SCALE) / FPS,
            0.3 * velocity.y * (VIEWPORT_H / SCALE) / FPS,
            hip.angle,
            hip.speed / SPEED_HIP,
            knee.angle + 1.0,
            knee.speed / SPEED_KNEE,
            1.0 if feet[0].ground_contact else 0.0,
            other_hip.angle,
            other_hip.speed / SPEED_HIP,
            other_knee.angle + 1.0,
            other_knee.speed / SPEED_KNEE,
            1.0 if feet[1].ground_contact else 0.0,
        ]
        ray, cast = self._ray, self.world.RayCast
        for right, down in RAYS:
            ray.fraction = 1.0
            cast(ray, place, (x + right, y - down))
            state.append(ray.fraction)

        # Progress, and the head's angle; from then on in the precision of the actions, as NumPy has it.
        shaping = 130 * x / SCALE - 5.0 * abs(state[0])
        reward: Any = 0 if self.prev_shaping is None else shaping - self.prev_shaping
        self.prev_shaping = shaping
        for cost in 0.00035 * MOTORS_TORQUE * effort:
            reward = reward - cost
        fell = self.game_over or x < 0
        self.time += 1
        truncated = self.time >= self.max_steps
        return np.array(state, np.float32), -100.0 if fell else float(reward), fell or x > END, truncated, {}

    def _generate_clouds(self) -> None:
        if self.render_mode is None:
            self.cloud_poly = []
            self.np_random.random(CLOUD_DICE)
        else:
            super()._generate_clouds()

    def _generate_terrain(self, hardcore: bool) -> None:
        if self.level is not None and self.level.hardcore:
            super()._generate_terrain(True)
            return
        parameters = np.asarray(PLAIN if self.level is None else self.level.parameters)
        dice = self.np_random.bit_generator
        before = (parameters.tobytes(), dice.state)
        if self._laid is None or self._laid[0] != before:  # mostly it is the same level that starts again
            self._laid = (before, lay(parameters, self.np_random, self.stair_steps), dice.state)
        _, terrain, dice.state = self._laid
        self._build(terrain)

    def _build(self, terrain: Terrain) -> None:
        """Put a terrain into the world, as Gymnasium does: blocks, then the ground from left to right."""
        self.terrain = [self._body(self.fd_polygon, block, STONE, STONE_EDGE) for block in terrain.blocks]
        self.terrain_x, self.terrain_y, self.terrain_poly = terrain.x, terrain.y, []
        for i, (left, right) in enumerate(pairwise(zip(terrain.x, terrain.y, strict=True))):
            self.terrain.append(self._body(self.fd_edge, [left, right], EDGE[i % 2], EDGE[i % 2]))
            if self.render_mode is not None:
                self.terrain_poly.append(([left, right, (right[0], 0), (left[0], 0)], GROUND))
        self.terrain.reverse()

    def _body(self, fixture: Any, corners: Block, fill: tuple[int, int, int], edge: tuple[int, int, int]) -> Any:
        fixture.shape.vertices = corners
        body = self.world.CreateBody(self._still)
        body.CreateFixture(fixture)
        if self.render_mode is not None:
            body.color1, body.color2 = fill, edge
        return body


def terrain(level: Level, stair_steps: StairSteps = "exact") -> Terrain:
    """The terrain that a level is played on."""
    walker = Walker(stair_steps=stair_steps)
    walker.reset(options={"level": level})
    return ground_of(walker)


def ground_of(walker: Walker) -> Terrain:
    """What a walker walks on."""
    shapes = [body.fixtures[0].shape for body in reversed(walker.terrain)]
    blocks = [list(shape.vertices) for shape in shapes if isinstance(shape, Box2D.b2PolygonShape)]
    return Terrain(walker.terrain_x, [float(y) for y in walker.terrain_y], blocks)


def replay(level: Level, actions: np.ndarray, stair_steps: StairSteps = "exact") -> np.ndarray:
    """Where the body was while these actions were played from a level's start, up to the end of the episode:
    ``[T + 1, part, (x, y, angle)]``, the parts in the order hull, upper leg, lower leg, and the other leg's.
    """
    walker = Walker(max(1, len(actions)), stair_steps)
    walker.reset(options={"level": level})
    poses = [pose_of(walker)]
    for action in actions:
        _, _, terminated, _, _ = walker.step(action)
        poses.append(pose_of(walker))
        if terminated:
            break
    return np.array(poses)


def pose_of(walker: Walker) -> list[tuple[float, float, float]]:
    """Where each part of a body is: x, y and angle."""
    assert walker.hull is not None
    return [(*body.position, body.angle) for body in (walker.hull, *walker.legs)]
