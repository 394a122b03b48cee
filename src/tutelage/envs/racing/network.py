"""The racing student's eyes."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt8

from ...errors import require
from ...rl.convolution import convolution
from ...rl.encoder_settings import ImageEncoder
from ...rl.encoders import Image
from .settings import RacingEncoderSettings

_relu_init = nn.initializers.orthogonal(2**0.5)
_KERNELS = {"thesis": (2, 2, 2, 2, 3, 3), "published": (4, 3, 3, 3, 3, 3)}
_CHANNELS, _STRIDES = (8, 16, 32, 64, 128, 256), (2, 2, 2, 2, 1, 1)


class Convolutions(nn.Module):
    """Six convolutions without padding."""

    kernels: tuple[int, ...]

    @nn.compact
    def __call__(self, image: UInt8[Array, "n H W c"]) -> Float[Array, "n d"]:
        x = image.astype(jnp.float32) / 128.0 - 1.0
        for i, (size, channels, stride) in enumerate(zip(self.kernels, _CHANNELS, _STRIDES, strict=True)):
            layer = convolution(channels, size, stride, padding="VALID", kernel_init=_relu_init, name=f"layer_{i}")
            x = nn.relu(layer(x))
        return x.reshape(x.shape[0], -1)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers (see ``rl.encoders``)."""
        layers: list[list[Any]] = [["scale", 128.0, -1.0]]
        for i, stride in enumerate(_STRIDES):
            layers += [["convolution", f"layer_{i}", stride, False], ["relu"]]
        return [layers]


def eyes(settings: RacingEncoderSettings, resolution: int) -> nn.Module:
    """The encoder for pictures of so many pixels a side."""
    if settings.kind in ("small", "impala"):
        return Image(ImageEncoder(settings.kind, settings.channels, settings.features))
    require(
        resolution == 96,
        f"encoder.kind is {settings.kind}, whose six convolutions need pictures of 96 pixels, and env.resolution is "
        f"{resolution}; choose the kind small, or 96.",
    )
    return Convolutions(_KERNELS[settings.kind])
