"""Slots in the order of their scores, kept up to date without sorting.

An order lists the filled slots from the highest score to the lowest, of equal scores the lower slot first, and then the
free slots. A slot's rank is its place in the order, counted from 1.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def sort(score: Float[Array, " K"], size: Int[Array, ""]) -> Int[Array, " K"]:
    """The order from nothing: for states that were made by hand."""
    filled = jnp.arange(score.shape[0]) < size
    return jnp.argsort(jnp.where(filled, -score, jnp.inf), stable=True).astype(jnp.int32)


def ahead(score: Array, slot: Array, of_score: Array, of_slot: Array) -> Bool[Array, "..."]:
    """Does the first come before the second?"""
    return (score > of_score) | ((score == of_score) & (slot < of_slot))


def number_ahead(
    order: Int[Array, " K"], score: Float[Array, " K"], size: Int[Array, ""], of_score: Array, of_slot: Array
) -> Int[Array, "..."]:
    """How many filled slots come before a slot with some score, by binary search."""

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) // 2
        slot = order[jnp.minimum(middle, order.shape[0] - 1)]
        later = (low < high) & ahead(score[slot], slot, of_score, of_slot)
        return jnp.where(later, middle + 1, low), jnp.where(later, high, middle)

    bounds = (jnp.zeros_like(of_slot), jnp.broadcast_to(size, of_slot.shape))
    return jax.lax.fori_loop(0, order.shape[0].bit_length(), halve, bounds)[0]


def move(
    order: Int[Array, " K"], slots: Int[Array, " B"], old: Int[Array, " B"], new: Int[Array, " B"]
) -> Int[Array, " K"]:
    """Take different slots from their old places to their new ones, in one pass. A place of ``K`` or more is none."""
    k, place = order.shape[0], jnp.arange(order.shape[0], dtype=jnp.int32)
    # Between the moves slots only shift: each insertion pushes what follows it back by one, and each removal pulls what
    # follows it forward by one, from the place on where the first slot behind it comes to lie.
    stay_before = old - (old[None, :] < old[:, None]).sum(axis=1, dtype=jnp.int32)
    new_among_stays = new - (new[None, :] < new[:, None]).sum(axis=1, dtype=jnp.int32)
    pulled = stay_before + (new_among_stays[None, :] < stay_before[:, None]).sum(axis=1, dtype=jnp.int32)
    # What went before is worked out once, not again for every place.
    pulled, new = jax.lax.optimization_barrier((pulled, new))
    shift = (pulled[:, None] <= place).astype(jnp.int32) - (new[:, None] < place)
    return order[jnp.clip(place + shift.sum(axis=0), 0, k - 1)].at[new].set(slots, mode="drop")


def ranks(order: Int[Array, " K"]) -> Int[Array, " K"]:
    """The rank of each slot."""
    return jnp.zeros_like(order).at[order].set(jnp.arange(1, order.shape[0] + 1, dtype=jnp.int32))
