"""Actor-critic networks: an encoder, a core that may remember, and two heads."""

from __future__ import annotations

from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..types import Carry, Observation
from . import gru, lstm

_relu_init = nn.initializers.orthogonal(2**0.5)


class Conv3x3(nn.Module):
    """A 3x3 convolution without padding, as one product.

    For images of few channels XLA's own convolution costs several times what it computes on a CPU, above all backwards.
    A large image is cut into patches. For a small one it is cheaper to multiply the whole image by a matrix that is
    mostly zeros than to write its patches down: measured for a 5x5 view, more than twice as fast on one core.
    """

    filters: int

    @nn.compact
    def __call__(self, image: Float[Array, "*n H W c"]) -> Float[Array, "*n H-2 W-2 filters"]:
        *leading, height, width, channels = image.shape
        high, wide = height - 2, width - 2
        kernel = self.param("kernel", _relu_init, (9 * channels, self.filters))
        bias = self.param("bias", nn.initializers.zeros, (self.filters,))
        if high * wide <= _SMALL:
            taps = kernel.reshape(3, 3, channels, self.filters)
            corners = [(i, j) for i in range(high) for j in range(wide)]
            rest = ((0, 0), (0, 0))
            spread = [jnp.pad(taps, ((i, high - 1 - i), (j, wide - 1 - j), *rest)) for i, j in corners]
            matrix = jnp.stack(spread, axis=3).reshape(height * width * channels, -1)
            x = image.reshape(*leading, -1) @ matrix + jnp.tile(bias, len(corners))
            return x.reshape(*leading, high, wide, self.filters)
        patches = [image[..., i : i + high, j : j + wide, :] for i in range(3) for j in range(3)]
        return jnp.concatenate(patches, axis=-1) @ kernel + bias


_SMALL = 25
"""Positions of a 3x3 window up to which an image counts as small."""


class LSTM(nn.Module):
    """A long short-term memory whose state is zero at the first step of every episode."""

    width: int

    @nn.compact
    def __call__(
        self, carry: Carry, x: Float[Array, "T B d"], first: Bool[Array, "T B"]
    ) -> tuple[Carry, Float[Array, "T B h"]]:
        inputs = x.shape[-1]
        kernel = self.param("kernel", nn.initializers.orthogonal(), (inputs + self.width, 4 * self.width))
        bias = self.param("bias", nn.initializers.zeros, (4 * self.width,))

        if x.shape[0] == 1:  # acting
            carry = lstm.step(kernel, bias, carry, x[0], first[0])
            return carry, carry[0][None]
        return lstm.unroll(kernel, bias, carry, x, first)

    def initial_carry(self, batch: int) -> Carry:
        zeros = jnp.zeros((batch, self.width))
        return (zeros, zeros)


class GRU(nn.Module):
    """A gated recurrent unit, with the same contract as the LSTM."""

    width: int

    @nn.compact
    def __call__(
        self, carry: Carry, x: Float[Array, "T B d"], first: Bool[Array, "T B"]
    ) -> tuple[Carry, Float[Array, "T B h"]]:
        inputs = x.shape[-1]
        orthogonal = nn.initializers.orthogonal()
        gate = self.param("gate_kernel", orthogonal, (inputs + self.width, 2 * self.width))
        gate_bias = self.param("gate_bias", nn.initializers.zeros, (2 * self.width,))
        into = self.param("input_kernel", orthogonal, (inputs, self.width))
        again = self.param("hidden_kernel", orthogonal, (self.width, self.width))
        into_bias = self.param("input_bias", nn.initializers.zeros, (self.width,))
        again_bias = self.param("hidden_bias", nn.initializers.zeros, (self.width,))

        weights = gru.Weights(
            into=jnp.concatenate([into, gate[:inputs]], axis=-1),
            into_bias=jnp.concatenate([into_bias, gate_bias]),
            again=jnp.concatenate([gate[inputs:], again], axis=-1),
            again_bias=again_bias,
        )
        if x.shape[0] == 1:  # acting
            hidden = gru.step(weights, carry, x[0], first[0])
            return hidden, hidden[None]
        return gru.unroll(weights, carry, x, first)

    def initial_carry(self, batch: int) -> Carry:
        return jnp.zeros((batch, self.width))


class Dense(nn.Module):
    """No memory: a dense layer in the place of a recurrent one."""

    width: int

    @nn.compact
    def __call__(
        self, carry: Carry, x: Float[Array, "T B d"], first: Bool[Array, "T B"]
    ) -> tuple[Carry, Float[Array, "T B h"]]:
        return carry, nn.relu(nn.Dense(self.width, kernel_init=_relu_init)(x))

    def initial_carry(self, batch: int) -> Carry:
        return ()


class Identity(nn.Module):
    """No shared layer at all: policy and value are networks of their own."""

    def __call__(self, carry: Carry, x: Float[Array, "T B d"], first: Bool[Array, "T B"]) -> tuple[Carry, Array]:
        return carry, x

    def initial_carry(self, batch: int) -> Carry:
        return ()


CORES = {"lstm": LSTM, "gru": GRU, "none": Dense, "separate": lambda width: Identity()}
ACTIVATIONS = {"relu": nn.relu, "tanh": nn.tanh}


class ActorCritic(nn.Module):
    """Policy and value from a sequence of observations ``[T, B, ...]``, through one shared core."""

    encoder: nn.Module
    core: LSTM | GRU | Dense | Identity
    outputs: int
    head: int
    layers: int = 1
    """Hidden layers of each head."""
    activation: str = "relu"
    """Of the heads."""
    constants: int = 0
    """Parameters of the policy that are learned but do not depend on what is seen, after those that do."""
    allowed: Callable[[Observation], Bool[Array, "n outputs"]] | None = None
    """Which of several actions an observation allows, where not all of them always are: others are masked."""

    @property
    def recurrent(self) -> bool:
        return isinstance(self.core, (LSTM, GRU))

    def initial_carry(self, batch: int) -> Carry:
        return self.core.initial_carry(batch)

    @nn.compact
    def __call__(
        self, carry: Carry, obs: Observation, first: Bool[Array, "T B"]
    ) -> tuple[Carry, Float[Array, "T B n"], Float[Array, "T B"]]:
        # All but the core takes steps and levels as one axis: XLA multiplies matrices well, and higher ranks less so.
        leading = first.shape
        obs = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), obs)
        seen = self.encoder(obs)
        carry, x = self.core(carry, seen.reshape(*leading, -1), first)
        x = x.reshape(-1, x.shape[-1])
        policy = self._head("policy", x, self.outputs, 0.01)
        if self.allowed is not None:
            policy = jnp.where(self.allowed(obs), policy, -jnp.inf)
        if self.constants:
            same = self.param("policy_constants", nn.initializers.zeros, (self.constants,))
            policy = jnp.concatenate([policy, jnp.broadcast_to(same, (len(policy), self.constants))], axis=-1)
        value = self._head("value", x, 1, 1.0)
        return carry, policy.reshape(*leading, -1), value.reshape(leading)

    def _head(self, name: str, x: Array, outputs: int, scale: float) -> Array:
        for layer in range(self.layers):
            hidden = nn.Dense(self.head, kernel_init=_relu_init, name=f"{name}_hidden_{layer}")
            x = ACTIVATIONS[self.activation](hidden(x))
        return nn.Dense(outputs, kernel_init=nn.initializers.orthogonal(scale), name=name)(x)
