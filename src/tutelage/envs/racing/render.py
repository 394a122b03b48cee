"""Pictures of tracks and of episodes on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from PIL import Image, ImageDraw

from ..wrappers import Stacked
from .env import Course, TrainingTracks
from .level import RacingLevel, to_text
from .space import crossings
from .track import BORDER, HALF_WIDTH, bezier

GRASS, ROAD, ICE, START, CAR, TRAIL = (
    (142, 196, 126), (92, 92, 96), (168, 214, 240), (250, 250, 250), (206, 38, 38), (250, 200, 60),
)  # fmt: skip
_FINE = 3
"""Drawn so many times larger and scaled down, for smooth edges."""
_PICTURE, _FRAME = 180, 384


def course(tracks: TrainingTracks, level: RacingLevel | Course) -> Course:
    """A level of training or of tests as arrays of numpy, without padding."""
    known = level if isinstance(level, Course) else _program(tracks)(level)
    known = jax.device_get(known)
    n = int(known.line.length)
    line = known.line._replace(place=known.line.place[:n], angle=known.line.angle[:n])
    return known._replace(line=line, ice=np.asarray(known.ice)[:n])


@lru_cache(maxsize=8)
def _program(tracks: TrainingTracks) -> Callable[[RacingLevel], Course]:
    """One for all tracks: a new function would be compiled anew."""
    return jax.jit(tracks.course)


def text(tracks: TrainingTracks, level: RacingLevel | Course) -> str:
    """A level as text, with a note if it crosses itself, which is allowed. Tracks of tests are described."""
    if isinstance(level, RacingLevel):
        times = int(_self_crossings(level))
        return to_text(level) + (
            f"\nnote: crosses itself {'once' if times == 1 else f'{times} times'}" if times else ""
        )
    shown = course(tracks, level)
    length = np.hypot(*(np.roll(shown.line.place, -1, axis=0) - shown.line.place).T).sum()
    return (
        f"a track of {len(shown.ice)} tiles and {length:.0f} units, {int(shown.ice.sum())} of them icy, "
        f"{int(shown.max_steps)} steps"
    )


@jax.jit
def _self_crossings(level: RacingLevel) -> Array:
    return crossings(bezier(jnp.asarray(level.points), east=False).place)


def outline(tracks: TrainingTracks, level: RacingLevel) -> dict[str, Any]:
    """What an editor draws: control points, the middle of every tile, and the numbers of icy tiles."""
    shown = course(tracks, level)
    return {
        "points": np.asarray(level.points).round(3).tolist(),
        "line": np.asarray(shown.line.place).round(2).tolist(),
        "ice": np.flatnonzero(shown.ice).tolist(),
        "width": 2 * HALF_WIDTH,
    }


def picture(tracks: TrainingTracks, level: RacingLevel | Course, side: int = _PICTURE) -> np.ndarray:
    """A track from above, with its ice and the car at its start."""
    shown = course(tracks, level)
    return np.asarray(_Canvas(shown, side).finished(np.asarray(shown.line.place[0]), float(shown.line.angle[0]), None))


def frames(tracks: TrainingTracks, channels: int, level: RacingLevel | Course, states: Stacked) -> Iterator[np.ndarray]:
    """An episode: what the student sees, and where it is and has been on its track."""
    shown = course(tracks, level)
    canvas = _Canvas(shown, _FRAME)
    car: Any = states.inner.car
    places = np.asarray(car.centre)
    for t, (place, angle) in enumerate(zip(places, np.asarray(car.angle), strict=True)):
        seen = np.asarray(states.frames[t])[..., -channels:]
        seen = np.repeat(seen, 3, axis=-1) if channels == 1 else seen
        times = _FRAME // seen.shape[0]
        seen = seen.repeat(times, axis=0).repeat(times, axis=1)
        yield np.concatenate([seen, np.asarray(canvas.finished(place, float(angle), places[: t + 1]))], axis=1)


class _Canvas:
    """A track, drawn once, on which cars are put."""

    def __init__(self, shown: Course, side: int) -> None:
        place, across = shown.line.place, np.stack([np.cos(shown.line.angle), np.sin(shown.line.angle)], axis=1)
        margin = HALF_WIDTH + 4 * BORDER
        low, high = place.min(axis=0) - margin, place.max(axis=0) + margin
        self.side, self.scale = side, side * _FINE / float((high - low).max())
        self.shift = (low + high) / 2
        self.image = Image.new("RGB", (side * _FINE, side * _FINE), GRASS)
        pen = ImageDraw.Draw(self.image)
        for i, icy in enumerate(shown.ice):
            here, there = across[i] * HALF_WIDTH, across[i - 1] * HALF_WIDTH
            corners = [place[i] - here, place[i] + here, place[i - 1] + there, place[i - 1] - there]
            pen.polygon([self._at(corner) for corner in corners], ICE if icy else ROAD)
        ends = [self._at(place[0] + k * HALF_WIDTH * across[0]) for k in (-1, 1)]
        pen.line(ends, START, 2 * _FINE)

    def _at(self, point: np.ndarray) -> tuple[float, float]:
        x, y = (np.asarray(point) - self.shift) * self.scale
        half = self.side * _FINE / 2
        return float(half + x), float(half - y)

    def finished(self, place: np.ndarray, angle: float, trail: np.ndarray | None) -> Image.Image:
        image = self.image.copy()
        pen = ImageDraw.Draw(image)
        if trail is not None and len(trail) > 1:
            pen.line([self._at(point) for point in trail], TRAIL, 2 * _FINE, joint="curve")
        size = max(5.0, 5.0 * _FINE / self.scale)
        ahead, right = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        corners = (place + size * ahead, place - size * (ahead - 0.7 * right), place - size * (ahead + 0.7 * right))
        pen.polygon([self._at(corner) for corner in corners], CAR)
        return image.resize((self.side, self.side), Image.Resampling.BOX)
