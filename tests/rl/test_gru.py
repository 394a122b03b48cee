"""The GRU's own gradient rule against the gradient that JAX derives from its steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rl import gru

BATCH, INPUTS, WIDTH = 3, 4, 5


def plain_unroll(weights, memory, x, first):
    """Step by step, without a rule of our own."""
    outputs = []
    for x_t, first_t in zip(x, first, strict=True):
        memory = gru.step(weights, memory, x_t, first_t)
        outputs.append(memory)
    return memory, jnp.stack(outputs)


def problem(steps: int, seed: int = 0):
    """Random arguments: memory goes on at the first step of some levels, and episodes start in the middle."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    shapes = ((INPUTS, 3 * WIDTH), (3 * WIDTH,), (WIDTH, 3 * WIDTH), (WIDTH,))
    weights = gru.Weights(*(jnp.asarray(normal(*shape)) for shape in shapes))
    arguments = (weights, normal(BATCH, WIDTH), normal(steps, BATCH, INPUTS))
    return arguments, rng.random((steps, BATCH)) < 0.2, normal(steps, BATCH, WIDTH)


def gradients(unroll, arguments, first, read):
    """Of a loss that reads every output and the last memory."""

    def loss(weights, memory, x):
        hidden, outputs = unroll(weights, memory, x, first)
        return (read * outputs**2).sum() + (hidden**3).sum()

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)))(*arguments)


@pytest.mark.parametrize("steps", [2, 11])
def test_the_gradient_rule_is_the_derivative(steps):
    arguments, first, read = problem(steps)
    ours = gradients(gru.unroll, arguments, first, read)
    derived = gradients(plain_unroll, arguments, first, read)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), ours, derived)
    assert all(np.abs(leaf).max() > 1e-3 for leaf in jax.tree.leaves(derived))


def test_nothing_flows_back_past_the_first_step_of_an_episode():
    (weights, memory, x), _, read = problem(6)
    first = np.zeros((6, BATCH), bool)
    first[3] = True
    late = np.where(np.arange(6)[:, None, None] >= 3, read, 0)
    _, (_, d_memory, d_x) = gradients(gru.unroll, (weights, memory, x), first, late)
    assert (d_memory == 0).all()
    assert (d_x[:3] == 0).all()
    assert (d_x[3:] != 0).all()
