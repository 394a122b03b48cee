"""What the student sees: the field from above, turned with the car, over a dashboard; Gymnasium's picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from .car import WHEEL_HALF, WHEELS, Car, origin
from .picture_map import MapSize, RoadMap, drawn_at

# Gymnasium draws a window and scales it down, which darkens what is not black by two.
_WINDOW = (1000, 800)
_ZOOM = 16.2
"""Pixels of the window for a unit of the field."""
_SHOWN = (500, 600)
"""Where the car is in the window."""
GRASS, MEADOW, ROAD, HULL = (100, 202, 100), (100, 228, 100), (100, 102, 105), 202
WHITE, RED = (253, 253, 253), (253, 0, 0)
_FINE = 8
"""Points along the side of a pixel, for what is drawn ahead."""
_ANGLES = np.linspace(-0.45, 0.45, 37)
"""Of the front wheels, as drawn."""
_HULL = (
    ((-60, 130), (60, 130), (60, 110), (-60, 110)),
    ((-15, 120), (15, 120), (20, 20), (-20, 20)),
    ((25, 20), (50, -10), (50, -40), (20, -90), (-20, -90), (-50, -40), (-50, -10), (-25, 20)),
    ((-50, -120), (50, -120), (50, -90), (-50, -90)),
)
_GLYPHS = "0123456789-"
_DIGITS = (
    "111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001", "111100111001111",
    "111100111101111", "111001001001001", "111101111101111", "111101111001111", "000000111000000",
)  # fmt: skip
"""Three by five dots each."""


@dataclass(frozen=True)
class View:
    """How a picture is made."""

    size: int = 96
    grey: bool = False
    samples: int = 1
    """Along the side of a pixel: 1 or 2."""

    @property
    def channels(self) -> int:
        return 1 if self.grey else 3

    def __call__(
        self,
        size: MapSize,
        road: RoadMap,
        field: Float[Array, ""],
        car: Car,
        visited: Bool[Array, " n"],
        score: Float[Array, ""],
    ) -> UInt8[Array, "size size channels"]:
        """One picture. ``score`` is the number on the dashboard."""
        colours = _colours(visited)
        offsets = [0.0] if self.samples == 1 else [-0.25, 0.25]
        pixels = [self._sampled(size, road, field, car, colours, dx, dy) for dy in offsets for dx in offsets]
        while len(pixels) > 1:  # averages of packed colours, two at a time
            pairs = zip(pixels[::2], pixels[1::2], strict=True)
            pixels = [(a & b) + (((a ^ b) & np.uint32(0xFEFEFEFE)) >> 1) for a, b in pairs]
        image = jax.lax.bitcast_convert_type(pixels[0], jnp.uint8)[..., :3]
        masks = _masks(self.size)
        top, left = masks.corner
        patch = jax.lax.slice(image, (top, left, 0), (top + masks.hull.shape[0], left + masks.hull.shape[1], 3))
        image = jax.lax.dynamic_update_slice(image, _with_car(masks, patch, car), (top, left, 0))
        image = jax.lax.dynamic_update_slice(image, _dashboard(self.size, car, score), (self.size * 7 // 8, 0, 0))
        if not self.grey:
            return image
        red, green, blue = (image[..., k].astype(jnp.float32) for k in range(3))
        return (0.299 * red + 0.587 * green + 0.114 * blue + 0.5).astype(jnp.uint8)[..., None]

    def _sampled(
        self,
        size: MapSize,
        road: RoadMap,
        field: Float[Array, ""],
        car: Car,
        colours: UInt32[Array, " ids"],
        dx: float,
        dy: float,
    ) -> UInt32[Array, "size size"]:
        """The field at one point of every pixel. Colours stay packed: apart, each would look the map up again."""
        steps = np.arange(self.size) + 0.5
        right = (((steps + dx) * _WINDOW[0] / self.size - _SHOWN[0]) / _ZOOM).astype(np.float32)[None, :]
        up = ((_SHOWN[1] - (steps + dy) * _WINDOW[1] / self.size) / _ZOOM).astype(np.float32)
        (car_x, car_y), cos, sin = origin(car), jnp.cos(car.angle), jnp.sin(car.angle)
        meadow = field / 20

        def rows(up: Float[Array, "rows 1"]) -> UInt32[Array, "rows size"]:
            x, y = car_x + cos * right - sin * up, car_y + sin * right + cos * up
            drawn = drawn_at(size, road, x, y)
            even = (jnp.floor(x / meadow).astype(jnp.int32) | jnp.floor(y / meadow).astype(jnp.int32)) & 1 == 0
            ground = jnp.where(even, _packed(MEADOW), _packed(GRASS))
            ground = jnp.where((jnp.abs(x) <= field) & (jnp.abs(y) <= field), ground, _packed((0, 0, 0)))
            return jnp.where(drawn > 0, colours[drawn], ground)

        # A loop of two halves, because XLA writes down what comes out of a loop. Without one it computes all of this
        # again for every byte of every pixel: 80 instead of 22 microseconds a picture.
        halves = jax.lax.map(rows, jnp.asarray(up).reshape(2, -1, 1))
        return halves.reshape(self.size, self.size)


def _packed(colour: tuple[int, int, int]) -> np.uint32:
    red, green, blue = colour
    return np.uint32(red | green << 8 | blue << 16 | 255 << 24)


def _colours(visited: Bool[Array, " n"]) -> UInt32[Array, "2n+1"]:
    """By what is drawn: nothing, then every tile and its stripe in turn. Road that was driven on is a little darker."""
    n = visited.shape[0]
    shades = np.array([_packed((shade, shade, shade)) for shade in ROAD])
    plain, stripe = shades[np.arange(n) % 3], np.where(np.arange(n) % 2 == 0, _packed(WHITE), _packed(RED))
    tile = jnp.where(visited, shades[0], plain)
    both = jnp.stack([tile, jnp.asarray(stripe, jnp.uint32)], axis=1).reshape(-1)
    return jnp.concatenate([jnp.zeros(1, jnp.uint32), both])


# --- the car


@dataclass(frozen=True, eq=False)
class _Masks:
    """How much of each pixel near the car is hull, rear wheels, and front wheels at each angle."""

    corner: tuple[int, int]
    hull: np.ndarray
    rear: np.ndarray
    front: np.ndarray


@cache
def _masks(size: int) -> _Masks:
    top, bottom, left, right = (round(share * size) for share in (2 / 3, 5 / 6, 0.4375, 0.5625))
    rows = (np.arange(top * _FINE, bottom * _FINE) + 0.5) / _FINE * _WINDOW[1] / size
    columns = (np.arange(left * _FINE, right * _FINE) + 0.5) / _FINE * _WINDOW[0] / size
    x, y = np.meshgrid((columns - _SHOWN[0]) / _ZOOM, (_SHOWN[1] - rows) / _ZOOM)

    def shares(inside: np.ndarray) -> np.ndarray:
        return inside.reshape(bottom - top, _FINE, right - left, _FINE).mean(axis=(1, 3)).astype(np.float32)

    def polygon(corners: tuple[tuple[int, int], ...]) -> np.ndarray:
        points = 0.02 * np.array(corners, float)
        points = points[np.argsort(np.arctan2(*(points - points.mean(0)).T[::-1]))]  # counterclockwise
        sides = zip(points, np.roll(points, -1, axis=0), strict=True)
        return np.all([(b - a)[0] * (y - a[1]) - (b - a)[1] * (x - a[0]) >= 0 for a, b in sides], axis=0)

    def wheel(number: int, angle: float) -> np.ndarray:
        dx, dy = x - WHEELS[number][0], y - WHEELS[number][1]
        aside, ahead = np.cos(angle) * dx + np.sin(angle) * dy, np.cos(angle) * dy - np.sin(angle) * dx
        return (np.abs(aside) <= WHEEL_HALF[0]) & (np.abs(ahead) <= WHEEL_HALF[1])

    hull = shares(np.any([polygon(corners) for corners in _HULL], axis=0))
    front = np.stack([shares(wheel(0, angle) | wheel(1, angle)) for angle in _ANGLES])
    return _Masks((top, left), hull, shares(wheel(2, 0.0) | wheel(3, 0.0)), front)


def _with_car(masks: _Masks, patch: UInt8[Array, "h w 3"], car: Car) -> UInt8[Array, "h w 3"]:
    place = (car.steer - _ANGLES[0]) / (_ANGLES[1] - _ANGLES[0])
    front = jnp.asarray(masks.front)[jnp.clip(jnp.round(place).astype(jnp.int32), 0, len(_ANGLES) - 1)]
    through = (1 - masks.rear) * (1 - front) * (1 - masks.hull)
    painted = masks.hull[..., None] * np.array([HULL, 0, 0], np.float32)
    return (patch.astype(jnp.float32) * through[..., None] + painted + 0.5).astype(jnp.uint8)


# --- the dashboard


def _covered(low: Array, high: Array, count: int, whole: int, first: float = 0.0) -> Float[Array, "*n count"]:
    """The share of each of ``count`` pixels that lies between two lines of the window."""
    edge = np.linspace(first, whole, count + 1).astype(np.float32)
    overlap = jnp.minimum(high[..., None], edge[1:]) - jnp.maximum(low[..., None], edge[:-1])
    return jnp.clip(overlap / (edge[1] - edge[0]), 0.0, 1.0)


def _dashboard(size: int, car: Car, score: Float[Array, ""]) -> UInt8[Array, "rows size 3"]:
    """Speed, the four wheels' spin, steering, turning, and the score."""
    (wide, high), rows, top = _WINDOW, size // 8, 700.0
    across, down = wide / 40, high / 40
    speed = jnp.sqrt((car.velocity * car.velocity).sum())
    lengths = jnp.concatenate([0.02 * speed[None], 0.01 * car.spin])
    ends = high - down * (1 + lengths)
    bars = _covered(jnp.minimum(ends, high - down), jnp.maximum(ends, high - down), rows, high, top)
    places = np.array([5, 7, 8, 9, 10]) * across
    columns = np.asarray(_overlap(places, places + across, size, wide))
    paint = np.array([WHITE, (0, 0, 253), (0, 0, 253), (49, 0, 253), (49, 0, 253)], np.float32)
    image = bars.T @ jnp.asarray((columns[:, :, None] * paint[:, None]).reshape(5, -1).astype(np.float32))

    middle = np.array([20, 30]) * across
    ends = middle + across * jnp.stack([-10.0 * car.steer, -0.8 * car.turning])
    flat = _covered(jnp.minimum(ends, middle), jnp.maximum(ends, middle), size, wide)
    height = _overlap(np.array([high - 4 * down]), np.array([high - 2 * down]), rows, high, top)[0].astype(np.float32)
    paint = np.array([(0, 253, 0), (253, 0, 0)], np.float32)
    image = image.reshape(rows, size, 3) + height[:, None, None] * (flat.T @ paint)[None]
    number = _number(size, score)[..., None] * np.float32(WHITE[0])
    return jnp.clip(image + number + 0.5, 0.0, 255.0).astype(jnp.uint8)


