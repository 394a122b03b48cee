"""The eyes of students that see a map of glyphs: NetHack's, and those of environments like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Integer, Num

from ..types import Observation
from .encoder_settings import GlyphEncoder
from .networks import Conv3x3

_relu_init = nn.initializers.orthogonal(2**0.5)

_FEW = 64
"""Kinds of glyphs up to which a product with one-hot vectors is cheaper than to look rows up, above all backwards."""
_SMALL = 256
"""Cells up to which a view is convolved as one product of patches, which take 9 times its memory."""


class GlyphObs(NamedTuple):
    """What is seen, one level, no batch. ``n`` of them are encoded at once."""

    glyphs: Integer[Array, "*n H W"]
    """The map, by row and column. 0 is what lies beyond it."""
    position: Integer[Array, "*n 2"]
    """Column and row of the agent."""
    stats: Num[Array, "*n k"]
    """Numbers beside the map, of the order of one if they are to be learned from quickly."""


def _as_it_is(obs: Observation) -> GlyphObs:
    return obs


class Glyphs(nn.Module):
    """Both views go through convolutions of their own, over one embedding of glyphs; dense layers join them."""

    settings: GlyphEncoder
    kinds: int
    """Glyphs are from 0 to this, without it."""
    view: Callable[[Observation], GlyphObs] = _as_it_is
    """From observations of another form, ``[n, ...]``."""

    @nn.compact
    def __call__(self, obs: Observation) -> Float[Array, "n d"]:
        eyes, seen = self.settings, self.view(obs)
        glyphs = seen.glyphs.astype(jnp.int32)
        table = self.param("embedding", nn.initializers.normal(1.0), (self.kinds, eyes.embedding))
        parts = []
        if eyes.whole:
            parts.append(self._look("whole", table, glyphs))
        if eyes.crop:
            parts.append(self._look("crop", table, cropped(glyphs, seen.position, eyes.crop)))
        x = seen.stats.astype(jnp.float32)
        for i in range(2):
            x = _dense(eyes.stats, f"stats_{i}", x)
        x = jnp.concatenate([*parts, x], axis=-1)
        if eyes.hidden:
            x = _dense(eyes.hidden, "hidden", x)
        return _dense(eyes.features, "features", x)

    def _look(self, name: str, table: Array, glyphs: Int[Array, "n H W"]) -> Float[Array, "n d"]:
        eyes = self.settings
        x = jax.nn.one_hot(glyphs, self.kinds) @ table if self.kinds <= _FEW else table[glyphs]
        for i in range(eyes.layers):
            channels = eyes.last if i == eyes.layers - 1 else eyes.channels
            x = nn.elu(_convolution(channels, f"{name}_{i}", x))
        return x.reshape(len(x), -1)


def _dense(units: int, name: str, x: Array) -> Array:
    return nn.relu(nn.Dense(units, kernel_init=_relu_init, name=name)(x))


def _convolution(channels: int, name: str, x: Float[Array, "n H W c"]) -> Float[Array, "n H W channels"]:
    """3x3, with zeros around the view."""
    if x.shape[1] * x.shape[2] <= _SMALL:
        return Conv3x3(channels, name=name)(jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))))
    return nn.Conv(channels, (3, 3), kernel_init=_relu_init, name=name)(x)


def cropped(
    glyphs: Integer[Array, "n H W"], position: Integer[Array, "n 2"], side: int
) -> Integer[Array, "n side side"]:
    """The cells around each agent, which is in the middle; 0 beyond the map."""
    reach = side // 2
    padded = jnp.pad(glyphs, ((0, 0), (reach, reach), (reach, reach)))

    def window(image: Array, at: Array) -> Array:
        return jax.lax.dynamic_slice(image, (at[1], at[0]), (side, side))

    return jax.vmap(window)(padded, position.astype(jnp.int32))
