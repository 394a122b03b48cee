"""A long short-term memory with its own gradient rule.

The gradient that JAX derives for a scan adds a rank-``B`` product to the whole weight matrix at every step, which is
bound by memory. Here the backward pass keeps the gates' gradients for a block of steps and multiplies once a block,
while what it needs is still in cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Memory = tuple[Float[Array, "B h"], Float[Array, "B h"]]
"""Hidden state and cell state."""

BLOCK = 8
"""Steps whose weight gradient is one product; a longer sequence is cut into blocks of about this."""


class _Saved(NamedTuple):
    """What the backward pass needs of each step."""

    hidden_tm1: Float[Array, "T B h"]
    cell_tm1: Float[Array, "T B h"]
    gates: Float[Array, "T B 4h"]
    squashed: Float[Array, "T B h"]
    """tanh of the new cell state."""


def step(
    kernel: Float[Array, "d+h 4h"],
    bias: Float[Array, " 4h"],
    memory: Memory,
    x_t: Float[Array, "B d"],
    first_t: Bool[Array, " B"],
) -> tuple[Memory, _Saved]:
    """One step; the memory of those whose episode starts now is zero before it."""
    hidden, cell = (jnp.where(first_t[:, None], 0.0, m) for m in memory)
    i, f, g, o = jnp.split(jnp.concatenate([x_t, hidden], axis=-1) @ kernel + bias, 4, axis=-1)
    i, f, g, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)
    new_cell = f * cell + i * g
    squashed = jnp.tanh(new_cell)
    saved = _Saved(hidden, cell, jnp.concatenate([i, f, g, o], axis=-1), squashed)
    return (o * squashed, new_cell), saved


@jax.custom_vjp
def unroll(
    kernel: Float[Array, "d+h 4h"],
    bias: Float[Array, " 4h"],
    memory: Memory,
    x: Float[Array, "T B d"],
    first: Bool[Array, "T B"],
) -> tuple[Memory, Float[Array, "T B h"]]:
    """Many steps: the last memory and every hidden state."""

    def body(memory: Memory, inputs: tuple[Array, Array]) -> tuple[Memory, Array]:
        memory, _ = step(kernel, bias, memory, *inputs)
        return memory, memory[0]

    return jax.lax.scan(body, memory, (x, first))


def _forward(kernel: Array, bias: Array, memory: Memory, x: Array, first: Array) -> tuple[Any, Any]:
    def body(memory: Memory, inputs: tuple[Array, Array]) -> tuple[Memory, tuple[Array, _Saved]]:
        memory, saved = step(kernel, bias, memory, *inputs)
        return memory, (memory[0], saved)

    memory, (hidden, saved) = jax.lax.scan(body, memory, (x, first))
    return (memory, hidden), (kernel, x, first, saved)


def _backward(residuals: tuple[Array, Array, Array, _Saved], gradient: tuple[Memory, Array]) -> Any:
    kernel, x, first, saved = residuals
    (d_hidden, d_cell), d_outputs = gradient
    steps, batch, inputs = x.shape
    into, again = kernel[:inputs], kernel[inputs:]
    block = next(size for size in range(min(BLOCK, steps), 0, -1) if steps % size == 0)

    def back(memory: Memory, at_t: tuple[Array, Array, _Saved]) -> tuple[Memory, Array]:
        d_hidden, d_cell = memory
        d_output, first_t, (_, cell_tm1, gates, squashed) = at_t
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        d_hidden = d_hidden + d_output
        d_cell = d_cell + d_hidden * o * (1 - jnp.square(squashed))
        d_gates = jnp.concatenate(
            [
                d_cell * g * i * (1 - i),
                d_cell * cell_tm1 * f * (1 - f),
                d_cell * i * (1 - jnp.square(g)),
                d_hidden * squashed * o * (1 - o),
            ],
            axis=-1,
        )
        going_on = ~first_t[:, None]
        return (jnp.where(going_on, d_gates @ again.T, 0.0), jnp.where(going_on, d_cell * f, 0.0)), d_gates

    def back_block(carry: tuple[Memory, Array, Array], at_block: Any) -> tuple[tuple[Memory, Array, Array], Array]:
        memory, d_kernel, d_bias = carry
        x_b, d_outputs_b, first_b, saved_b = at_block
        memory, d_gates = jax.lax.scan(back, memory, (d_outputs_b, first_b, saved_b), reverse=True)
        d_gates = d_gates.reshape(block * batch, -1)
        seen = jnp.concatenate([x_b, saved_b.hidden_tm1], axis=-1).reshape(block * batch, -1)
        d_x = (d_gates @ into.T).reshape(block, batch, inputs)
        return (memory, d_kernel + seen.T @ d_gates, d_bias + d_gates.sum(axis=0)), d_x

    blocks = jax.tree.map(lambda a: a.reshape(steps // block, block, *a.shape[1:]), (x, d_outputs, first, saved))
    start = ((d_hidden, d_cell), jnp.zeros_like(kernel), jnp.zeros(kernel.shape[1]))
    (memory, d_kernel, d_bias), d_x = jax.lax.scan(back_block, start, blocks, reverse=True)
    return d_kernel, d_bias, memory, d_x.reshape(x.shape), None


unroll.defvjp(_forward, _backward)
