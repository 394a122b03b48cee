"""A racing level as data, and as text that a person can read and write."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt32

from ...errors import UserError, require

POINTS = 12
SEGMENT = 39
"""Tiles between two control points."""
TILES = POINTS * SEGMENT
FIELD = 2000 / 6
"""From the field's middle to its border, and the side of the square in which control points lie."""
REACH = FIELD / 2
APART = 5.0
"""The least distance between control points that follow each other."""
_WORDS = -(-TILES // 32)


class RacingLevel(NamedTuple):
    """A track by its control points, and where there is black ice."""

    points: Float[Array, "12 2"]
    """From the middle of the field, each number from -``REACH`` to ``REACH``; in ``ordered``."""
    ice: UInt32[Array, "15"]
    """A bit for every tile: see ``packed``."""


def ordered(points: Float[Array, "12 2"]) -> Float[Array, "12 2"]:
    """Clockwise round their mean, from the south: the order in which a track joins them."""
    points = jnp.asarray(points, jnp.float32)
    x, y = (points - points.mean(axis=0)).T
    return points[jnp.argsort(jnp.arctan2(x, y))]


def packed(icy: Bool[Array, " tiles"]) -> UInt32[Array, "15"]:
    """Flags of all tiles as bits, the first tile lowest."""
    bits = jnp.pad(icy, (0, 32 * _WORDS - TILES)).reshape(_WORDS, 32).astype(jnp.uint32)
    return (bits << jnp.arange(32, dtype=jnp.uint32)).sum(axis=1, dtype=jnp.uint32)


def icy_tiles(words: UInt32[Array, "15"]) -> Bool[Array, " tiles"]:
    """Undoes ``packed``."""
    bits = (jnp.asarray(words)[:, None] >> jnp.arange(32, dtype=jnp.uint32)) & jnp.uint32(1)
    return bits.reshape(-1)[:TILES].astype(bool)


def make(points: Any, icy: Any = ()) -> RacingLevel:
    """A level from points in any order and the numbers of its icy tiles. On the host: for what people bring."""
    points = np.asarray(points, np.float32)
    require(
        points.shape == (POINTS, 2),
        f"The track has control points of shape {list(points.shape)}; give {POINTS} of them, each as x,y.",
    )
    flags = np.zeros(TILES, bool)
    flags[list(icy)] = True
    level = RacingLevel(ordered(points), packed(jnp.asarray(flags)))
    check(level)
    return level


def check(level: RacingLevel) -> None:
    """Refuse a level that cannot be played. On the host: for levels that people bring."""
    points = np.asarray(level.points)
    require(
        points.shape == (POINTS, 2) and np.asarray(level.ice).shape == (_WORDS,),
        f"The level has control points of shape {list(points.shape)} and ice of shape "
        f"{list(np.asarray(level.ice).shape)}; give [{POINTS}, 2] and [{_WORDS}].",
    )
    for number, (x, y) in enumerate(points):
        require(
            bool(np.isfinite([x, y]).all()) and max(abs(x), abs(y)) <= REACH * 1.00001,
            f"Control point {number + 1} is at {x},{y}; each number has to be from -{REACH:.2f} to {REACH:.2f}.",
        )
    distance = np.hypot(*(np.roll(points, -1, axis=0) - points).T)
    near = int(distance.argmin())
    require(
        float(distance[near]) >= APART * 0.9999,
        f"The control points {_point(points[near])} and {_point(points[(near + 1) % POINTS])} follow each other on the "
        f"track and are {distance[near]:.3g} apart; at least {APART:g} are needed, so move one of them.",
    )


def _point(point: np.ndarray) -> str:
    return f"{point[0]:.6g},{point[1]:.6g}"


def to_text(level: RacingLevel) -> str:
    """Control points and, where there are any, icy tiles; ``from_text`` reads it back."""
    check(level)
    points = " ".join(f"{x!s},{y!s}" for x, y in np.asarray(level.points))
    icy = np.flatnonzero(np.asarray(icy_tiles(level.ice)))
    return f"points: {points}\nice: {' '.join(_ranges(icy)) or 'none'}"


def _ranges(numbers: np.ndarray) -> list[str]:
    """Numbers in a row as first-last."""
    rows = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1) if len(numbers) else []
    return [f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows]


_HELP = "Write a line 'points: x,y x,y ...' and, if you like, a line 'ice: 3 7-12', 'ice: q=0.4 seed=1' or 'ice: none'"


def from_text(text: str) -> RacingLevel:
    """Read a level. Points may come in any order."""
    lines = dict(_line(line) for line in text.strip().splitlines() if line.strip())
    lines.pop("note", None)  # for people
    if "points" not in lines or not set(lines) <= {"points", "ice"}:
        raise UserError(f"The text has lines called {', '.join(lines) or 'nothing'}. {_HELP}.")
    points = [_numbers(word) for word in lines["points"].split()]
    require(
        len(points) == POINTS,
        f"The track has {len(points)} control points, and it needs {POINTS}. {_HELP}.",
    )
    return make(points, _icy(lines.get("ice", "none")))


def _line(line: str) -> tuple[str, str]:
    name, colon, rest = line.partition(":")
    require(bool(colon), f"The line '{line.strip()[:60]}' has no colon. {_HELP}.")
    return name.strip(), rest


def _numbers(word: str) -> tuple[float, float]:
    try:
        x, y = map(float, word.split(","))
    except ValueError:
        raise UserError(f"'{word[:60]}' is not a control point; give two numbers as x,y. {_HELP}.") from None
    return x, y


def _icy(text: str) -> list[int]:
    drawn = re.fullmatch(r"\s*q=(\S+)(?:\s+seed=(\d+))?\s*", text)
    if drawn:
        q = share_of_ice(drawn[1])
        return np.flatnonzero(np.random.default_rng(int(drawn[2] or 0)).random(TILES) < q).tolist()
    tiles: list[int] = []
    for word in [] if text.strip() == "none" else text.split():
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if not found:
            raise UserError(f"'{word[:60]}' is neither a tile nor a range of tiles. {_HELP}.")
        first, last = int(found[1]), int(found[2] or found[1])
        require(
            first <= last < TILES,
            f"The icy tiles {word} are not on the track; tiles have numbers from 0 to {TILES - 1}.",
        )
        tiles += range(first, last + 1)
    return tiles


def share_of_ice(value: Any) -> float:
    """The probability q that a tile is icy, or a sentence."""
    try:
        q = float(value)
    except ValueError:
        q = float("nan")
    require(0.0 <= q <= 1.0, f"The share of ice q is {value}; it is a probability, so give a number from 0 to 1.")
    return q
