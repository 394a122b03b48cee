"""The eight changes of images: shapes, bytes, and cases whose answer is known."""

from __future__ import annotations

import colorsys
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rl.augmentations import (
    AUGMENTATIONS,
    augment,
    convolved,
    hsv_to_rgb,
    is_image,
    jittered,
    rgb_to_hsv,
    unsuited,
)
from tutelage.settings import AugmentationName

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (64, 64, 3), np.uint8)
DRAWS = 96


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    """Every change of one picture, many times: one program."""

    def all_of(keys: Any, picture: Any) -> Any:
        return {name: jax.vmap(change, (0, None))(keys, picture) for name, change in AUGMENTATIONS.items()}

    return jax.device_get(jax.jit(all_of)(jax.random.split(jax.random.key(0), DRAWS), PICTURE))


def test_there_are_eight_in_the_order_of_the_published_bandit():
    assert list(AUGMENTATIONS) == list(get_args(AugmentationName))
    assert len(AUGMENTATIONS) == 8
    assert next(iter(AUGMENTATIONS)) == "crop"


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_images_stay_bytes_of_their_size_and_change_as_the_key_says(drawn, name):
    images = drawn[name]
    assert images.dtype == np.uint8
    assert images.shape == (DRAWS, 64, 64, 3)
    different = len(np.unique(images.reshape(DRAWS, -1), axis=0))
    assert different == {"grayscale": 1, "flip": 2, "rotate": 4}.get(name, different)
    assert different > DRAWS // 2 or name in ("grayscale", "flip", "rotate")


@pytest.mark.parametrize("name", AUGMENTATIONS)
@pytest.mark.parametrize("shape", [(2, 16, 16, 3), (1, 3, 20, 31, 6)])
def test_any_axes_and_sizes_will_do_and_all_images_are_changed_alike(name, shape):
    if name == "rotate":
        shape = (*shape[:-2], shape[-3], shape[-1])
    one = RNG.integers(0, 256, shape[-3:], np.uint8)
    out = jax.jit(AUGMENTATIONS[name])(jax.random.key(1), np.broadcast_to(one, shape))
    assert (out.shape, out.dtype) == (shape, np.uint8)
    np.testing.assert_array_equal(out, np.broadcast_to(out[(0,) * (len(shape) - 3)], shape))


# --- where things are


def test_crops_are_all_windows_of_the_image_with_its_border_repeated(drawn):
    around = np.pad(PICTURE, [(12, 12), (12, 12), (0, 0)], mode="edge")
    windows = {around[i : i + 64, j : j + 64].tobytes(): (i, j) for i in range(25) for j in range(25)}
    found = np.array([windows[image.tobytes()] for image in drawn["crop"]])
    assert found.min() == 0
    assert found.max() == 24
    np.testing.assert_allclose(found.mean(axis=0), 12, atol=3)


def test_flips_are_upside_down_for_half_of_the_draws(drawn):
    as_it_was = (drawn["flip"] == PICTURE).all(axis=(1, 2, 3))
    upside_down = (drawn["flip"] == PICTURE[::-1]).all(axis=(1, 2, 3))
    assert (as_it_was ^ upside_down).all()
    assert 0.3 < as_it_was.mean() < 0.7


def test_rotations_are_quarter_turns_of_which_four_are_none(drawn):
    turns = [(drawn["rotate"] == np.rot90(PICTURE, k)).all(axis=(1, 2, 3)) for k in range(4)]
    assert (np.sum(turns, axis=0) == 1).all()
    assert (np.mean(turns, axis=1) > 0.1).all(), "by nothing too, which leaves the image as it was"
    np.testing.assert_array_equal(np.rot90(PICTURE, 4), PICTURE)


# --- what is covered


def boxes(images: np.ndarray, picture: np.ndarray) -> list[tuple[int, int, int, int]]:
    """First and last row, first and last column, of what was changed."""
    found = []
    for image in images:
        rows, columns = np.nonzero((image != picture).any(axis=-1))
        found.append((rows.min(), rows.max(), columns.min(), columns.max()))
    return found


