"""A gated recurrent unit with its own gradient rule, for the reasons that `lstm.py` gives.

What a step passes back is the gradient of its hidden state times slopes that the forward pass has kept, so the loop
backwards has one matrix product a step. Inputs and weights get theirs once a block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .lstm import in_blocks

Memory = Float[Array, "B h"]


class Weights(NamedTuple):
    """Of the candidate and both gates, a third of the columns each, in orders that the backward pass can slice."""

    into: Float[Array, "d 3h"]
    """Candidate, reset gate, update gate."""
    into_bias: Float[Array, " 3h"]
    again: Float[Array, "h 3h"]
    """Reset gate, update gate, candidate."""
    again_bias: Float[Array, " h"]
    """Of the candidate alone: it is multiplied by the reset gate together with the product."""


class _Kept(NamedTuple):
    """What the backward pass needs of a step."""

    hidden: Float[Array, "B h"]
    """Before it."""
    slopes: Float[Array, "B 4h"]
    """Of the new hidden state by what goes into the candidate, the reset gate, the update gate, and by the candidate's
    product with the hidden state before."""
    update: Float[Array, "B h"]
    """Slope of the hidden state by the one before, past all gates."""


def step(weights: Weights, memory: Memory, x_t: Float[Array, "B d"], first_t: Bool[Array, " B"]) -> Memory:
    """One step; the memory of those whose episode starts now is zero before it."""
    return _step(weights, memory, x_t @ weights.into + weights.into_bias, first_t)[0]


def _step(weights: Weights, memory: Memory, entering: Array, first_t: Array) -> tuple[Memory, _Kept]:
    hidden = jnp.where(first_t[:, None], 0.0, memory)
    width = hidden.shape[-1]
    again = hidden @ weights.again
    gates = jax.nn.sigmoid(entering[:, width:] + again[:, : 2 * width])
    reset, update = gates[:, :width], gates[:, width:]
    recalled = again[:, 2 * width :] + weights.again_bias
    candidate = jnp.tanh(entering[:, :width] + reset * recalled)
    by_candidate = (1 - update) * (1 - jnp.square(candidate))
    by_reset, by_update = jnp.split(gates * (1 - gates), 2, axis=-1)
    slopes = [
        by_candidate,
        by_candidate * recalled * by_reset,
        (hidden - candidate) * by_update,
        by_candidate * reset,
    ]
    kept = _Kept(hidden, jnp.concatenate(slopes, axis=-1), update)
    return (1 - update) * candidate + update * hidden, kept


@jax.custom_vjp
def unroll(
    weights: Weights, memory: Memory, x: Float[Array, "T B d"], first: Bool[Array, "T B"]
) -> tuple[Memory, Float[Array, "T B h"]]:
    """Many steps: the last memory and every hidden state."""
    return _forward(weights, memory, x, first)[0]


class _Saved(NamedTuple):
    weights: Weights
    x: Float[Array, "T B d"]
    first: Bool[Array, "T B"]
    kept: _Kept
    """Of every step, ``[T, ...]``."""


def _forward(weights: Weights, memory: Memory, x: Array, first: Array) -> tuple[tuple[Memory, Array], _Saved]:
    steps, batch, inputs = x.shape

    def body(memory: Memory, at_t: tuple[Array, Array]) -> tuple[Memory, tuple[Array, _Kept]]:
        memory, kept = _step(weights, memory, *at_t)
        return memory, (memory, kept)

    def block(memory: Memory, at_block: tuple[Array, Array]) -> tuple[Memory, tuple[Array, _Kept]]:
        x, first = at_block
        entering = (x.reshape(-1, inputs) @ weights.into + weights.into_bias).reshape(-1, batch, weights.into.shape[1])
        return jax.lax.scan(body, memory, (entering, first))

    memory, (hidden, kept) = jax.lax.scan(block, memory, in_blocks((x, first), steps))
    hidden, kept = jax.tree.map(lambda a: a.reshape(steps, *a.shape[2:]), (hidden, kept))
    return (memory, hidden), _Saved(weights, x, first, kept)


def _backward(saved: _Saved, gradient: tuple[Memory, Array]) -> Any:
    weights, x, first, kept = saved
    memory, d_outputs = gradient
    steps, width = len(first), memory.shape[-1]
    back_into, back_again = weights.into.T, weights.again.T  # turned once and not at every step

    def back(d_hidden: Array, at_t: tuple[Array, Array, _Kept]) -> tuple[Array, Array]:
        d_output, first_t, kept = at_t
        d_hidden = d_hidden + d_output
        d_all = kept.slopes * jnp.concatenate([d_hidden] * 4, axis=-1)
        before = d_all[:, width:] @ back_again + d_hidden * kept.update
        return jnp.where(first_t[:, None], 0.0, before), d_all

    def back_block(carry: tuple[Array, Weights], at_block: Any) -> tuple[tuple[Array, Weights], Array]:
        d_hidden, sums = carry
        x, *rest = at_block
        d_hidden, d_all = jax.lax.scan(back, d_hidden, tuple(rest), reverse=True)
        d_all = d_all.reshape(-1, 4 * width)
        d_into, d_again = d_all[:, : 3 * width], d_all[:, width:]
        # The barrier lets both be turned before the products, which XLA's CPU backend else computes in a slower way.
        turned = (x.reshape(len(d_all), -1).T, rest[2].hidden.reshape(len(d_all), -1).T)
        x_turned, hidden_turned = jax.lax.optimization_barrier(turned)
        found = Weights(
            x_turned @ d_into, d_into.sum(axis=0), hidden_turned @ d_again, d_again[:, 2 * width :].sum(axis=0)
        )
        return (d_hidden, jax.tree.map(jnp.add, sums, found)), (d_into @ back_into).reshape(x.shape)

    start = (memory, jax.tree.map(jnp.zeros_like, weights))
    blocks = in_blocks((x, d_outputs, first, kept), steps)
    (memory, d_weights), d_x = jax.lax.scan(back_block, start, blocks, reverse=True)
    return d_weights, memory, d_x.reshape(x.shape), None


unroll.defvjp(_forward, _backward)
