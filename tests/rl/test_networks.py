"""The recurrent cores against plain loops in numpy, and the rule that memory is empty when an episode starts."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rl.networks import CORES, GRU, LSTM, ActorCritic, Conv3x3, Dense

STEPS, BATCH, INPUTS, WIDTH = 6, 3, 4, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32)
FIRST = np.zeros((STEPS, BATCH), bool)
FIRST[0] = True
FIRST[2, 0] = FIRST[4, 1] = True


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm_by_hand(p: dict[str, np.ndarray], x: np.ndarray, first: np.ndarray) -> np.ndarray:
    hidden = memory = np.zeros((BATCH, WIDTH))
    out = []
    for x_t, first_t in zip(x, first, strict=True):
        hidden, memory = (np.where(first_t[:, None], 0, h) for h in (hidden, memory))
        gates = np.concatenate([x_t, hidden], 1) @ p["kernel"] + p["bias"]
        take, keep, new, show = np.split(gates, 4, axis=1)
        memory = sigmoid(keep) * memory + sigmoid(take) * np.tanh(new)
        hidden = sigmoid(show) * np.tanh(memory)
        out.append(hidden)
    return np.stack(out)


def gru_by_hand(p: dict[str, np.ndarray], x: np.ndarray, first: np.ndarray) -> np.ndarray:
    hidden = np.zeros((BATCH, WIDTH))
    out = []
    for x_t, first_t in zip(x, first, strict=True):
        hidden = np.where(first_t[:, None], 0, hidden)
        both = np.concatenate([x_t, hidden], 1) @ p["gate_kernel"] + p["gate_bias"]
        reset, update = np.split(sigmoid(both), 2, axis=1)
        again = hidden @ p["hidden_kernel"] + p["hidden_bias"]
        new = np.tanh(x_t @ p["input_kernel"] + p["input_bias"] + reset * again)
        hidden = (1 - update) * new + update * hidden
        out.append(hidden)
    return np.stack(out)


def random_params(module: nn.Module, *inputs):
    """Parameters of the right shapes. (As initialised, biases are zero, where a mistake in them would not show.)"""
    shapes = jax.eval_shape(module.init, jax.random.key(0), *inputs)
    return jax.tree.map(lambda x: RNG.normal(size=x.shape).astype(np.float32) / 2, shapes)


@pytest.fixture(params=[(LSTM, lstm_by_hand), (GRU, gru_by_hand)], ids=["lstm", "gru"])
def recurrent(request):
    module, by_hand = request.param
    core = module(WIDTH)
    params = random_params(core, core.initial_carry(BATCH), X, FIRST)
    return core, params, by_hand


def test_a_core_is_its_recurrence(recurrent):
    core, params, by_hand = recurrent
    _, out = core.apply(params, core.initial_carry(BATCH), X, FIRST)
    expected = by_hand(jax.tree.map(np.asarray, params["params"]), X, FIRST)
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_a_sequence_is_its_steps_one_by_one(recurrent):
    """Learning sees whole sequences, acting sees single steps: both must remember, and forget, alike."""
    core, params, _ = recurrent
    last, whole = core.apply(params, core.initial_carry(BATCH), X, FIRST)
    carry, step = core.initial_carry(BATCH), jax.jit(core.apply)
    for t in range(STEPS):
        carry, out = step(params, carry, X[t : t + 1], FIRST[t : t + 1])
        np.testing.assert_allclose(out[0], whole[t], atol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), carry, last)


def test_memory_is_zero_at_the_first_step_whatever_came_before(recurrent):
    core, params, _ = recurrent
    zero = core.initial_carry(BATCH)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(zero))
    full = jax.tree.map(lambda x: x + 7.0, zero)
    start, later = jnp.ones((1, BATCH), bool), jnp.zeros((1, BATCH), bool)
    _, fresh = core.apply(params, zero, X[:1], later)
    _, reset = core.apply(params, full, X[:1], start)
    _, remembered = core.apply(params, full, X[:1], later)
    np.testing.assert_array_equal(fresh, reset)
    assert not np.allclose(fresh, remembered)


def test_without_a_recurrent_layer_nothing_is_remembered():
    core = Dense(WIDTH)
    assert core.initial_carry(BATCH) == ()
    params = random_params(core, (), X, FIRST)
    _, out = core.apply(params, (), X, FIRST)
    order = RNG.permutation(STEPS)
    _, shuffled = core.apply(params, (), X[order], FIRST)
    np.testing.assert_allclose(shuffled, out[order], atol=1e-6)


@pytest.mark.parametrize("core", CORES)
def test_actor_critic_has_a_policy_and_a_value_for_every_step(core):
    network = ActorCritic(encoder=nn.Dense(INPUTS), core=CORES[core](WIDTH), outputs=3, head=8)
    carry = network.initial_carry(BATCH)
    after, policy, value = jax.eval_shape(network.init_with_output, jax.random.key(0), carry, X, FIRST)[0]
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, carry)
    assert policy.shape == (STEPS, BATCH, 3)
    assert value.shape == (STEPS, BATCH)
    assert network.recurrent == (core in ("lstm", "gru"))


@pytest.mark.parametrize("size", [5, 9], ids=["small, whole image", "large, by patches"])
def test_a_product_of_patches_is_a_convolution(size: int) -> None:
    image = jax.random.normal(jax.random.key(0), (4, size, size + 1, 3))
    layer = Conv3x3(8)
    params = layer.init(jax.random.key(1), image)
    params = jax.tree.map(lambda p: jax.random.normal(jax.random.key(p.ndim), p.shape), params)

    def convolution(params: Any, image: Any) -> Any:
        kernel = params["params"]["kernel"].reshape(3, 3, 3, 8)
        dimensions = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=dimensions)
        return x + params["params"]["bias"]

    np.testing.assert_allclose(layer.apply(params, image), convolution(params, image), atol=1e-5)
    ours, theirs = (
        jax.grad(lambda *a, f=f: jnp.sin(f(*a)).sum(), argnums=(0, 1))(params, image)
        for f in (layer.apply, convolution)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-3), ours, theirs)
