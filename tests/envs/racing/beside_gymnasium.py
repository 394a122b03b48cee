"""Gymnasium's CarRacing, to be held beside ours."""

from __future__ import annotations

import os
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.racing.env import SHARP_IN_GYMNASIUM, Course, padded
from tutelage.envs.racing.level import FIELD
from tutelage.envs.racing.track import Line

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pytest.importorskip("Box2D")

import Box2D
from gymnasium.envs.box2d import car_dynamics
from gymnasium.envs.box2d.car_racing import CarRacing

SETTLING = 16
"""Steps in which Gymnasium's wheels, which it puts down without turning them, find their places."""


class _Road:
    road_friction = 1.0


def poses(actions: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """x, y, angle, steering angle and speed after every step of Box2D's car, alone in the world.

    ``ground`` [T, 4] says what is under each wheel: 1 is road, 0.6 grass; a step with a 0 is ice for all.
    """
    world = Box2D.b2World((0, 0))
    car, found = car_dynamics.Car(world, 0.0, 0.0, 0.0), []
    usual = car_dynamics.FRICTION_LIMIT
    for (steer, gas, brake), under in zip(actions, ground, strict=True):
        car.steer(-steer)
        car.gas(gas)
        car.brake(brake)
        for wheel, friction in zip(car.wheels, under, strict=True):
            wheel.tiles = {_Road} if friction == 1 else set()
        try:
            car_dynamics.FRICTION_LIMIT = usual if under.min() > 0 else 0.0
            car.step(1 / 50)
        finally:
            car_dynamics.FRICTION_LIMIT = usual
        world.Step(1 / 50, 180, 60)
        hull = car.hull
        found.append([*hull.position, hull.angle, car.wheels[0].joint.angle, np.hypot(*hull.linearVelocity)])
    return np.array(found)


class Beside:
    """One of Gymnasium's tracks with a driver of moderate speed. Nothing is drawn unless ``picture`` asks for it."""

    def __init__(self, seed: int) -> None:
        self.env: Any = CarRacing()
        self._draw, self.env._render = self.env._render, lambda mode: None
        self.env.reset(seed=seed)
        for _ in range(SETTLING):
            self.env.car.step(1 / 50)
            self.env.world.Step(1 / 50, 180, 60)
        self.line = np.array(self.env.track)

    @property
    def course(self) -> Course:
        n = len(self.line)
        line = Line(*(jnp.asarray(x, jnp.float32) for x in (self.line[:, 2:], self.line[:, 1])), jnp.int32(n))
        limits = jnp.float32(FIELD), jnp.int32(1000), jnp.float32(SHARP_IN_GYMNASIUM)
        return padded(Course(line, jnp.zeros(n, bool), *limits))

    @property
    def hull(self) -> tuple[np.ndarray, float]:
        return np.array(self.env.car.hull.position), self.env.car.hull.angle

    @property
    def wheels(self) -> tuple[np.ndarray, np.ndarray]:
        wheels = self.env.car.wheels
        return np.array([wheel.position for wheel in wheels], np.float32), np.float32([wheel.angle for wheel in wheels])

    @property
    def touched(self) -> list[set[int]]:
        return [{tile.idx for tile in wheel.tiles} for wheel in self.env.car.wheels]

    @property
    def visited(self) -> np.ndarray:
        return np.array([tile.road_visited for tile in self.env.road])

    def action(self) -> np.ndarray:
        """Towards a place a little ahead, in Gymnasium's ranges."""
        place, angle = self.hull
        nearest = int(((self.line[:, 2:] - place) ** 2).sum(axis=1).argmin())
        x, y = self.line[(nearest + 6) % len(self.line), 2:] - place
        off = np.arctan2(np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x)
        speed = np.hypot(*self.env.car.hull.linearVelocity)
        wanted = 45 * (1 - min(abs(off), 0.6))
        return np.array([np.clip(1.2 * off, -1, 1), 0.4 * (speed < wanted), 0.2 * (speed > wanted + 8)])

    def step(self, action: np.ndarray) -> float:
        return self.env.step(action)[1]

    def picture(self) -> np.ndarray:
        self.env.t = 2.0  # after its first second, in which it zooms
        return self._draw("state_pixels")
