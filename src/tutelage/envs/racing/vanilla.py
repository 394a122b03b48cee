"""Gymnasium's own tracks: a line that winds from checkpoint to checkpoint round the middle."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .track import Line

CHECKPOINTS = 12
_SCALE = 6.0
_RADIUS, _STEP, _TURN = 900 / _SCALE, 21 / _SCALE, 0.31
_LONGEST = 2500
_LAPS = 4
_START = -np.pi / CHECKPOINTS
MOST_TILES = 400


class _Pen(NamedTuple):
    place: Float[Array, "2"]
    beta: Float[Array, ""]
    target: Int[Array, ""]
    """Of all checkpoints passed and to come, the one that is headed for."""
    laps: Int[Array, ""]
    beyond: Bool[Array, ""]
    """Has it been on the other side of the start?"""


def track(noise: Float[Array, "12"], radius: Float[Array, "12"]) -> tuple[Line, Bool[Array, ""]]:
    """The track of some checkpoints, and whether it closes; both draws are shares from 0 to 1."""
    number = np.arange(CHECKPOINTS)
    whole = 2 * jnp.pi / CHECKPOINTS
    alpha = whole * number + whole * noise
    alpha = jnp.where(number == 0, 0.0, jnp.where(number == CHECKPOINTS - 1, whole * number, alpha))
    far = _RADIUS / 3 + radius * (_RADIUS - _RADIUS / 3)
    far = jnp.where((number == 0) | (number == CHECKPOINTS - 1), 1.5 * _RADIUS, far)
    points = far[:, None] * jnp.stack([jnp.cos(alpha), jnp.sin(alpha)], axis=1)

    def draw(pen: _Pen, _: None) -> tuple[_Pen, tuple[Array, Array]]:
        going = pen.laps <= _LAPS
        angle = jnp.arctan2(pen.place[1], pen.place[0])
        passed = pen.beyond & (angle > 0)
        laps, beyond = pen.laps + passed, (pen.beyond & ~passed) | (angle < 0)
        angle = jnp.where(angle < 0, angle + 2 * jnp.pi, angle)
        target, angle = _next(alpha, pen.target, angle)
        across = jnp.stack([jnp.cos(pen.beta), jnp.sin(pen.beta)])
        ahead = jnp.stack([-across[1], across[0]])
        aside = (across * (points[target % CHECKPOINTS] - pen.place)).sum()
        before = pen.beta
        before = lax.while_loop(lambda b: b - angle > 1.5 * jnp.pi, lambda b: b - 2 * jnp.pi, before)
        before = lax.while_loop(lambda b: b - angle < -1.5 * jnp.pi, lambda b: b + 2 * jnp.pi, before)
        aside = aside * _SCALE
        turn = jnp.where(jnp.abs(aside) > 0.3, jnp.minimum(_TURN, jnp.abs(0.001 * aside)), 0.0)
        beta = before - jnp.sign(aside) * turn
        place = pen.place + ahead * _STEP
        drawn = jnp.stack([angle, (before + beta) / 2, place[0], place[1]])
        return _Pen(place, beta, target, laps, beyond), (drawn, going)

    zero = jnp.int32(0)
    first = _Pen(jnp.array([1.5 * _RADIUS, 0.0]), jnp.float32(0), zero, zero, jnp.bool_(False))
    _, (drawn, going) = lax.scan(draw, first, length=_LONGEST)
    return _loop(drawn, going.sum())


def _next(alpha: Array, target: Array, angle: Array) -> tuple[Array, Array]:
    """The first checkpoint ahead; after a whole round of them, the angle counts from there."""

    def search(state: tuple[Array, Array]) -> tuple[Array, Array]:
        target, angle = state
        target = target + 1
        return target, jnp.where(target % CHECKPOINTS == 0, angle - 2 * jnp.pi, angle)

    return lax.while_loop(lambda s: s[1] > alpha[s[0] % CHECKPOINTS], search, (target, angle))


def _loop(drawn: Float[Array, "n 4"], made: Int[Array, ""]) -> tuple[Line, Bool[Array, ""]]:
    """The last whole round from start to start. Of each place: angles round the middle and of the road, x and y."""
    index = jnp.arange(_LONGEST)
    angle = drawn[:, 0]
    starts = (angle > _START) & (jnp.roll(angle, 1) <= _START) & (index > 0) & (index < made)
    last = jnp.where(starts, index, -1).max()
    first = jnp.where(starts & (index < last), index, -1).max()
    count = last - 1 - first
    chosen = drawn[jnp.clip(first + jnp.arange(MOST_TILES), 0, _LONGEST - 1)]
    line = Line(chosen[:, 2:], chosen[:, 1], count.astype(jnp.int32))
    gap = line.place[0] - line.place[count - 1]
    across = jnp.stack([jnp.cos(line.angle[0]), jnp.sin(line.angle[0])])
    glued = jnp.sqrt(jnp.square(across * gap).sum()) <= _STEP
    return line, (first > 0) & glued & (count > 0) & (count <= MOST_TILES)


def sample(key: PRNGKeyArray) -> Line:
    """A random track, drawn again until it closes."""

    def draw(tries: Array) -> tuple[Line, Array]:
        k_noise, k_radius = jax.random.split(jax.random.fold_in(key, tries))
        return track(jax.random.uniform(k_noise, (CHECKPOINTS,)), jax.random.uniform(k_radius, (CHECKPOINTS,)))

    def again(state: tuple[Array, Line, Array]) -> tuple[Array, Line, Array]:
        return state[0] + 1, *draw(state[0])

    _, line, _ = lax.while_loop(lambda s: ~s[2] & (s[0] < 100), again, (jnp.int32(1), *draw(jnp.int32(0))))
    return line
