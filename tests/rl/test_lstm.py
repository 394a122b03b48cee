"""The LSTM's own gradient rule against the gradient that JAX derives from its steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rl import lstm

BATCH, INPUTS, WIDTH = 3, 4, 5


def plain_unroll(kernel, bias, memory, x, first):
    """Step by step, without a rule of our own."""
    outputs = []
    for x_t, first_t in zip(x, first, strict=True):
        memory = lstm.step(kernel, bias, memory, x_t, first_t)
        outputs.append(memory[0])
    return memory, jnp.stack(outputs)


def problem(steps: int, seed: int = 0):
    """Random arguments: memory goes on at the first step of some levels, and episodes start in the middle."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    arguments = (normal(INPUTS + WIDTH, 4 * WIDTH), normal(4 * WIDTH), (normal(BATCH, WIDTH), normal(BATCH, WIDTH)))
    arguments = (*arguments, normal(steps, BATCH, INPUTS))
    return arguments, rng.random((steps, BATCH)) < 0.2, normal(steps, BATCH, WIDTH)


def gradients(unroll, arguments, first, weights):
    """Of a loss that reads every output and both parts of the last memory."""

    def loss(kernel, bias, memory, x):
        (hidden, cell), outputs = unroll(kernel, bias, memory, x, first)
        return (weights * outputs**2).sum() + hidden.sum() + (cell**2).sum()

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2, 3)))(*arguments)


@pytest.mark.parametrize("steps", [2, lstm.BLOCK, 2 * lstm.BLOCK, 11], ids=["short", "a block", "blocks", "prime"])
def test_the_gradient_rule_is_the_derivative(steps):
    arguments, first, weights = problem(steps)
    ours = gradients(lstm.unroll, arguments, first, weights)
    derived = gradients(plain_unroll, arguments, first, weights)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), ours, derived)


def test_nothing_flows_back_past_the_first_step_of_an_episode():
    arguments, _, weights = problem(6)
    first = np.zeros((6, BATCH), bool)
    first[3] = True
    late = np.where(np.arange(6)[:, None, None] >= 3, weights, 0)
    _, (_, _, memory, x) = gradients(lstm.unroll, arguments, first, late)
    assert all((m == 0).all() for m in memory)
    assert (x[:3] == 0).all()
    assert (x[3:] != 0).all()


def test_gates_are_sigmoids_and_a_hyperbolic_tangent():
    """One step against the definition of an LSTM, in double precision."""
    (kernel, bias, memory, x), _, _ = problem(1)
    first = np.array([True, False, False])
    hidden, cell = (np.where(first[:, None], 0, m).astype(np.float64) for m in memory)
    i, f, g, o = np.split(np.concatenate([x[0], hidden], axis=-1) @ kernel + bias, 4, axis=-1)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    hidden = sigmoid(o) * np.tanh(cell)
    for ours, expected in zip(lstm.step(kernel, bias, memory, x[0], first), (hidden, cell), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