def test_a_black_box_is_where_and_as_large_as_published():
    white = np.full((64, 64, 3), 255, np.uint8)
    keys = jax.random.split(jax.random.key(1), 200)
    images = jax.device_get(jax.jit(jax.vmap(AUGMENTATIONS["cutout"], (0, None)))(keys, white))
    heights, widths = set(), set()
    for image, (top, bottom, left, right) in zip(images, boxes(images, white), strict=True):
        height, width = top - 12, left - 24  # where it begins tells how large it is
        assert (bottom, right) == (12 + 2 * height - 1, min(24 + 2 * width - 1, 63))
        assert (image == 0).sum() == 3 * height * (right - left + 1), "a whole box, and no more"
        heights.add(int(height))
        widths.add(int(width))
    assert heights == widths == set(range(7, 22))


def test_a_box_of_one_colour_is_of_bytes(drawn):
    """Published code forgets to divide, so that its colours are up to 254 times too bright."""
    colors = []
    for image, (top, bottom, left, right) in zip(
        drawn["cutout-color"], boxes(drawn["cutout-color"], PICTURE), strict=True
    ):
        box = image[top : bottom + 1, left : right + 1].reshape(-1, 3)
        assert (box == box[0]).all()
        colors.append(box[0])
    colors = np.array(colors)
    assert colors.min() < 10
    assert colors.max() > 245
    np.testing.assert_allclose(colors.mean(axis=0), 127.5, atol=30)
    assert np.abs(np.corrcoef(colors.T)[np.triu_indices(3, 1)]).max() < 0.4, "its channels are drawn apart"


# --- colours


def test_a_convolution_is_that_of_its_kernel():
    identity = np.zeros((3, 3, 3, 3), np.float32)
    identity[1, 1] = np.eye(3)
    np.testing.assert_array_equal(convolved(PICTURE, identity), PICTURE)
    up = np.zeros_like(identity)
    up[2, 1] = np.eye(3)
    expected = np.concatenate([PICTURE[1:], np.zeros((1, 64, 3), np.uint8)])
    np.testing.assert_array_equal(convolved(PICTURE, up), expected)
    swapped = convolved(PICTURE, identity[..., ::-1])
    np.testing.assert_array_equal(swapped, PICTURE[..., ::-1])


def test_what_a_convolution_takes_out_of_range_is_shrunk_to_fit():
    image = np.zeros((16, 16, 1), np.uint8)
    image[0, 0], image[0, 1] = 100, 255
    kernel = np.zeros((3, 3, 1, 1), np.float32)
    kernel[1, 1] = -1.0
    out = np.asarray(convolved(image, kernel)).astype(float)[..., 0]
    np.testing.assert_allclose(out[0, :3], [(255 - 100) / 2, 0, 255 / 2], atol=1)


def test_random_kernels_are_xaviers():
    """The centre of a white image is the sum of the kernel: 27 numbers of variance 2 / (27 + 27)."""
    image = np.full((16, 16, 3), 1, np.uint8)
    kernels = jax.vmap(lambda key: jax.random.normal(key, (3, 3, 3, 3)) / 27**0.5)(
        jax.random.split(jax.random.key(0), 200)
    )
    out = jax.vmap(AUGMENTATIONS["convolution"], (0, None))(jax.random.split(jax.random.key(0), 200), image)
    np.testing.assert_array_equal(out, jax.vmap(convolved, (None, 0))(image, kernels))
    np.testing.assert_allclose(np.asarray(kernels).std(), (2 / 54) ** 0.5, rtol=0.02)


def test_grayscale_is_luminance_and_leaves_gray_alone(drawn):
    gray = np.round(PICTURE @ np.array([0.299, 0.587, 0.114]))
    assert np.abs(drawn["grayscale"][0].astype(float) - gray[..., None]).max() <= 1
    np.testing.assert_array_equal(drawn["grayscale"][0][..., 0], drawn["grayscale"][0][..., 2])
    shades = np.broadcast_to(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), (16, 16, 3))
    np.testing.assert_array_equal(AUGMENTATIONS["grayscale"](jax.random.key(0), shades), shades)


def test_hsv_is_that_of_the_standard_library():
    colors = np.concatenate([RNG.random((50, 3)), [[0, 0, 0], [1, 1, 1], [1, 0, 0], [1, 0, 1], [0.5, 0.5, 0.2]]])
    hsv = jax.jit(rgb_to_hsv)(colors.astype(np.float32))
    np.testing.assert_allclose(hsv, [colorsys.rgb_to_hsv(*color) for color in colors], atol=1e-5)
    np.testing.assert_allclose(hsv_to_rgb(hsv), colors, atol=1e-5)


