"""Changes of images that leave what to do as it was: the eight of UCB-DrAC (Raileanu et al., 2021).

A function draws once, and changes all images it is given ``[..., H, W, C]`` alike: those of a sequence, for a student
that remembers. Sizes were published for 64x64 pixels, and are in proportion for others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8

from ..settings import AugmentationName
from ..types import Observation
from .encoders import SMALLEST

Images = UInt8[Array, "*b H W C"]
Augmentation = Callable[[PRNGKeyArray, Images], Images]

_LUMINANCE = (0.299, 0.587, 0.114)
_JITTER = (0.6, 1.4)
_HUE = 0.5 * 255 / 360
"""Of a full turn, to either side. Published code scales what is half a turn by 255/360."""


def _scaled(pixels: int, side: int) -> int:
    """A length of an image of 64x64, in one of another size."""
    return max(1, round(pixels * side / 64))


def _bytes(images: Float[Array, "*b H W C"]) -> Images:
    return jnp.clip(jnp.round(images), 0, 255).astype(jnp.uint8)


# --- where things are


def crop(key: PRNGKeyArray, images: Images) -> Images:
    """A window of the image's own size, after its border was repeated 12 pixels outward."""
    for axis, k in zip((-3, -2), jax.random.split(key), strict=True):
        side = images.shape[axis]
        margin = _scaled(12, side)
        start = jax.random.randint(k, (), 0, 2 * margin + 1)
        images = jnp.take(images, jnp.clip(jnp.arange(side) + start - margin, 0, side - 1), axis=axis)
    return images


def flip(key: PRNGKeyArray, images: Images) -> Images:
    """Upside down or as it was. The paper does not say which way round; the published code does it so."""
    return jnp.where(jax.random.bernoulli(key), images[..., ::-1, :, :], images)


def rotate(key: PRNGKeyArray, images: Images) -> Images:
    """By 0, 90, 180 or 270 degrees."""
    turns = [lambda k=k: jnp.rot90(images, k, axes=(-3, -2)) for k in range(4)]
    return jax.lax.switch(jax.random.randint(key, (), 0, 4), turns)


# --- what is covered


def cutout(key: PRNGKeyArray, images: Images) -> Images:
    """A black box."""
    return jnp.where(_box(key, *images.shape[-3:-1]), jnp.uint8(0), images)


def cutout_color(key: PRNGKeyArray, images: Images) -> Images:
    """A box of one random colour."""
    k_box, k_color = jax.random.split(key)
    # Published code forgets to divide by 255 from its second draw on, which puts colours far outside of the range.
    color = jax.random.randint(k_color, images.shape[-1:], 0, 256).astype(jnp.uint8)
    return jnp.where(_box(k_box, *images.shape[-3:-1]), color, images)


def _box(key: PRNGKeyArray, height: int, width: int) -> Array:
    """Which pixels ``[H, W, 1]`` a box covers. Where it begins depends on how large it is, as published; it may reach
    over the border.
    """
    k_rows, k_columns = jax.random.split(key)
    rows = _stripe(k_rows, height, _scaled(12, height))
    columns = _stripe(k_columns, width, _scaled(24, width))
    return (rows[:, None] & columns)[..., None]


def _stripe(key: PRNGKeyArray, side: int, offset: int) -> Array:
    length = jax.random.randint(key, (), _scaled(7, side), _scaled(21, side) + 1)
    begin = offset + length
    place = jnp.arange(side)
    return (place >= begin) & (place < begin + length)


# --- colours


def convolution(key: PRNGKeyArray, images: Images) -> Images:
    """A random 3x3 convolution, from all channels to as many."""
    channels = images.shape[-1]
    # Xavier's normal: 9 C numbers go into each, and each goes into 9 C.
    return convolved(images, jax.random.normal(key, (3, 3, channels, channels)) / (3 * channels**0.5))


def convolved(images: Images, kernel: Float[Array, "3 3 C C"]) -> Images:
    """A convolution with zeros around the image. Where it leaves the range of bytes, all of it is shrunk to fit;
    published code has no bytes, and lets it leave.
    """
    height, width = images.shape[-3:-1]
    around = [(0, 0)] * (images.ndim - 3) + [(1, 1), (1, 1), (0, 0)]
    padded = jnp.pad(images.astype(jnp.float32), around)
    # Term by term, which becomes one loop. Kernels differ from image to image, and a convolution of XLA's own (grouped)
    # or one product of patches took 60 to 70 times as long.
    result = sum(
        padded[..., i : i + height, j : j + width, channel, None] * kernel[i, j, channel]
        for i, j, channel in np.ndindex(kernel.shape[:3])
    )
    low, high = jnp.minimum(jnp.min(result), 0.0), jnp.maximum(jnp.max(result), 255.0)
    return _bytes((result - low) * (255.0 / (high - low)))


def grayscale(key: PRNGKeyArray, images: Images) -> Images:
    """Luminance in the place of red, green and blue. Nothing about it is random."""
    triples = _triples(images)
    gray = sum(share * triples[..., i] for i, share in enumerate(_LUMINANCE))
    return _bytes(jnp.broadcast_to(jnp.asarray(gray)[..., None], triples.shape).reshape(images.shape))


def color_jitter(key: PRNGKeyArray, images: Images) -> Images:
    """Other contrast, brightness, saturation and hue; contrast comes first or last."""
    k_factors, k_hue, k_order = jax.random.split(key, 3)
    contrast, saturation, brightness = jax.random.uniform(k_factors, (3,), minval=_JITTER[0], maxval=_JITTER[1])
    hue = jax.random.uniform(k_hue, minval=-_HUE, maxval=_HUE)
    first = jax.random.bernoulli(k_order)
    before, after = jnp.where(first, contrast, 1.0), jnp.where(first, 1.0, contrast)
    return jittered(images, before, hue, saturation, brightness, after)


