"""The student's eyes: three convolutions over the whole grid (Igl et al., 2019; thesis, appendix B.1)."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt8

from .level import AGENT

_relu_init = nn.initializers.orthogonal(2**0.5)

_NUMBERS = (11, 6, 4, 11, 6)
"""How many numbers each channel of an observation can show."""


class GridEncoder(nn.Module):
    """2x2 convolutions of 16, 32 and ``filters`` channels, the largest of every 2x2 window after the first."""

    filters: int
    pool: bool
    one_hot: bool

    @nn.compact
    def __call__(self, image: UInt8[Array, "n W H c"]) -> Float[Array, "n d"]:
        if self.one_hot:
            channels = (jax.nn.one_hot(image[..., i], _NUMBERS[i]) for i in range(image.shape[-1]))
            x = jnp.concatenate(list(channels), axis=-1)
        else:
            x = image.astype(jnp.float32)  # the plain numbers, as in the published code
        for i, filters in enumerate((16, 32, self.filters)):
            x = nn.relu(Conv2x2(filters, name=f"convolution_{i}")(x))
            if i == 0 and self.pool:
                x = _pooled(x)
        return x.reshape(x.shape[0], -1)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers (see ``rl.encoders``). How many numbers a channel shows is known of five channels."""
        layers: list[list[Any]] = [["one-hot", list(_NUMBERS)]] if self.one_hot else [["scale", 1.0, 0.0]]
        for i in range(3):
            layers += [["convolution", f"convolution_{i}", 1, False], ["relu"]]
            layers += [["largest", 2, 2, False]] if i == 0 and self.pool else []
        return [layers]


class CropEncoder(nn.Module):
    """The square around the agent, turned so that the agent looks up, through one dense layer.

    On a CPU it trains eight times as fast as the convolutions, and a student need not learn the same thing for every
    place and direction.
    """

    side: int
    embedding: int
    features: int

    @nn.compact
    def __call__(self, image: UInt8[Array, "n W H c"]) -> Float[Array, "n d"]:
        seen = surroundings(image, self.side)
        kinds = _NUMBERS[: image.shape[-1]]
        one_hot = jnp.concatenate([jax.nn.one_hot(seen[..., i], number) for i, number in enumerate(kinds)], axis=-1)
        table = self.param("embedding", nn.initializers.normal(1.0), (sum(kinds), self.embedding))
        cells = (one_hot @ table).reshape(len(image), -1)
        return nn.relu(nn.Dense(self.features, kernel_init=_relu_init, name="features")(cells))


def surroundings(image: UInt8[Array, "n W H c"], side: int) -> UInt8[Array, "n side side c"]:
    """The cells around each agent, by row and column as it sees them; 0, which is unseen, beyond the grid."""
    reach = side // 2
    padded = jnp.pad(image, ((0, 0), (reach, reach), (reach, reach), (0, 0)))

    def window(grid: UInt8[Array, "w h c"], padded: UInt8[Array, "W H c"]) -> UInt8[Array, "side side c"]:
        agent = jnp.argmax(grid[..., 0].reshape(-1) == AGENT)
        x, y = agent // grid.shape[1], agent % grid.shape[1]
        crop = jax.lax.dynamic_slice(padded, (x, y, 0), (side, side, grid.shape[-1])).swapaxes(0, 1)
        # Directions are right, down, left and up; rot90 turns anticlockwise, so right takes one turn to be up.
        turned = [jnp.rot90(crop, (direction + 1) % 4) for direction in range(4)]
        return jax.lax.select_n(grid[x, y, 2].astype(jnp.int32), *turned)

    return jax.vmap(window)(image, padded)


class Conv2x2(nn.Module):
    """A 2x2 convolution without padding, as one product of patches: for few channels XLA's own is slow on a CPU."""

    filters: int

    @nn.compact
    def __call__(self, x: Float[Array, "n W H c"]) -> Float[Array, "n W-1 H-1 filters"]:
        channels = x.shape[-1]
        kernel = self.param("kernel", nn.initializers.xavier_uniform(), (2, 2, channels, self.filters))
        bias = self.param("bias", nn.initializers.zeros, (self.filters,))
        wide, high = x.shape[1] - 1, x.shape[2] - 1
        patches = [x[:, i : i + wide, j : j + high] for i in range(2) for j in range(2)]
        return jnp.concatenate(patches, axis=-1) @ kernel.reshape(4 * channels, self.filters) + bias


def _pooled(x: Float[Array, "n W H c"]) -> Float[Array, "n W/2 H/2 c"]:
    """The largest of every 2x2 window. A last column or row without a partner is left out."""
    wide, high = x.shape[1] // 2 * 2, x.shape[2] // 2 * 2
    corners = [x[:, i:wide:2, j:high:2] for i in range(2) for j in range(2)]
    largest = corners[0]
    for other in corners[1:]:
        largest = jnp.maximum(largest, other)
    return largest
