"""Encoders: from what is seen ``[n, ...]``, steps and levels in one axis, to vectors ``[n, d]`` of float32."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, Num

from ..errors import require
from ..types import Observation
from .convolution import convolution
from .encoder_settings import EncoderSettings, GridEncoder, ImageEncoder, VectorEncoder
from .networks import Conv3x3

_relu_init = nn.initializers.orthogonal(2**0.5)

SMALLEST = 16
"""Pixels along each side of the smallest image. Both networks shrink one eightfold; less than 2x2 would remain."""
_CHANNELS = 16
"""What has more channels than this is not taken for an image unless somebody says so."""


class Vector(nn.Module):
    """Every number of an observation, side by side, in the order of ``jax.tree.leaves``."""

    def __call__(self, obs: Observation) -> Float[Array, "n d"]:
        flat = [x.reshape(x.shape[0], -1).astype(jnp.float32) for x in jax.tree.leaves(obs)]
        return flat[0] if len(flat) == 1 else jnp.concatenate(flat, axis=-1)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """The layers for each array of an observation, as ``tutelage.player`` knows them."""
        return [[] for _ in range(parts)]


class Grid(nn.Module):
    """A 3x3 convolution over a small grid of codes."""

    filters: int

    @nn.compact
    def __call__(self, grid: Integer[Array, "n H W c"]) -> Float[Array, "n d"]:
        # MiniGrid's codes reach 10; a tenth of them is of the order of one.
        x = Conv3x3(self.filters, name="convolution")(grid.astype(jnp.float32) / 10.0)
        return nn.relu(x.reshape(x.shape[0], -1))

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers."""
        return [[["scale", 10.0, 0.0], ["convolution", "convolution", 1, False], ["relu"]]]


# Convolutions of images are XLA's own. On one core, for 256 images of 64x64x3 (84x84x3), the gradient of a first layer
# by patches took 2.7 (2.2) times as long for 8x8 windows at every fourth pixel, and 1.6 (1.4) times for 3x3 windows.


def pool(x: Float[Array, "n H W c"]) -> Float[Array, "n h w c"]:
    """The largest of every 3x3 window, at every second position.

    The same as ``nn.max_pool``, also in that the first of equal numbers gets the gradient: hence rows before columns.
    But XLA's own gradient is slow on a CPU: with it the whole residual network took 1.4 times as long to learn.
    """
    return _largest_of_three(_largest_of_three(x, axis=2), axis=1)


def _largest_of_three(x: Array, axis: int) -> Array:
    side = x.shape[axis]
    half = (side + 1) // 2
    before = side % 2  # as in "SAME": an even side is padded at its end only
    around = [(before, 2 * half + 1 - before - side) if i == axis else (0, 0) for i in range(x.ndim)]
    x = jnp.pad(x, around, constant_values=-jnp.inf)
    largest, *others = (jax.lax.slice_in_dim(x, i, i + 2 * half - 1, 2, axis) for i in range(3))
    for other in others:
        largest = jnp.where(other > largest, other, largest)
    return largest


class Residual(nn.Module):
    """Two convolutions, added to what came in."""

    @nn.compact
    def __call__(self, x: Float[Array, "n H W c"]) -> Float[Array, "n H W c"]:
        # What is added to is x itself. Published PyTorch code rectifies x in place first, and so loses its negatives.
        y = _convolution(x.shape[-1], "first")(nn.relu(x))
        return x + _convolution(x.shape[-1], "second")(nn.relu(y))


def _convolution(channels: int, name: str) -> nn.Conv:
    """Of the residual network. Its sums grow from block to block: with a gain of √2 features would start beyond 10."""
    return convolution(channels, 3, kernel_init=nn.initializers.orthogonal(1.0), name=name)