def jittered(images: Images, before: Any, hue: Any, saturation: Any, brightness: Any, after: Any) -> Images:
    """Contrast by the factor ``before``, then hue by a share of a turn, saturation and brightness by factors, then
    contrast by the factor ``after``.
    """
    x = _triples(_contrast(images.astype(jnp.float32) / 255.0, before).reshape(images.shape))
    h, s, v = jnp.moveaxis(rgb_to_hsv(x), -1, 0)
    s, v = jnp.clip(s * saturation, 0.0, 1.0), jnp.clip(v * brightness, 0.0, 1.0)
    x = hsv_to_rgb(jnp.stack([_turned(h + hue, 1.0), s, v], axis=-1)).reshape(images.shape)
    return _bytes(255.0 * _contrast(x, after))


def _contrast(x: Float[Array, "*b H W C"], factor: Any) -> Float[Array, "*b H W C"]:
    """Around the mean of each channel."""
    mean = x.mean(axis=(-3, -2), keepdims=True)
    return jnp.clip(mean + factor * (x - mean), 0.0, 1.0)


def _triples(images: Array) -> Float[Array, "*b H W n 3"]:
    """Channels as reds, greens and blues: there are several of each in a stack of frames."""
    return images.reshape(*images.shape[:-1], -1, 3).astype(jnp.float32)


def _turned(x: Array, turn: float) -> Array:
    """What is left of less than two turns after whole ones. XLA's remainder is a call for each number on a CPU, which
    made this augmentation ten times as slow.
    """
    x = jnp.where(x < 0, x + turn, x)
    return jnp.where(x >= turn, x - turn, x)


def rgb_to_hsv(rgb: Float[Array, "*b 3"]) -> Float[Array, "*b 3"]:
    """All from 0 to 1."""
    r, g, b = jnp.moveaxis(rgb, -1, 0)
    value = jnp.maximum(jnp.maximum(r, g), b)
    spread = value - jnp.minimum(jnp.minimum(r, g), b)
    unit = jnp.where(spread > 0, spread, 1.0)
    # By comparison and not by equality with the greatest: a compiler may compute that once more, and round otherwise.
    green_or_blue = jnp.where(g >= b, (b - r) / unit + 2.0, (r - g) / unit + 4.0)
    sixth = jnp.where((r >= g) & (r >= b), _turned((g - b) / unit, 6.0), green_or_blue)
    saturation = spread / jnp.where(value > 0, value, 1.0)
    return jnp.stack([sixth / 6.0, saturation, value], axis=-1)


def hsv_to_rgb(hsv: Float[Array, "*b 3"]) -> Float[Array, "*b 3"]:
    """All from 0 to 1."""
    hue, saturation, value = (x[..., None] for x in jnp.moveaxis(hsv, -1, 0))
    place = _turned(jnp.array([5.0, 3.0, 1.0]) + 6.0 * hue, 6.0)
    return value - value * saturation * jnp.clip(jnp.minimum(place, 4.0 - place), 0.0, 1.0)


AUGMENTATIONS: dict[AugmentationName, Augmentation] = {
    "crop": crop,
    "convolution": convolution,
    "grayscale": grayscale,
    "flip": flip,
    "rotate": rotate,
    "cutout": cutout,
    "cutout-color": cutout_color,
    "color-jitter": color_jitter,
}
"""In the order of the published bandit's arms."""

assert tuple(AUGMENTATIONS) == get_args(AugmentationName)


# --- observations


def is_image(x: Any) -> bool:
    """Is a leaf of one observation an image?"""
    return x.dtype == jnp.uint8 and len(x.shape) == 3 and min(x.shape[:2]) >= SMALLEST


def unsuited(name: AugmentationName, observation: Observation) -> str:
    """Why the images of an observation such as this one cannot be changed so; empty where they can."""
    for height, width, channels in (x.shape for x in jax.tree.leaves(observation) if is_image(x)):
        if name in ("grayscale", "color-jitter") and channels % 3:
            return f"which needs red, green and blue, and there is an image of {channels} channels"
        if name == "rotate" and height != width:
            return f"which turns squares, and there is an image of {height}x{width} pixels"
    return ""


def on_images(
    function: Callable[[Images], Images], obs: Observation, otherwise: Callable[[Array], Array] = lambda x: x
) -> Observation:
    """Apply a function to the images of observations ``[T, B, ...]``; the rest passes through, or otherwise."""
    return jax.tree.map(
        lambda x: (function if is_image(jax.ShapeDtypeStruct(x.shape[2:], x.dtype)) else otherwise)(x), obs
    )


def augment(
    key: PRNGKeyArray, arms: tuple[AugmentationName, ...], arm: Int[Array, ""] | int, obs: Observation
) -> Observation:
    """Change the images of observations ``[T, B, ...]``, with a draw for each of the ``B`` sequences. Several images of
    one observation are changed alike.
    """
    keys = jax.random.split(key, jax.tree.leaves(obs)[0].shape[1])

    def change(images: Images) -> Images:
        ways = [jax.vmap(AUGMENTATIONS[name], in_axes=(0, 1), out_axes=1) for name in arms]
        return ways[0](keys, images) if len(ways) == 1 else jax.lax.switch(arm, ways, keys, images)

    return on_images(change, obs)
