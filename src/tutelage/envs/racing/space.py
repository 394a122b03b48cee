"""What a teacher may do to racing levels: draw, edit and measure them."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...errors import require
from ...types import Metrics
from .ice import black_ice
from .level import APART, POINTS, REACH, TILES, RacingLevel, icy_tiles, ordered, packed
from .track import bends, bezier

_ROOM = 0.7 / POINTS * 2 * REACH
"""Between random control points that follow each other."""
_TRIES = 200
_MOVE = 0.1 * 2 * REACH
"""The farthest that an edit moves a control point along each axis."""
_PROPOSALS = 8
_STRETCH = 8
"""Most tiles that an edit freezes or thaws."""
_EASY = (60.0, 150.0)
"""Radius of a round track."""
_THIN = 4
"""Every so many tiles count where crossings are looked for."""


@dataclass(frozen=True)
class RacingSpace:
    """Tracks of twelve control points; with ``ice``, tiles are icy with q ~ Beta(alpha, beta)."""

    ice: bool = False
    alpha: float = 1.0
    beta: float = 15.0

    def sample(self, key: PRNGKeyArray) -> RacingLevel:
        """Control points uniform in the square, drawn again while two that follow each other are too close."""
        k_ice, k_points = jax.random.split(key)

        def again(state: tuple[Array, Array]) -> Array:
            tries, points = state
            return (tries < _TRIES) & (_closest(points) < _ROOM)

        def draw(state: tuple[Array, Array]) -> tuple[Array, Array]:
            tries, _ = state
            fresh = jax.random.uniform(jax.random.fold_in(k_points, tries), (POINTS, 2), minval=-REACH, maxval=REACH)
            return tries + 1, ordered(fresh)

        _, points = lax.while_loop(again, draw, draw((jnp.int32(0), jnp.zeros((POINTS, 2)))))
        return RacingLevel(points, packed(self._ice(k_ice)))

    def _ice(self, key: PRNGKeyArray) -> Bool[Array, " tiles"]:
        return black_ice(key, self.alpha, self.beta, TILES) if self.ice else jnp.zeros(TILES, bool)

    def easy(self, key: PRNGKeyArray) -> RacingLevel:
        """A round track without ice."""
        k_radius, k_turn = jax.random.split(key)
        radius = jax.random.uniform(k_radius, minval=_EASY[0], maxval=_EASY[1])
        angle = 2 * jnp.pi * (jax.random.uniform(k_turn) + jnp.arange(POINTS)) / POINTS
        points = radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        return RacingLevel(ordered(points), packed(jnp.zeros(TILES, bool)))

    def edit(self, key: PRNGKeyArray, level: RacingLevel, edits: int) -> RacingLevel:
        """So many times, move a control point a little; with ice, half of the time freeze or thaw a stretch instead."""
        require(edits >= 1, f"edits is {edits}; give at least 1.")

        def once(level: RacingLevel, key: PRNGKeyArray) -> tuple[RacingLevel, None]:
            k_which, k_move, k_ice = jax.random.split(key, 3)
            moved = RacingLevel(_moved(k_move, level.points), level.ice)
            if not self.ice:
                return moved, None
            frozen = RacingLevel(level.points, packed(_turned(k_ice, icy_tiles(level.ice))))
            icy = jax.random.bernoulli(k_which)
            return jax.tree.map(lambda a, b: jnp.where(icy, a, b), frozen, moved), None

        level = RacingLevel(jnp.asarray(level.points), jnp.asarray(level.ice))
        return lax.scan(once, level, jax.random.split(key, edits))[0]

    def metrics(self, level: RacingLevel) -> Metrics:
        """How long, winding and icy a track is, and how often it crosses itself."""
        line = bezier(jnp.asarray(level.points), east=False)
        steps = jnp.roll(line.place, -1, axis=0) - line.place
        length = jnp.sqrt((steps * steps).sum(axis=1)).sum()
        named = {
            "length": length,
            "curvature": jnp.abs(bends(line)).sum() / length,
            "crossings": crossings(line.place[::_THIN]).astype(jnp.float32),
        }
        return named | ({"ice": icy_tiles(level.ice).mean()} if self.ice else {})


def _closest(points: Float[Array, "12 2"]) -> Float[Array, ""]:
    """The least distance between points that follow each other."""
    step = jnp.roll(points, -1, axis=0) - points
    return jnp.sqrt((step * step).sum(axis=1).min())


def _moved(key: PRNGKeyArray, points: Float[Array, "12 2"]) -> Float[Array, "12 2"]:
    """One of them elsewhere: the first of a few proposals that goes somewhere and comes too close to none."""
    k_which, k_move = jax.random.split(key)
    which = jax.random.randint(k_which, (), 0, POINTS)
    moves = jax.random.uniform(k_move, (_PROPOSALS, 2), minval=-_MOVE, maxval=_MOVE)
    chosen = jnp.arange(POINTS)[:, None] == which

    def propose(move: Array) -> tuple[Array, Array]:
        moved = jnp.where(chosen, jnp.clip(points + move, -REACH, REACH), points)
        far = jnp.abs(moved - points).max() >= 1.0
        new = ordered(moved)
        return new, far & (_closest(new) >= APART)

    proposals, good = jax.vmap(propose)(moves)
    return jnp.where(good.any(), proposals[jnp.argmax(good)], points)


def _turned(key: PRNGKeyArray, icy: Bool[Array, " tiles"]) -> Bool[Array, " tiles"]:
    """A stretch of tiles, all icy or all dry: the opposite of what the first of them was."""
    k_first, k_count = jax.random.split(key)
    first = jax.random.randint(k_first, (), 0, TILES)
    count = jax.random.randint(k_count, (), 1, _STRETCH + 1)
    return jnp.where(jnp.mod(jnp.arange(TILES) - first, TILES) < count, ~icy[first], icy)


def crossings(line: Float[Array, "n 2"]) -> Int[Array, ""]:
    """How often a closed line of straight pieces crosses itself."""
    ends = jnp.roll(line, -1, axis=0)

    def side(a: Array, b: Array, c: Array) -> Array:
        """On which side of the piece from a to b is c?"""
        return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0]) > 0

    a, b, c, d = line[:, None], ends[:, None], line[None], ends[None]
    crossed = (side(a, b, c) != side(a, b, d)) & (side(c, d, a) != side(c, d, b))
    n = line.shape[0]
    apart = (np.arange(n)[:, None] - np.arange(n)[None]) % n
    return (crossed & (apart > 1) & (apart < n - 1)).sum() // 2
