"""Racing as an environment: Gymnasium's rules, one level, no batch, one step of a fiftieth of a second.

What a level needs to be played is prepared once: tiles, and a map for pictures. A step reads only the tiles near the
car (``focus``), and pictures are made when somebody looks (``observe``): see ``wrappers.ActionRepeat``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from ...types import TimeStep
from ..base import Continuous
from ..wrappers import Outcome, looked_at
from .car import Car, Control, drive, origin, parked, wheels
from .level import FIELD, RacingLevel, icy_tiles
from .picture_map import MapSize, RoadMap, road_map
from .track import Line, Tiles, bends, bezier, stripes, tiles, touching
from .view import View

Shaping = Literal["thesis", "published", "none"]

GRASS_GRIP = 0.6
_NEAREST = 128
"""Tiles that a decision can reach: of 300 random tracks, none had more than 122."""
_TURN = 0.31 * 0.2
"""What Gymnasium calls a sharp bend of its own tracks."""

TRAINING_MAP = MapSize(side=47, squares=1024, rows=7168)
HELD_OUT_MAP = MapSize(side=104, squares=1536, rows=13312)
HELD_OUT_TILES = 1152


class Course(NamedTuple):
    """A track to be tested on, given by its line, with rules of its own."""

    line: Line
    ice: Bool[Array, " n"]
    field: Float[Array, ""]
    """From the middle to the border."""
    max_steps: Int[Array, ""]
    sharp: Float[Array, ""]
    """Bends of more than this are marked with stripes; 0 for more than the mean."""


class PreparedTrack(NamedTuple):
    """A level as it is driven."""

    tiles: Tiles
    length: Int[Array, ""]
    ice: Bool[Array, " n"]
    start: Float[Array, "3"]
    """x, y and angle of the car."""
    field: Float[Array, ""]
    max_steps: Int[Array, ""]
    road: RoadMap


class RacingState(NamedTuple):
    car: Car
    visited: Bool[Array, " n"]
    ice: Bool[Array, " n"]
    """Hidden: no picture shows it."""
    paid: Int[Array, ""]
    """Visited tiles that were paid for."""
    time: Int[Array, ""]
    """Steps driven."""
    idle: Int[Array, ""]
    """Steps since the last new tile."""


class Focus(NamedTuple):
    """What the next few steps may need of a track."""

    number: Int[Array, " k"]
    """Of the tiles that are near."""
    shape: Float[Array, "20 k"]
    icy: Bool[Array, " k"]
    length: Int[Array, ""]
    field: Float[Array, ""]
    max_steps: Int[Array, ""]


class Moving(NamedTuple):
    """What changes between two pictures. Only tiles near the car are in it: to write into all of them is dear."""

    car: Car
    visited: Bool[Array, " k"]
    """Of the tiles that are near."""
    elsewhere: Int[Array, ""]
    """Visited tiles that are not."""
    paid: Int[Array, ""]
    time: Int[Array, ""]
    idle: Int[Array, ""]


@dataclass(frozen=True)
class TrainingTracks:
    """Training: levels are ``RacingLevel``."""

    max_steps: int = 1000
    east: bool = True
    """Start at the tile nearest to 0 degrees, and not at the first control point."""
    map_size: ClassVar[MapSize] = TRAINING_MAP

    def course(self, level: RacingLevel) -> Course:
        """The level as one is tested on."""
        line = bezier(jnp.asarray(level.points), self.east)
        field, sharp = jnp.float32(FIELD), jnp.float32(0)
        return Course(line, icy_tiles(level.ice), field, jnp.int32(self.max_steps), sharp)


@dataclass(frozen=True)
class HeldOutTracks:
    """Tests: levels are ``Course``."""

    map_size: ClassVar[MapSize] = HELD_OUT_MAP

    def course(self, level: Course) -> Course:
        return level


@dataclass(frozen=True)
class Racing:
    """Driving a car. Without other rules it is as in tests: leaving the field costs 100, and nothing ends early."""

    view: View
    tracks: TrainingTracks | HeldOutTracks = HeldOutTracks()
    shaping: Shaping = "none"
    """How endings are paid."""
    patience: int = 0
    """Steps without a new tile that end an episode; 0: none do."""

    @property
    def action_space(self) -> Continuous:
        """Steering, gas and brake. Gas and brake of -1 are none."""
        return Continuous(3)

    def prepare(self, level: RacingLevel | Course) -> PreparedTrack:
        tracks: Any = self.tracks
        return _prepared(tracks.map_size, tracks.course(level))

    def reset(self, key: PRNGKeyArray, level: PreparedTrack) -> tuple[RacingState, UInt8[Array, "h w c"]]:
        del key  # a level starts the same every time
        zero = jnp.int32(0)
        car = parked(level.start[:2], level.start[2], jnp.full(4, GRASS_GRIP))
        state = RacingState(car, jnp.zeros_like(level.ice), level.ice, zero, zero, zero)
        moving, near = self.focus(state, level)
        visited, grip = _contact(moving, near)
        moving = moving._replace(visited=visited, car=car._replace(grip=grip))
        state = self.settle(state, moving, near)
        return state, self.observe(state, level)

    def step(
        self, key: PRNGKeyArray, state: RacingState, action: Float[Array, "3"], level: PreparedTrack
    ) -> tuple[RacingState, TimeStep]:
        return looked_at(self, key, state, action, level)

    def focus(self, state: RacingState, level: PreparedTrack) -> tuple[Moving, Focus]:
        """The tiles nearest to the car. They are enough for eight steps at any speed."""
        away = level.tiles.centre - state.car.centre
        _, number = jax.lax.top_k(-(away * away).sum(axis=1), min(_NEAREST, level.ice.shape[0]))
        shape, icy, visited = level.tiles.shape[number].T, state.ice[number], state.visited[number]
        elsewhere = state.visited.sum(dtype=jnp.int32) - visited.sum(dtype=jnp.int32)
        near = Focus(number, shape, icy, level.length, level.field, level.max_steps)
        return Moving(state.car, visited, elsewhere, state.paid, state.time, state.idle), near

    def settle(self, state: RacingState, moving: Moving, near: Focus) -> RacingState:
        """The state after some steps."""
        visited = state.visited.at[near.number].set(moving.visited, unique_indices=True)
        return RacingState(moving.car, visited, state.ice, moving.paid, moving.time, moving.idle)

    def move(self, key: PRNGKeyArray, moving: Moving, action: Float[Array, "3"], near: Focus) -> tuple[Moving, Outcome]:
        """Drive one step."""
        del key
        steer, gas, brake = jnp.clip(jnp.asarray(action, jnp.float32), -1.0, 1.0)
        visited, grip = _contact(moving, near)
        car = drive(moving.car, Control(steer, (gas + 1) / 2, (brake + 1) / 2), grip)
        count = moving.elsewhere + visited.sum(dtype=jnp.int32)
        fresh = count - moving.paid
        time, idle = moving.time + 1, jnp.where(fresh > 0, 0, moving.idle + 1)

        reward = fresh * (1000.0 / near.length) - 0.1
        finished, left = count == near.length, (jnp.abs(origin(car)) > near.field).any()
        if self.shaping != "thesis":
            reward = jnp.where(left, -100.0, reward)
        if self.shaping == "published":
            reward = jnp.where(left | finished, reward + 100.0, reward)
        terminated = finished | left
        if self.patience:
            terminated |= idle >= self.patience
        outcome = Outcome(reward.astype(jnp.float32), terminated, time >= near.max_steps)
        return Moving(car, visited, moving.elsewhere, count, time, idle), outcome

    def observe(self, state: RacingState, level: PreparedTrack) -> UInt8[Array, "h w c"]:
        """The picture. The score on it lacks the last step's cost, as in Gymnasium."""
        count = state.visited.sum(dtype=jnp.int32)
        score = count * (1000.0 / level.length) - 0.1 * jnp.maximum(state.time - 1, 0)
        return self.view(self.tracks.map_size, level.road, level.field, state.car, state.visited, score)