def test_jitter_by_nothing_or_by_a_full_turn_is_the_identity():
    jitter = jax.jit(jittered)
    for hue in (0.0, 1.0, -1.0):
        np.testing.assert_array_equal(jitter(PICTURE, 1.0, hue, 1.0, 1.0, 1.0), PICTURE)


def test_each_part_of_jitter_does_what_it_is_called():
    jitter, image = jax.jit(jittered), np.array([[[200, 100, 0], [40, 80, 120]]], np.uint8)
    np.testing.assert_array_equal(jitter(image, 1.0, 1 / 3, 1.0, 1.0, 1.0), np.roll(image, 1, axis=-1))
    np.testing.assert_array_equal(jitter(image, 1.0, 0.0, 1.0, 0.5, 1.0), image // 2)
    np.testing.assert_array_equal(jitter(image, 1.0, 0.0, 0.0, 1.0, 1.0)[0, :, 0], [200, 120])
    contrast = [[[160, 95, 30], [80, 85, 90]]]  # each channel half as far from its mean
    np.testing.assert_array_equal(jitter(image, 0.5, 0.0, 1.0, 1.0, 1.0), contrast)
    np.testing.assert_array_equal(jitter(image, 1.0, 0.0, 1.0, 1.0, 0.5), contrast)
    first, last = (jitter(image, before, 0.0, 1.0, 2.0, after) for before, after in ((0.5, 1.0), (1.0, 0.5)))
    assert np.abs(np.asarray(first, int) - np.asarray(last)).max() > 10, "the order counts where something is cut off"


def test_jitter_keeps_within_its_bounds():
    """Of two grays, the brighter one's factors: saturation and hue change nothing in a gray image."""
    gray = np.full((4, 4, 3), 100, np.uint8)
    keys = jax.random.split(jax.random.key(0), 200)
    values = np.asarray(jax.jit(jax.vmap(AUGMENTATIONS["color-jitter"], (0, None)))(keys, gray))[:, 0, 0, 0]
    assert (values.min(), values.max()) == (pytest.approx(60, abs=2), pytest.approx(140, abs=2))


# --- observations


def spec(*shape: int, dtype: Any = np.uint8) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def test_images_are_bytes_with_three_axes_and_sixteen_pixels():
    assert is_image(spec(16, 20, 1))
    others = [spec(15, 64, 3), spec(64, 64), spec(64, 64, 3, dtype=np.float32), spec(5, 5, 3), spec(2, 64, 64, 3)]
    assert not any(map(is_image, others))


def test_what_does_not_suit_an_image_is_said():
    assert "needs red, green and blue, and there is an image of 4 channels" in unsuited("grayscale", spec(16, 16, 4))
    assert "turns squares, and there is an image of 16x20" in unsuited("rotate", {"a": spec(16, 20, 3), "b": spec(3)})
    assert not any(unsuited(name, (spec(64, 64, 9), spec(4))) for name in AUGMENTATIONS)


def test_every_sequence_has_a_draw_of_its_own_and_the_rest_of_an_observation_is_left_alone():
    steps, batch = 3, 5
    image = np.broadcast_to(PICTURE, (steps, batch, 64, 64, 3))
    obs = {"left": image, "right": image, "speed": RNG.normal(size=(steps, batch, 3)), "map": image[..., :8, :8, :]}
    both = jax.jit(lambda arm: augment(jax.random.key(0), ("crop", "cutout-color"), arm, obs))
    for arm, name in enumerate(("crop", "cutout-color")):
        out = both(arm)
        assert out["left"].shape == image.shape
        np.testing.assert_array_equal(out["left"], out["right"], "two pictures of one thing are changed alike")
        np.testing.assert_array_equal(out["left"][0], out["left"][2], "and so is every step of a sequence")
        assert len({np.asarray(out["left"][0, i]).tobytes() for i in range(batch)}) == batch
        np.testing.assert_array_equal(out["map"], obs["map"])
        np.testing.assert_array_equal(out["speed"], jnp.asarray(obs["speed"]))
        alone = jax.jit(lambda name=name: augment(jax.random.key(0), (name,), 0, obs))()
        jax.tree.map(np.testing.assert_array_equal, out, alone)
