"""Convolutions against XLA's own, forward and backward, and the order of axes that makes them fast."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tutelage.rl.convolution import convolve

KEYS = jax.random.split(jax.random.key(0), 3)
SHAPES = [(8, 4, "SAME", 21), (4, 2, "SAME", 12), (3, 1, "SAME", 7), (2, 2, "VALID", 9), (3, 1, "VALID", 8)]
"""Window, stride, padding, side."""


def plain(image, kernel, strides, pads):
    return lax.conv_general_dilated(image, kernel, strides, pads, dimension_numbers=("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize(("size", "stride", "padding", "side"), SHAPES)
def test_a_convolution_and_its_slopes_are_those_of_xla(size, stride, padding, side):
    image = jax.random.normal(KEYS[0], (2, side, side + 3, 3))
    kernel = jax.random.normal(KEYS[1], (size, size, 3, 5))
    pads = tuple(lax.padtype_to_pads(image.shape[1:3], (size, size), (stride, stride), padding))

    def slopes(function):
        out, back = jax.vjp(lambda x, k: function(x, k, (stride, stride), pads), image, kernel)
        return out, *back(jnp.cos(jnp.arange(out.size, dtype=jnp.float32)).reshape(out.shape))

    for ours, theirs in zip(jax.jit(lambda: slopes(convolve))(), jax.jit(lambda: slopes(plain))(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


def compiled_orders(function) -> set[str]:
    """Of the axes of every convolution, in a loop over two minibatches of two layers."""
    kernels = jax.random.normal(KEYS[1], (2, 3, 3, 4, 4))
    images = jax.random.normal(KEYS[0], (2, 6, 8, 8, 4))

    def loss(kernels, image):
        for kernel in kernels:
            image = jnp.tanh(function(image, kernel, (1, 1), ((1, 1), (1, 1))))
        return image.sum()

    def learned(kernels, images):
        return lax.scan(lambda k, x: (k - jax.grad(loss)(k, x), None), kernels, images)[0]

    text = jax.jit(learned).lower(kernels, images).compile().as_text()
    return set(re.findall(r"dim_labels=(\S+?)[,\s]", text))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the order is a matter of XLA's CPU compiler")
def test_all_convolutions_of_a_loop_have_the_order_that_is_fast():
    assert compiled_orders(convolve) == {"b01f_01io->b01f"}


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the order is a matter of XLA's CPU compiler")
def test_those_of_jax_do_not_yet_so_ours_are_still_needed():
    assert compiled_orders(plain) > {"b01f_01io->b01f"}