def _overlap(low: np.ndarray, high: np.ndarray, count: int, whole: int, first: float = 0.0) -> np.ndarray:
    """As ``_covered``, ahead."""
    edge = np.linspace(first, whole, count + 1)
    overlap = np.minimum(high[:, None], edge[1:]) - np.maximum(low[:, None], edge[:-1])
    return np.clip(overlap / (edge[1] - edge[0]), 0.0, 1.0)


@cache
def _glyphs(size: int) -> np.ndarray:
    """``[4 places, glyphs, rows, size]``: every character at every place of the score, as shares of pixels."""
    table = np.zeros((4, len(_GLYPHS), size // 8, size), np.float32)
    dot, advance, tall = 5.4, 23.4, 30.0
    for place in range(4):
        left = 60 - 2 * advance + place * advance + (advance - 3 * dot) / 2
        for glyph, dots in enumerate(_DIGITS):
            for k in np.flatnonzero(np.array(list(dots)) == "1"):
                x, y = left + (k % 3) * dot, 750 - tall / 2 + (k // 3) * tall / 5
                column = _overlap(np.array([x]), np.array([x + dot]), size, _WINDOW[0])[0]
                row = _overlap(np.array([y]), np.array([y + tall / 5]), size // 8, _WINDOW[1], 700.0)[0]
                table[place, glyph] += row[:, None] * column[None]
    return table


def _number(size: int, score: Float[Array, ""]) -> Float[Array, "rows size"]:
    """Four characters, as in '0123' or '-045'."""
    table = _glyphs(size)
    wide = int(np.flatnonzero(table.any(axis=(0, 1, 2))).max()) + 1
    value = jnp.round(jnp.abs(score)).astype(jnp.int32)
    digits: list[Int[Array, ""]] = [(value // 10**k) % 10 for k in (3, 2, 1, 0)]
    digits[0] = jnp.where(score < 0, len(_GLYPHS) - 1, digits[0])
    chosen = sum(jnp.asarray(table[place, :, :, :wide])[digit] for place, digit in enumerate(digits))
    return jnp.pad(chosen, ((0, 0), (0, size - wide)))
