"""Generalised advantage estimation, with the end of an episode, a time limit and the end of a rollout kept apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def td_errors(
    r_t: Float[Array, "*s T B"],
    v_t: Float[Array, "*s T B"],
    v_tp1: Float[Array, "*s T B"],
    terminated_t: Bool[Array, "*s T B"],
    discount: float,
) -> Float[Array, "*s T B"]:
    """``r_t + discount * v_tp1 - v_t``; nothing follows a termination, the successor's value follows all else."""
    return r_t + discount * jnp.where(terminated_t, 0.0, v_tp1) - v_t


def gae(
    r_t: Float[Array, "*s T B"],
    v_t: Float[Array, "*s T B"],
    v_tp1: Float[Array, "*s T B"],
    terminated_t: Bool[Array, "*s T B"],
    cut_t: Bool[Array, "*s T B"],
    discount: float,
    gae_lambda: float,
) -> Float[Array, "*s T B"]:
    """Advantages. Nothing flows back over a cut, such as a truncation; only a termination does not bootstrap. The end
    of the rollout bootstraps, nothing more.
    """
    delta = jnp.moveaxis(td_errors(r_t, v_t, v_tp1, terminated_t, discount), -2, 0)
    keep = jnp.moveaxis(jnp.where(terminated_t | cut_t, 0.0, discount * gae_lambda), -2, 0)

    def backward(a_tp1: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta_t, keep_t = step
        a_t = delta_t + keep_t * a_tp1
        return a_t, a_t

    _, advantages = jax.lax.scan(backward, jnp.zeros_like(delta[0]), (delta, keep), reverse=True)
    return jnp.moveaxis(advantages, 0, -2)
