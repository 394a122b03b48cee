"""Gaussian mixtures by expectation maximisation, in fixed shapes: a fit is a part of the compiled program.

The rules are scikit-learn's: k-means before the first step, full covariances with a little added to their diagonal, and
an end when the mean log-likelihood hardly changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

REGULARISATION = 1e-6
"""Added to every variance, so that Gaussians of few or equal points have a density."""
TOLERANCE = 1e-3
STEPS = 100
LLOYD_STEPS = 10
"""Of k-means, which only has to find the neighbourhood."""


class Mixture(NamedTuple):
    """Places for ``K`` Gaussians over ``D`` numbers. A place of weight 0 is not in use."""

    weight: Float[Array, " K"]
    mean: Float[Array, "K D"]
    factor: Float[Array, "K D D"]
    """The covariances' lower Cholesky factors: what a draw and a density need."""

    @property
    def used(self) -> Bool[Array, " K"]:
        return self.weight > 0


def unused(places: int, dimensions: int) -> Mixture:
    """A mixture of nothing yet."""
    return Mixture(jnp.zeros(places), jnp.zeros((places, dimensions)), jnp.zeros((places, dimensions, dimensions)))


def log_likelihood(mixture: Mixture, points: Float[Array, "N D"]) -> Float[Array, " N"]:
    """Of each point."""
    return logsumexp(_log_joint(mixture, points), axis=1)


def aic(mixture: Mixture, points: Float[Array, "N D"]) -> Float[Array, ""]:
    """Akaike's information criterion: less is better."""
    size = points.shape[1]
    parameters = mixture.used.sum() * (size * (size + 1) / 2 + size + 1) - 1
    return 2 * parameters - 2 * log_likelihood(mixture, points).sum()


def fit(key: PRNGKeyArray, points: Float[Array, "N D"], numbers: Sequence[int]) -> Mixture:
    """Of the mixtures with so many Gaussians, each fitted to the points, the one with the least AIC."""
    seeds = _seeds(key, points, max(numbers))
    used = jnp.asarray(np.arange(max(numbers)) < np.asarray(numbers)[:, None])
    mixtures = jax.vmap(lambda used: _fitted(points, seeds, used))(used)
    best = jnp.argmin(jax.vmap(lambda mixture: aic(mixture, points))(mixtures))
    return jax.tree.map(lambda x: x[best], mixtures)


def _log_joint(mixture: Mixture, points: Float[Array, "N D"]) -> Float[Array, "N K"]:
    """The log-density of each point together with each Gaussian; minus infinity where there is none."""

    def log_density(mean: Array, factor: Array) -> Array:
        inverse = solve_triangular(factor, jnp.eye(len(mean)), lower=True)
        distance = jnp.square((points - mean) @ inverse.T).sum(axis=1)
        return -0.5 * (distance + len(mean) * jnp.log(2 * jnp.pi)) - jnp.log(jnp.diagonal(factor)).sum()

    densities = jax.vmap(log_density, out_axes=1)(mixture.mean, mixture.factor)
    return jnp.where(mixture.used, densities + jnp.log(mixture.weight), -jnp.inf)


def _fitted(points: Float[Array, "N D"], seeds: Float[Array, "K D"], used: Bool[Array, " K"]) -> Mixture:
    """One fit, from the seeds whose places are used."""

    def improve(carry: tuple[Array, Mixture, Array, Array]) -> tuple[Array, Mixture, Array, Array]:
        step, mixture, before, _ = carry
        joint = _log_joint(mixture, points)
        total = logsumexp(joint, axis=1, keepdims=True)
        now = total.mean()
        return step + 1, _maximised(points, jnp.exp(joint - total), used), now, jnp.abs(now - before)

    shares = jax.nn.one_hot(_clusters(points, seeds, used), len(used))
    start = (jnp.int32(0), _maximised(points, shares, used), jnp.float32(-jnp.inf), jnp.float32(jnp.inf))
    return jax.lax.while_loop(lambda carry: (carry[0] < STEPS) & (carry[3] >= TOLERANCE), improve, start)[1]


def _maximised(points: Float[Array, "N D"], shares: Float[Array, "N K"], used: Bool[Array, " K"]) -> Mixture:
    """The likeliest mixture, if these shares of the points are each Gaussian's."""
    number = shares.sum(axis=0) + 10 * jnp.finfo(jnp.float32).eps
    mean = shares.T @ points / number[:, None]
    away = points[:, None] - mean
    covariance = jnp.einsum("nk,nki,nkj->kij", shares, away, away) / number[:, None, None]
    covariance += REGULARISATION * jnp.eye(points.shape[1])
    weight = jnp.where(used, number, 0.0)
    return Mixture(weight / weight.sum(), mean, jax.vmap(_cholesky)(covariance))


def _cholesky(covariance: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """The lower factor. A covariance with something added to its diagonal has no pivot below that, but single precision
    may compute one, and even a negative one: with a floor the factor always exists.
    """
    rows = jnp.arange(len(covariance))

    def column(j: Int[Array, ""], factor: Array) -> Array:
        rest = covariance[:, j] - factor @ factor[j]
        pivot = jnp.sqrt(jnp.maximum(rest[j], REGULARISATION))
        return factor.at[:, j].set(jnp.where(rows > j, rest / pivot, jnp.where(rows == j, pivot, 0.0)))

    return jax.lax.fori_loop(0, len(covariance), column, jnp.zeros_like(covariance))


# --- k-means


def _seeds(key: PRNGKeyArray, points: Float[Array, "N D"], number: int) -> Float[Array, "number D"]:
    """Points far from each other (k-means++). The first few are the seeds of a smaller number as well."""
    k_first, k_rest = jax.random.split(key)
    first = points[jax.random.randint(k_first, (), 0, len(points))]

    def pick(distance: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        seed = points[jax.random.categorical(key, jnp.log(distance))]
        return jnp.minimum(distance, jnp.square(points - seed).sum(axis=1)), seed

    keys = jax.random.split(k_rest, number - 1)
    _, rest = jax.lax.scan(pick, jnp.square(points - first).sum(axis=1), keys)
    return jnp.concatenate([first[None], rest])


def _clusters(points: Float[Array, "N D"], seeds: Float[Array, "K D"], used: Bool[Array, " K"]) -> Int[Array, " N"]:
    """Which cluster each point is of."""

    def nearest(centres: Array) -> Array:
        distance = jnp.square(points[:, None] - centres).sum(axis=-1)
        return jnp.argmin(jnp.where(used, distance, jnp.inf), axis=1)

    def move(_: Array, centres: Array) -> Array:
        members = jax.nn.one_hot(nearest(centres), len(used))
        number = members.sum(axis=0)[:, None]
        return jnp.where(number > 0, members.T @ points / jnp.maximum(number, 1), centres)

    return nearest(jax.lax.fori_loop(0, LLOYD_STEPS, move, seeds))