class Image(nn.Module):
    """A convolutional network over an image. Bytes are stored as they are, and become numbers from 0 to 1 here only."""

    settings: ImageEncoder

    @nn.compact
    def __call__(self, image: Num[Array, "n H W c"]) -> Float[Array, "n features"]:
        x = image.astype(jnp.float32)
        x = x / 255.0 if image.dtype == jnp.uint8 else x
        x = self._impala(x) if self.settings.kind == "impala" else self._small(x)
        x = nn.Dense(self.settings.features, kernel_init=_relu_init, name="dense")(x.reshape(x.shape[0], -1))
        return nn.relu(x)

    def _small(self, x: Array) -> Array:
        """DQN's three convolutions (Mnih et al. 2015) with half the channels.

        The first one's large stride is what makes it cheap. Padding lets 8x8 windows fit images that are small (without
        it 36 pixels are the least), and leaves no border out, whatever the size.
        """
        wide = 2 * self.settings.channels
        for i, (channels, size, stride) in enumerate([(wide // 2, 8, 4), (wide, 4, 2), (wide, 3, 1)]):
            layer = convolution(channels, size, stride, kernel_init=_relu_init, name=f"convolution_{i}")
            x = nn.relu(layer(x))
        return x

    def _impala(self, x: Array) -> Array:
        """The residual network of Espeholt et al. 2018, as Cobbe et al. 2020 use it for Procgen."""
        wide = 2 * self.settings.channels
        for i, channels in enumerate([wide // 2, wide, wide]):
            x = pool(_convolution(channels, f"convolution_{i}")(x))
            for j in range(2):
                x = Residual(name=f"residual_{i}_{j}")(x)
        return nn.relu(x)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers. An image of floats is not scaled, so it is for bytes only."""
        layers: list[list[Any]] = [["scale", 255.0, 0.0]]
        if self.settings.kind == "impala":
            for i in range(3):
                layers += [["convolution", f"convolution_{i}", 1, True], ["largest", 3, 2, True]]
                for j in range(2):
                    first, second = (
                        ["convolution", f"residual_{i}_{j}/{name}", 1, True] for name in ("first", "second")
                    )
                    layers.append(["residual", [["relu"], first, ["relu"], second]])
            layers.append(["relu"])
        else:
            for i, stride in enumerate((4, 2, 1)):
                layers += [["convolution", f"convolution_{i}", stride, True], ["relu"]]
        return [[*layers, ["dense", "dense"], ["relu"]]]


class Structured(nn.Module):
    """An encoder for each leaf of an observation, in the order of ``jax.tree.leaves``; their results side by side."""

    encoders: tuple[nn.Module, ...]

    def __call__(self, obs: Observation) -> Float[Array, "n d"]:
        pairs = zip(self.encoders, jax.tree.leaves(obs), strict=True)
        return jnp.concatenate([encode(leaf) for encode, leaf in pairs], axis=-1)

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers, those of each part."""
        found = []
        for i, part in enumerate(self.encoders):
            (layers,) = part.exported(1)  # pyright: ignore[reportAttributeAccessIssue]
            found.append([within(layer, f"encoders_{i}") for layer in layers])
        return found


def within(layer: list[Any], module: str) -> list[Any]:
    """A layer of ``exported`` whose weights belong to a module of another."""
    op, *more = layer
    if op in ("dense", "convolution"):
        return [op, f"{module}/{more[0]}", *more[1:]]
    return [op, [within(inner, module) for inner in more[0]]] if op == "residual" else layer


def encoder(settings: EncoderSettings, observation: Observation) -> nn.Module:
    """The encoder for observations such as this one: a tree of shapes and dtypes, without the batch's axis."""
    leaves = _leaves(observation)
    if isinstance(settings, VectorEncoder):
        return Vector()
    if isinstance(settings, GridEncoder):
        seen, eye = _grids(leaves), lambda: Grid(settings.filters)
    else:
        seen, eye = _images(leaves), lambda: Image(settings)
    modules = tuple(eye() if chosen else Vector() for chosen in seen)
    alone = jax.tree_util.treedef_is_leaf(jax.tree.structure(observation))
    return modules[0] if alone else Structured(modules)


def suited(observation: Observation) -> EncoderSettings:
    """The encoder to use when nobody says."""
    images = (_is_image(x) and x.dtype == jnp.uint8 and x.shape[2] <= _CHANNELS for x in _leaves(observation))
    return ImageEncoder() if any(images) else VectorEncoder()


def describe(settings: EncoderSettings, observation: Observation) -> str:
    """What an encoder does with observations such as this one, for a person to read."""
    leaves = _leaves(observation)
    if isinstance(settings, VectorEncoder):
        return _as_they_are(sum(x.size for x in leaves))
    if isinstance(settings, GridEncoder):
        seen, what, way = _grids(leaves), "grids", "a 3x3 convolution"
    else:
        way = "an IMPALA residual network" if settings.kind == "impala" else "a small CNN"
        seen, what = _images(leaves), "images"
    shapes = [_shape(x) for x, chosen in zip(leaves, seen, strict=True) if chosen]
    each = " each" if len(shapes) > 1 else ""
    text = f"{what} of {' and '.join(shapes)} go through {way}{each}"
    rest = sum(x.size for x, chosen in zip(leaves, seen, strict=True) if not chosen)
    return f"{text}; {_as_they_are(rest)}" if rest else text


def _leaves(observation: Observation) -> list[jax.ShapeDtypeStruct]:
    leaves = jax.tree.leaves(observation)
    require(len(leaves) > 0, "The observation is empty; a student needs at least one array to look at.")
    return leaves


def _is_image(x: jax.ShapeDtypeStruct) -> bool:
    """Images of bytes, and of floats where somebody asks for an image encoder."""
    numbers = x.dtype == jnp.uint8 or jnp.issubdtype(x.dtype, jnp.floating)
    return numbers and len(x.shape) == 3 and min(x.shape[:2]) >= SMALLEST


def _images(leaves: list[jax.ShapeDtypeStruct]) -> list[bool]:
    """Which leaves an image encoder looks at."""
    seen = [_is_image(x) for x in leaves]
    require(
        any(seen),
        f"The image encoder finds no image in an observation of {listed(leaves)}; an image has the axes height, width "
        f"and channels, at least {SMALLEST}x{SMALLEST} pixels, and is of uint8 or floats. Use the vector encoder, or "
        "the grid encoder for a small grid of codes.",
    )
    return seen


def _grids(leaves: list[jax.ShapeDtypeStruct]) -> list[bool]:
    """Which leaves a grid encoder looks at."""
    seen = [jnp.issubdtype(x.dtype, jnp.integer) and len(x.shape) == 3 and min(x.shape[:2]) >= 3 for x in leaves]
    require(
        any(seen),
        f"The grid encoder finds no grid in an observation of {listed(leaves)}; a grid has the axes height, width and "
        "channels, at least 3x3 cells, and is of integers. Use the vector encoder.",
    )
    return seen


def _shape(x: jax.ShapeDtypeStruct) -> str:
    return "x".join(map(str, x.shape))


def listed(leaves: list[jax.ShapeDtypeStruct]) -> str:
    """The arrays of an observation, for a person to read."""
    return " and ".join(f"{_shape(x)} {x.dtype}" if x.shape else f"one {x.dtype}" for x in leaves)


def _as_they_are(count: int) -> str:
    return "1 number is taken as it is" if count == 1 else f"{count} numbers are taken as they are"
