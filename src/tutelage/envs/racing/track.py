"""From control points to a road: a centre line, tiles, and what wheels touch of them."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .car import WHEEL_HALF
from .level import SEGMENT

HALF_WIDTH = 40 / 6
BORDER = 8 / 6
"""Width of the stripes outside of bends."""
_EDGY = np.arctan(0.2) / np.pi + 0.5
"""How much the direction to the next control point counts against that from the one before."""
_HANDLE = 0.2
"""Of a Bézier curve, as a share of the distance between its ends."""
_SKIN = 0.02
"""What is no farther away than this touches: the radii of two polygons in Box2D."""
_NOWHERE = 1e6


class Line(NamedTuple):
    """The middle of a road, a closed line. Of ``n`` places the first ``length`` are meant."""

    place: Float[Array, "n 2"]
    angle: Float[Array, " n"]
    """Of a car that stands there: it faces along (-sin, cos); (cos, sin) points across the road."""
    length: Int[Array, ""]


class Tiles(NamedTuple):
    """The road as convex polygons of up to four corners, counterclockwise; a triangle has one corner twice."""

    centre: Float[Array, "n 2"]
    shape: Float[Array, "n 20"]
    """Corners [4, 2], then outward normals of the sides [4, 2], then how far these are from the origin [4]."""


def bezier(points: Float[Array, "12 2"], east: bool) -> Line:
    """The track through control points, centred on its bounding box.

    It starts at the tile nearest to the direction of 0 degrees from the middle (``east``), or at the first control
    point, which lies in the south. Points follow each other clockwise, and the car faces the other way.
    """
    step = jnp.roll(points, -1, axis=0) - points
    heading = jnp.mod(jnp.arctan2(step[:, 1], step[:, 0]), 2 * jnp.pi)
    before = jnp.roll(heading, 1)
    turn = _EDGY * heading + (1 - _EDGY) * before + jnp.where(jnp.abs(before - heading) > jnp.pi, jnp.pi, 0.0)
    reach = _HANDLE * jnp.sqrt((step * step).sum(axis=1))[:, None]
    along = jnp.stack([jnp.cos(turn), jnp.sin(turn)], axis=1)
    ends = jnp.roll(points, -1, axis=0)
    handles = points, points + reach * along, ends - reach * jnp.roll(along, -1, axis=0), ends
    t = (np.arange(SEGMENT, dtype=np.float32) / SEGMENT)[None, :, None]
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    pieces = jnp.stack([w * h[:, None] for w, h in zip(weights, handles, strict=True)])
    place = pieces.sum(axis=0).reshape(-1, 2)
    place = place - (place.min(axis=0) + place.max(axis=0)) / 2
    if east:
        nearest = jnp.argmin(jnp.abs(jnp.arctan2(place[:, 1], place[:, 0])))
        place = jnp.roll(place, -nearest, axis=0)
    ahead = jnp.roll(place, -1, axis=0) - place
    angle = jnp.arctan2(ahead[:, 1], ahead[:, 0]) + jnp.pi / 2
    return Line(place, angle, jnp.int32(len(place)))


def before(line: Line) -> tuple[Float[Array, "n 2"], Float[Array, " n"]]:
    """The place and the angle before each: a tile reaches from there to its own."""
    n = line.angle.shape[0]
    index = jnp.where(jnp.arange(n) == 0, line.length - 1, jnp.arange(n) - 1)
    return line.place[index], line.angle[index]


def normals(angle: Array) -> Float[Array, "n 2"]:
    """Across the road."""
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def bends(line: Line) -> Float[Array, " n"]:
    """How much the road turns at each tile, in radians."""
    difference = line.angle - before(line)[1]
    return jnp.mod(difference + jnp.pi, 2 * jnp.pi) - jnp.pi


def stripes(line: Line, sharp: Float[Array, ""] | float) -> Float[Array, " n"]:
    """On which side of each tile there is a stripe, 1 or -1; 0 for none. They mark four sharp bends in a row."""
    n = line.angle.shape[0]
    turn, real = bends(line), jnp.arange(n) < line.length
    sign = jnp.where(real & (jnp.abs(turn) > sharp), jnp.sign(turn), 0.0)

    def shifted(values: Array, by: int) -> Array:
        """The value so many tiles earlier, or later if negative, round the closed line."""
        return values[jnp.mod(jnp.arange(n) - by, line.length)]

    row = sum(shifted(sign, k) for k in range(4))
    good = real & (jnp.abs(row) == 4)
    marked = good | shifted(good, -1) | shifted(good, -2) | shifted(good, -3)
    return jnp.where(real & marked, -jnp.sign(turn), 0.0)


def tiles(line: Line) -> Tiles:
    """The polygons between neighbouring places."""
    real = (jnp.arange(line.angle.shape[0]) < line.length)[:, None]
    (last, last_angle), here = before(line), normals(line.angle) * HALF_WIDTH
    there = normals(last_angle) * HALF_WIDTH
    corners = jnp.stack([line.place - here, line.place + here, last + there, last - there], axis=1)
    centre = corners.mean(axis=1)
    corners = jax.vmap(_convex)(corners, centre)
    side = jnp.roll(corners, -1, axis=1) - corners
    length = jnp.sqrt((side * side).sum(axis=-1, keepdims=True))
    normal = jnp.stack([side[..., 1], -side[..., 0]], axis=-1) / jnp.maximum(length, 1e-9)
    offset = (normal * corners).sum(axis=-1)
    flat = [x.reshape(len(x), -1) for x in (corners, normal, offset)]
    return Tiles(jnp.where(real, centre, _NOWHERE), jnp.where(real, jnp.concatenate(flat, axis=1), _NOWHERE))


def _convex(corners: Float[Array, "4 2"], centre: Float[Array, "2"]) -> Float[Array, "4 2"]:
    """Four points as a convex polygon: tight bends twist tiles, and a point inside of the others counts for nothing."""
    x, y = (corners - centre).T
    corners = corners[jnp.argsort(jnp.arctan2(y, x))]
    back, on = jnp.roll(corners, 1, axis=0), jnp.roll(corners, -1, axis=0)
    a, b = corners - back, on - corners
    inward = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] <= 0
    return jnp.where(inward[:, None], back, corners)


def touching(shape: Float[Array, "20 k"], place: Float[Array, "4 2"], angle: Float[Array, "4"]) -> Bool[Array, "4 k"]:
    """Which wheel is on which tile: two rectangles are apart if a side of either has the other beyond it.

    Tiles are the last axis throughout, so that a processor takes several at a time.
    """
    corners, normals, offsets = shape[:8].reshape(4, 2, -1), shape[8:16].reshape(4, 2, -1), shape[16:]
    c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    x, y = place[:, :1], place[:, 1:]
    half_x, half_y = WHEEL_HALF
    apart = jnp.zeros((4, shape.shape[1]), bool)
    for (across, along), offset in zip(normals, offsets, strict=True):
        extent = half_x * jnp.abs(c * across + s * along) + half_y * jnp.abs(c * along - s * across)
        apart |= x * across + y * along - offset - extent > _SKIN
    away = [(px - x, py - y) for px, py in corners]
    aside, ahead = [c * dx + s * dy for dx, dy in away], [c * dy - s * dx for dx, dy in away]
    for distances, half in ((aside, half_x), (ahead, half_y)):
        apart |= reduce(jnp.minimum, distances) - half > _SKIN
        apart |= -reduce(jnp.maximum, distances) - half > _SKIN
    return ~apart
