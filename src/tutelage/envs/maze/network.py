"""The maze student's eyes."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...rl.networks import Conv3x3
from .env import MazeObs

_relu_init = nn.initializers.orthogonal(2**0.5)


class MazeEncoder(nn.Module):
    """A 3x3 convolution over the view, and the direction it faces."""

    filters: int
    direction: int

    @nn.compact
    def __call__(self, obs: MazeObs) -> Float[Array, "T B d"]:
        # MiniGrid's codes reach 10; a tenth of them is of the order of one.
        image = obs.image.astype(jnp.float32) / 10.0
        leading = image.shape[:-3]
        x = Conv3x3(self.filters, name="convolution")(image)
        x = nn.relu(x.reshape(*leading, -1))
        facing = nn.Dense(self.direction, kernel_init=_relu_init, name="facing")(jax.nn.one_hot(obs.direction, 4))
        return jnp.concatenate([x, facing], axis=-1)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers (see ``rl.encoders``)."""
        view = [["scale", 10.0, 0.0], ["convolution", "convolution", 1, False], ["relu"]]
        return [view, [["one-hot", [4]], ["dense", "facing"]]]