def _contact(moving: Moving, near: Focus) -> tuple[Bool[Array, " k"], Float[Array, "4"]]:
    """Tiles that were ever touched, and the friction under each wheel: the largest of the tiles that it touches.

    Grass counts only where there is none. (In Gymnasium it counts always, and there ice would be no ice.)
    """
    touched = touching(near.shape, *wheels(moving.car))
    # One maximum for both questions, as XLA computes anew what is asked for twice: 0 for none, 1 for ice, 2 for road.
    best = jnp.where(touched, jnp.where(near.icy, 1, 2), 0).max(axis=1)
    return moving.visited | touched.any(axis=0), jnp.array([GRASS_GRIP, 0.0, 1.0])[best]


def _prepared(size: MapSize, course: Course) -> PreparedTrack:
    line = course.line
    real = jnp.arange(line.angle.shape[0]) < line.length
    mean = jnp.where(real, jnp.abs(bends(line)), 0.0).sum() / line.length
    stripe = stripes(line, jnp.where(course.sharp > 0, course.sharp, mean))
    start = jnp.concatenate([line.place[0], line.angle[:1]])
    limit = jnp.asarray(course.max_steps, jnp.int32)
    field = jnp.asarray(course.field, jnp.float32)
    ice = jnp.asarray(course.ice) & real
    return PreparedTrack(tiles(line), line.length, ice, start, field, limit, road_map(size, line, stripe))


def padded(course: Course, n: int = HELD_OUT_TILES) -> Course:
    """The same course in arrays of ``n`` tiles, so that all courses run as one program."""
    more = n - course.line.angle.shape[0]
    place, angle, length = course.line
    line = Line(jnp.pad(place, ((0, more), (0, 0))), jnp.pad(angle, (0, more)), jnp.asarray(length, jnp.int32))
    return course._replace(line=line, ice=jnp.pad(course.ice, (0, more)))


SHARP_IN_GYMNASIUM = _TURN
