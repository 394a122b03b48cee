"""The held-out tracks that the thesis reports, and suites of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...errors import require, unknown
from ..base import Environment, Suite, Task
from . import vanilla
from .circuits import OUTLINES
from .env import HELD_OUT_TILES, SHARP_IN_GYMNASIUM, Course, TrainingTracks, padded
from .ice import black_ice
from .level import FIELD, share_of_ice
from .space import RacingSpace
from .track import Line

F1_FIELD = 3000 / 6
_SPACING = 3.0
"""Between the tiles of a circuit. Ice would do nothing on tiles so short that a wheel always touches several."""
_FINE = 0.05
VALIDATION = ("Italy", "Singapore", "Germany")
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8)
TRUE = "beta"
"""In the place of a share of ice: q ~ Beta(1, 15)."""


@cache
def centre_line(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Places [n, 2] and angles [n] of a circuit, in steps of equal length, against the direction of driving."""
    outline = OUTLINES[name]
    metres = np.array([[float(z) for z in point.split(",")] for point in outline.points.split()])
    curve = _smooth(metres) * outline.scale
    closed = np.concatenate([curve, curve[:1]])
    travelled = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    count = round(travelled[-1] / _SPACING)
    require(count <= HELD_OUT_TILES, f"{name} has {count} tiles, and there is room for {HELD_OUT_TILES}.")
    at = np.arange(count) * travelled[-1] / count
    place = np.stack([np.interp(at, travelled, closed[:, k]) for k in (0, 1)], axis=1)
    place = np.concatenate([place[:1], place[:0:-1]])
    ahead = np.roll(place, -1, axis=0) - place
    return place.astype(np.float32), (np.arctan2(ahead[:, 1], ahead[:, 0]) + np.pi / 2).astype(np.float32)


def _smooth(points: np.ndarray) -> np.ndarray:
    """A centripetal Catmull-Rom curve through closed points: it stays near their chords."""
    pieces = []
    for i in range(len(points)):
        a, b, c, d = (points[(i + k) % len(points)] for k in (-1, 0, 1, 2))
        knots = np.cumsum([0.0, *(np.hypot(*(q - p)) ** 0.5 for p, q in ((a, b), (b, c), (c, d)))])
        t = np.arange(0.0, 1.0, _FINE)[:, None] * (knots[2] - knots[1]) + knots[1]

        def between(low: int, high: int, p: np.ndarray, q: np.ndarray, t: np.ndarray = t, at: np.ndarray = knots):
            return ((at[high] - t) * p + (t - at[low]) * q) / (at[high] - at[low])

        ab, bc, cd = between(0, 1, a, b), between(1, 2, b, c), between(2, 3, c, d)
        pieces.append(between(1, 2, between(0, 2, ab, bc), between(1, 3, bc, cd)))
    return np.concatenate(pieces)


@dataclass(frozen=True)
class Circuit:
    """A Formula One circuit, each tile icy with ``q``."""

    name: str
    q: float | str = 0.0

    def __post_init__(self) -> None:
        if self.q != TRUE:
            share_of_ice(self.q)

    def __call__(self, key: PRNGKeyArray) -> Course:
        place, angle = centre_line(self.name)
        line = Line(jnp.asarray(place), jnp.asarray(angle), jnp.int32(len(angle)))
        if self.q == TRUE:
            icy = black_ice(key, 1.0, 15.0, len(angle))
        else:
            icy = jax.random.bernoulli(key, float(self.q), (len(angle),))
        limit = jnp.int32(OUTLINES[self.name].steps)
        return padded(Course(line, icy, jnp.float32(F1_FIELD), limit, jnp.float32(0)))


@dataclass(frozen=True)
class Vanilla:
    """Gymnasium's own tracks, a new one each time."""

    def __call__(self, key: PRNGKeyArray) -> Course:
        line = vanilla.sample(key)
        dry = jnp.zeros(line.angle.shape, bool)
        return padded(Course(line, dry, jnp.float32(FIELD), jnp.int32(1000), jnp.float32(SHARP_IN_GYMNASIUM)))


@dataclass(frozen=True)
class Fresh:
    """New levels of the training space, under the rules of tests."""

    space: RacingSpace
    tracks: TrainingTracks

    def __call__(self, key: PRNGKeyArray) -> Course:
        return padded(self.tracks.course(self.space.sample(key)))


def _label(q: float | str) -> str:
    return "Beta(1,15)" if q == TRUE else f"q={q:g}"


def _icy(name: str) -> tuple[float | str, ...]:
    """The shares of ice of a suite: ``icy-f1`` has all, ``icy-f1-0.2`` and ``icy-f1-beta`` one."""
    rest = name.removeprefix("icy-f1").removeprefix("-")
    return (*SHARES, TRUE) if not rest else (TRUE,) if rest == TRUE else (share_of_ice(rest),)


_ONE_SHARE = (*(f"icy-f1-{q:g}" for q in SHARES), f"icy-f1-{TRUE}")


def suite_names() -> tuple[str, ...]:
    """Every suite. The name of a single circuit is a suite too, and so is icy-f1 with a share of ice."""
    return ("f1", "f1-validation", "icy-f1", "icy-validation", "vanilla", "fresh")


def suite(name: str, env: Environment, tracks: TrainingTracks, space: RacingSpace, repeat: int) -> Suite:
    """A suite, or a single circuit, played in the test environment."""
    chosen: list[tuple[str, Callable[[PRNGKeyArray], Course], int]]
    if name == "fresh":
        chosen = [("Fresh", Fresh(space, tracks), tracks.max_steps)]
    elif name == "vanilla":
        chosen = [("Vanilla", Vanilla(), 1000)]
    elif name in ("f1", "f1-validation") or name in OUTLINES:
        members = {"f1": tuple(OUTLINES), "f1-validation": VALIDATION}.get(name, (name,))
        chosen = [(member, Circuit(member), OUTLINES[member].steps) for member in members]
    elif name == "icy-validation":
        chosen = [(f"{member} q=0.2", Circuit(member, 0.2), OUTLINES[member].steps) for member in VALIDATION]
    elif name == "icy-f1" or name.startswith("icy-f1-"):
        chosen = [
            (f"{member} {_label(q)}", Circuit(member, q), outline.steps)
            for q in _icy(name)
            for member, outline in OUTLINES.items()
        ]
    else:
        raise unknown("suite", name, (*suite_names(), *_ONE_SHARE, *OUTLINES))
    return Suite(name, tuple(Task(task, env, sample, -(-steps // repeat)) for task, sample, steps in chosen))
