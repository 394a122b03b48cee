"""A long short-term memory with its own gradient rule.

The gradient that JAX derives for a scan adds a rank-``B`` product to the whole weight matrix at every step, which is
bound by memory. Here the backward pass keeps the gates' gradients for a block of steps and multiplies once a block,
while what it needs is still in cache.

Within a sequence everything lies feature by level, ``[h, B]``: a weight matrix times a narrow one. The other way round,
XLA's CPU backend spends as long on rearranging the weights as on multiplying them, at every step anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Memory = tuple[Float[Array, "B h"], Float[Array, "B h"]]
"""Hidden state and cell state."""

BLOCK = 16
"""Steps whose weight gradient is one product; a longer sequence is cut into blocks of about this."""

LARGE, FEW = 2**17, 64
"""Weights that do not fit into a core's cache, and levels that are few for them: then a single step, too, is computed
feature by level. Measured: a quarter less time for 8 to 32 levels and 256 units on one core, no difference for 128
levels, and worse for 64 units."""


def step(
    kernel: Float[Array, "d+h 4h"],
    bias: Float[Array, " 4h"],
    memory: Memory,
    x_t: Float[Array, "B d"],
    first_t: Bool[Array, " B"],
) -> Memory:
    """One step; the memory of those whose episode starts now is zero before it."""
    hidden, cell = (jnp.where(first_t[:, None], 0.0, m) for m in memory)
    seen = jnp.concatenate([x_t, hidden], axis=-1)
    if kernel.size >= LARGE and 1 < len(seen) <= FEW:  # a single level is one of many under a vmap
        # Behind the barrier the weights are turned once, before the loop that calls this. Without it, turning them
        # becomes a part of the product.
        weights = jax.lax.optimization_barrier(kernel.T)
        i, f, g, o = _gates(jnp.split(weights @ seen.T + bias[:, None], 4))
        cell = f * cell.T + i * g
        return (o * jnp.tanh(cell)).T, cell.T
    i, f, g, o = _gates(jnp.split(seen @ kernel + bias, 4, axis=-1))
    cell = f * cell + i * g
    return o * jnp.tanh(cell), cell


def _gates(parts: list[Array]) -> tuple[Array, Array, Array, Array]:
    i, f, g, o = parts
    return jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)


@jax.custom_vjp
def unroll(
    kernel: Float[Array, "d+h 4h"],
    bias: Float[Array, " 4h"],
    memory: Memory,
    x: Float[Array, "T B d"],
    first: Bool[Array, "T B"],
) -> tuple[Memory, Float[Array, "T B h"]]:
    """Many steps: the last memory and every hidden state."""
    return _forward(kernel, bias, memory, x, first)[0]


class _Saved(NamedTuple):
    """What the backward pass needs, as the forward pass computed it."""

    kernel: Float[Array, "d+h 4h"]
    first: Bool[Array, "T B"]
    seen: Float[Array, "T d+h B"]
    """Input and hidden state before it, one below the other."""
    cell_tm1: Float[Array, "T h B"]
    squashed: Float[Array, "T h B"]
    """The hyperbolic tangent of the cell state after it."""
    gates: Float[Array, "T 4h B"]


def _forward(kernel: Array, bias: Array, memory: Memory, x: Array, first: Array) -> tuple[tuple[Memory, Array], _Saved]:
    weights = kernel.T

    def body(memory: Memory, at_t: tuple[Array, Array]) -> tuple[Memory, tuple[Array, ...]]:
        x_t, first_t = at_t
        hidden, cell_tm1 = (jnp.where(first_t, 0.0, m) for m in memory)
        seen = jnp.concatenate([x_t, hidden])
        i, f, g, o = _gates(jnp.split(weights @ seen + bias[:, None], 4))
        cell = f * cell_tm1 + i * g
        squashed = jnp.tanh(cell)
        hidden = o * squashed
        return (hidden, cell), (hidden, seen, cell_tm1, squashed, jnp.concatenate([i, f, g, o]))

    start = (memory[0].T, memory[1].T)
    (last_hidden, last_cell), (hidden, *kept) = jax.lax.scan(body, start, (_turned(x), first))
    return ((last_hidden.T, last_cell.T), _turned(hidden)), _Saved(kernel, first, *kept)


def _backward(saved: _Saved, gradient: tuple[Memory, Array]) -> Any:
    kernel, first, seen, cell_tm1, squashed, gates = saved
    (d_hidden, d_cell), d_outputs = gradient
    steps, batch = first.shape
    inputs = kernel.shape[0] - kernel.shape[1] // 4
    into, again = kernel[:inputs], kernel[inputs:]
    block = next(size for size in range(min(BLOCK, steps), 0, -1) if steps % size == 0)

    def back(memory: Memory, at_t: tuple[Array, ...]) -> tuple[Memory, Array]:
        d_hidden, d_cell = memory
        d_output, first_t, cell_tm1, squashed, gates = at_t
        i, f, g, o = jnp.split(gates, 4)
        d_hidden = d_hidden + d_output
        d_cell = d_cell + d_hidden * o * (1 - jnp.square(squashed))
        d_gates = jnp.concatenate(
            [
                d_cell * g * i * (1 - i),
                d_cell * cell_tm1 * f * (1 - f),
                d_cell * i * (1 - jnp.square(g)),
                d_hidden * squashed * o * (1 - o),
            ]
        )
        return (jnp.where(first_t, 0.0, again @ d_gates), jnp.where(first_t, 0.0, d_cell * f)), d_gates

    def back_block(carry: tuple[Memory, Array, Array], at_block: Any) -> tuple[tuple[Memory, Array, Array], Array]:
        memory, d_kernel, d_bias = carry
        seen, at_steps = at_block
        memory, d_gates = jax.lax.scan(back, memory, at_steps, reverse=True)
        d_gates = _turned(d_gates).reshape(block * batch, -1)
        d_x = (d_gates @ into.T).reshape(block, batch, inputs)
        # A plain product of two matrices as they lie: with one of them to be transposed first, XLA's CPU backend takes
        # another way, which is half as fast on one core.
        seen = jnp.swapaxes(seen, 0, 1).reshape(-1, block * batch)
        return (memory, d_kernel + seen @ d_gates, d_bias + d_gates.sum(axis=0)), d_x

    at_steps = (_turned(d_outputs), first, cell_tm1, squashed, gates)
    blocks = jax.tree.map(lambda a: a.reshape(steps // block, block, *a.shape[1:]), (seen, at_steps))
    start = ((d_hidden.T, d_cell.T), jnp.zeros_like(kernel), jnp.zeros(kernel.shape[1]))
    (memory, d_kernel, d_bias), d_x = jax.lax.scan(back_block, start, blocks, reverse=True)
    return d_kernel, d_bias, (memory[0].T, memory[1].T), d_x.reshape(steps, batch, inputs), None


def _turned(x: Float[Array, "T a b"]) -> Float[Array, "T b a"]:
    return jnp.swapaxes(x, 1, 2)


unroll.defvjp(_forward, _backward)
