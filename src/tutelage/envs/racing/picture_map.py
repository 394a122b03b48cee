"""The road as a map that pictures are read from: at every half unit, the last polygon that was drawn there.

Only squares with road in them are kept, so a map is as large as its road, not as its field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt16

from .track import BORDER, HALF_WIDTH, Line, before, normals

CELL = 0.5
_BITS = 4
_BLOCK = 1 << _BITS
"""Cells along the side of a square that is kept or not."""
_SPACING = 0.35
"""Less than the distance within which a turned grid of points leaves no cell out."""
_ACROSS, _STRIPE = 40, 5
_ROAD = HALF_WIDTH * (2 * (np.arange(_ACROSS, dtype=np.float32) + 0.5) / _ACROSS - 1)
_OUTSIDE = HALF_WIDTH + BORDER * (np.arange(_STRIPE, dtype=np.float32) + 0.5) / _STRIPE
_COARSE = np.linspace(-HALF_WIDTH - BORDER, HALF_WIDTH + BORDER, 9).astype(np.float32)
_MARGIN = np.array([(-1.25, -1.25), (-1.25, 1.25), (1.25, -1.25), (1.25, 1.25)], np.float32)


class RoadMap(NamedTuple):
    """What is drawn where: 0 for nothing, 2i + 1 for tile i, 2i + 2 for its stripe."""

    square: UInt16[Array, "side*side"]
    """Which of the squares below; 0 is the empty one."""
    cells: UInt16[Array, "squares*256"]


@dataclass(frozen=True)
class MapSize:
    """What has to be known before the first track is seen."""

    side: int
    """Squares along the side of the map, each of 8 units."""
    squares: int
    """How many of them may have road. What is more looks like grass."""
    rows: int
    """Rows of points across the road that draw it. Where a track needs more, they are farther apart."""

    @property
    def half(self) -> float:
        return self.side * _BLOCK * CELL / 2


def road_map(size: MapSize, line: Line, stripe: Float[Array, " n"]) -> RoadMap:
    """Draw a road, each tile over the ones before it."""
    n, rows = line.angle.shape[0], size.rows
    (last, last_angle), across = before(line), normals(line.angle)
    across_last = normals(last_angle)
    edges = [line.place + k * across - last - k * across_last for k in (-HALF_WIDTH, 0.0, HALF_WIDTH)]
    longest = jnp.stack([jnp.sqrt((e * e).sum(axis=-1)) for e in edges]).max(axis=0)
    longest = jnp.where(jnp.arange(n) < line.length, longest, 0.0)
    density = jnp.minimum(1 / _SPACING, (rows - n) / jnp.maximum(longest.sum(), 1.0))
    each = jnp.ceil(longest * density).astype(jnp.int32)
    ends = jnp.cumsum(each)
    row = jnp.arange(rows)
    tile = jnp.minimum(jnp.searchsorted(ends, row, side="right"), n - 1)
    share = (row - ends[tile] + each[tile] + 0.5) / jnp.maximum(each[tile], 1)
    share = share[:, None].astype(jnp.float32)
    real = row < ends[-1]
    middle = last[tile] + (line.place[tile] - last[tile]) * share
    normal = across_last[tile] + (across[tile] - across_last[tile]) * share

    coarse = middle[::4, None] + normal[::4, None] * jnp.asarray(_COARSE)[:, None]
    near = (coarse[:, :, None] + jnp.asarray(_MARGIN)).reshape(-1, 2)
    square = jnp.where(jnp.repeat(real[::4], 4 * len(_COARSE)), _square(size, near[:, 0], near[:, 1])[0], size.side**2)
    used = jnp.zeros(size.side**2, bool).at[square].set(True, mode="drop")
    number = jnp.cumsum(used)
    index = jnp.where(used & (number <= size.squares), number, 0).astype(jnp.uint16)

    side = stripe[tile]
    outside = side[:, None] * jnp.asarray(_OUTSIDE)
    offset = jnp.concatenate([jnp.broadcast_to(jnp.asarray(_ROAD), (rows, _ACROSS)), outside], axis=1)
    spots = middle[:, None] + normal[:, None] * offset[..., None]
    square, cell = _square(size, spots[..., 0], spots[..., 1])
    tile_id = 2 * tile[:, None] + 1
    stripe_id = jnp.where(side[:, None] != 0, tile_id + 1, 0)
    ids = jnp.concatenate([jnp.repeat(tile_id, _ACROSS, axis=1), jnp.repeat(stripe_id, _STRIPE, axis=1)], axis=1)
    target = index[square].astype(jnp.int32) * _BLOCK**2 + cell
    # The empty square stays empty, and rows that nothing needs draw nothing.
    ids = jnp.where(real[:, None] & (target >= _BLOCK**2), ids, 0).astype(jnp.uint16)
    cells = jnp.zeros((size.squares + 1) * _BLOCK**2, jnp.uint16)
    return RoadMap(index, cells.at[target.reshape(-1)].max(ids.reshape(-1)))


def _square(size: MapSize, x: Float[Array, "*n"], y: Float[Array, "*n"]) -> tuple[Int[Array, "*n"], Int[Array, "*n"]]:
    """The square of a place, and the cell within it. Places beyond the map fall into its last squares."""
    x, y = (jnp.clip(((z + size.half) / CELL).astype(jnp.int32), 0, size.side * _BLOCK - 1) for z in (x, y))
    # Shifts, because whole division also has to be right for negative numbers, which takes several times as long.
    return (y >> _BITS) * size.side + (x >> _BITS), ((y & (_BLOCK - 1)) << _BITS) + (x & (_BLOCK - 1))


def drawn_at(size: MapSize, road: RoadMap, x: Float[Array, "*n"], y: Float[Array, "*n"]) -> Int[Array, "*n"]:
    """What is drawn at some places."""
    square, cell = _square(size, x, y)
    inside = (jnp.abs(x) < size.half) & (jnp.abs(y) < size.half)
    start = jnp.where(inside, road.square[square].astype(jnp.int32) * _BLOCK**2, 0)
    return road.cells[start + cell].astype(jnp.int32)
