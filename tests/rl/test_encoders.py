"""Encoders: what goes in, what comes out, what is refused, and the residual network against what was published."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.errors import UserError
from tutelage.rl.encoder_settings import EncoderSettings, GridEncoder, ImageEncoder, VectorEncoder
from tutelage.rl.encoders import Grid, Image, Residual, Structured, Vector, describe, encoder, pool, suited
from tutelage.rl.networks import CORES, ActorCritic

RNG = np.random.default_rng(0)
SMALL, IMPALA = ImageEncoder(channels=4, features=8), ImageEncoder("impala", channels=4, features=8)


class Seen(NamedTuple):
    speed: Any
    camera: Any
    hit: Any
    gear: Any


def spec(*shape: int, dtype: Any = np.uint8) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


CAR = Seen(spec(3, dtype=np.float32), spec(16, 20, 3), spec(dtype=np.bool_), spec(dtype=np.int32))
MAZE = {"direction": spec(dtype=np.int32), "image": spec(5, 5, 3)}


def example(observation: Any, batch: int = 2) -> Any:
    def leaf(x: jax.ShapeDtypeStruct) -> np.ndarray:
        shape = (batch, *x.shape)
        real = np.issubdtype(x.dtype, np.floating)
        return (RNG.normal(size=shape) if real else RNG.integers(0, 2 if x.dtype == bool else 11, shape)).astype(
            x.dtype
        )

    return jax.tree.map(leaf, observation)


def shape(module: nn.Module, observation: Any) -> tuple[int, ...]:
    out, _ = jax.eval_shape(module.init_with_output, jax.random.key(0), example(observation))
    assert out.dtype == jnp.float32
    return out.shape


def count(module: nn.Module, observation: Any) -> int:
    params = jax.eval_shape(module.init, jax.random.key(0), example(observation))
    return sum(x.size for x in jax.tree.leaves(params))


# --- shapes


@pytest.mark.parametrize(
    ("settings", "observation", "width"),
    [
        (VectorEncoder(), spec(7, dtype=np.float32), 7),
        (VectorEncoder(), spec(dtype=np.int32), 1),
        (VectorEncoder(), CAR, 3 + 16 * 20 * 3 + 1 + 1),
        (GridEncoder(4), spec(5, 6, 3), 3 * 4 * 4),
        (GridEncoder(4), MAZE, 1 + 3 * 3 * 4),
        (SMALL, CAR, 3 + 8 + 1 + 1),
        (IMPALA, CAR, 3 + 8 + 1 + 1),
        *[(settings, spec(side, side, 3), 8) for settings in (SMALL, IMPALA) for side in (16, 32, 64, 84, 96)],
        (SMALL, {"image": spec(16, 16, 3)}, 8),
        (GridEncoder(4), {"grid": spec(3, 3, 1)}, 4),
        (SMALL, {"left": spec(32, 32, 1), "right": spec(16, 16, 20)}, 16),
        (SMALL, spec(17, 31, 1, dtype=np.float32), 8),
    ],
)
def test_whatever_is_seen_becomes_a_vector(settings: EncoderSettings, observation: Any, width: int) -> None:
    assert shape(encoder(settings, observation), observation) == (2, width)


def test_a_network_takes_sequences_of_images_and_other_numbers():
    network = ActorCritic(encoder(SMALL, CAR), CORES["lstm"](8), outputs=3, head=4)
    obs = jax.tree.map(lambda x: x.reshape(3, 2, *x.shape[1:]), example(CAR, 6))
    inputs = (network.initial_carry(2), obs, jnp.zeros((3, 2), bool))
    _, policy, value = jax.eval_shape(network.init_with_output, jax.random.key(0), *inputs)[0]
    assert (policy.shape, value.shape) == ((3, 2, 3), (3, 2))


# --- vectors and trees


def test_a_vector_stays_as_it_is():
    x = RNG.normal(size=(5, 3)).astype(np.float32)
    params = Vector().init(jax.random.key(0), x)
    assert not jax.tree.leaves(params)
    np.testing.assert_array_equal(Vector().apply(params, x), x)
    assert not jax.make_jaxpr(lambda x: Vector().apply(params, x))(x).eqns


def test_a_tree_is_its_leaves_side_by_side():
    obs = Seen(
        np.ones((2, 2), np.float32), np.full((2, 1, 2), 200, np.uint8), np.array([True, False]), np.array([3, -4])
    )
    expected = [[1, 1, 200, 200, 1, 3], [1, 1, 200, 200, 0, -4]]
    np.testing.assert_array_equal(Vector().apply({}, obs), expected)


def test_each_leaf_goes_through_the_encoder_that_fits_it():
    module = encoder(SMALL, CAR)
    assert isinstance(module, Structured)
    assert [type(leaf) for leaf in module.encoders] == [Vector, Image, Vector, Vector]
    obs = example(CAR)
    params = module.init(jax.random.key(0), obs)
    out = np.asarray(module.apply(params, obs))
    (image,) = params["params"].values()
    np.testing.assert_allclose(out[:, 3:-2], Image(SMALL).apply({"params": image}, obs.camera), rtol=1e-5)
    np.testing.assert_array_equal(out[:, :3], obs.speed)
    np.testing.assert_array_equal(out[:, -2:], np.stack([obs.hit, obs.gear], 1))


def test_a_grid_is_a_convolution_of_a_tenth_of_its_codes():
    grid = np.full((1, 3, 3, 2), 10, np.uint8)
    params = {"params": {"convolution": {"kernel": np.ones((18, 2)), "bias": np.array([0.5, -20.0])}}}
    np.testing.assert_allclose(Grid(2).apply(params, grid), [[18.5, 0.0]])


# --- images


def test_bytes_stay_bytes_until_they_are_seen(monkeypatch):
    """Before, they would take four times the memory: a rollout and every minibatch hold all that was seen."""
    arrived = []
    see = Image.__call__
    monkeypatch.setattr(Image, "__call__", lambda self, image: arrived.append(image.dtype) or see(self, image))
    network = ActorCritic(encoder(SMALL, CAR), CORES["none"](8), outputs=3, head=4)
    obs = jax.tree.map(lambda x: x[None], example(CAR))
    jax.eval_shape(network.init, jax.random.key(0), (), obs, jnp.zeros((1, 2), bool))
    assert arrived == [jnp.uint8]


@pytest.mark.parametrize("settings", [SMALL, IMPALA], ids=["small", "impala"])
def test_bytes_are_seen_as_numbers_from_0_to_1_and_floats_as_they_are(settings: ImageEncoder) -> None:
    image = RNG.integers(0, 256, (2, 16, 16, 3), dtype=np.uint8)
    module = Image(settings)
    params = module.init(jax.random.key(0), image)
    same = module.apply(params, image.astype(np.float32) / 255)
    np.testing.assert_allclose(module.apply(params, image), same, atol=1e-6)


@pytest.mark.parametrize("settings", [SMALL, IMPALA], ids=["small", "impala"])
def test_every_layer_learns(settings: ImageEncoder) -> None:
    image = RNG.integers(0, 256, (4, 20, 17, 3), dtype=np.uint8)
    module = Image(settings)
    params = module.init(jax.random.key(0), image)
    gradient = jax.jit(jax.grad(lambda params: jnp.square(module.apply(params, image)).sum()))(params)
    for path, x in jax.tree.leaves_with_path(gradient):
        assert np.isfinite(x).all(), path
        assert (x != 0).any(), path


@pytest.mark.parametrize("kind", ["small", "impala"])
def test_features_start_at_the_order_of_one(kind: Any) -> None:
    image = RNG.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    features, _ = jax.jit(Image(ImageEncoder(kind)).init_with_output)(jax.random.key(0), image)
    assert 0.1 < np.sqrt(np.square(features).mean()) < 5


def test_the_small_network_is_three_convolutions_and_a_dense_layer():
    convolutions = (8 * 8 * 3 * 16 + 16) + (4 * 4 * 16 * 32 + 32) + (3 * 3 * 32 * 32 + 32)
    dense = (64 // 8) ** 2 * 32 * 256 + 256
    assert count(Image(ImageEncoder()), spec(64, 64, 3)) == convolutions + dense


# --- the residual network


def test_what_a_residual_block_adds_to_is_its_input_and_not_the_rectified_input():
    x = RNG.normal(size=(2, 5, 5, 3)).astype(np.float32)
    assert (x < 0).any()
    shapes = jax.eval_shape(Residual().init, jax.random.key(0), x)
    nothing = jax.tree.map(lambda p: jnp.zeros(p.shape), shapes)
    np.testing.assert_array_equal(Residual().apply(nothing, x), x)


def test_a_residual_block_by_hand():
    """One channel, and kernels that look at their own pixel only: x + b·relu(a·relu(x))."""
    x = jnp.array([-2.0, -1.0, 0.0, 1.0, 3.0, 5.0]).reshape(1, 2, 3, 1)

    def layer(weight: float, bias: float) -> dict[str, Any]:
        return {"kernel": jnp.zeros((3, 3, 1, 1)).at[1, 1].set(weight), "bias": jnp.array([bias])}

    params = {"params": {"first": layer(2.0, -3.0), "second": layer(10.0, 0.5)}}
    expected = x + 10.0 * jnp.maximum(2.0 * jnp.maximum(x, 0) - 3.0, 0) + 0.5
    np.testing.assert_allclose(Residual().apply(params, x), expected)


def test_the_residual_network_has_as_many_parameters_as_the_published_one():
    """Procgen's agent (Cobbe et al. 2020) has 626,256 with its 15 actions and its value, for images of 64x64x3."""
    first = (9 * 3 * 16 + 16) + 4 * (9 * 16 * 16 + 16)  # 448 + 4 · 2,320: a convolution, and two blocks of two
    second = (9 * 16 * 32 + 32) + 4 * (9 * 32 * 32 + 32)  # 4,640 + 4 · 9,248
    third = (9 * 32 * 32 + 32) + 4 * (9 * 32 * 32 + 32)  # 9,248 + 4 · 9,248
    dense = 8 * 8 * 32 * 256 + 256  # 64 pixels, halved three times: 524,544
    assert first + second + third + dense == 622_144
    assert 622_144 + (256 * 15 + 15) + (256 * 1 + 1) == 626_256
    assert count(Image(ImageEncoder("impala")), spec(64, 64, 3)) == 622_144


@pytest.mark.parametrize("sides", [(8, 6), (7, 5), (8, 5), (1, 2)])
def test_pooling_is_flax_own_also_where_numbers_are_equal(sides: tuple[int, int]) -> None:
    x = RNG.integers(-2, 3, (3, *sides, 2)).astype(np.float32)

    def flax(x: Any) -> Any:
        return nn.max_pool(x, (3, 3), (2, 2), "SAME")

    np.testing.assert_array_equal(pool(x), flax(x))
    weight = RNG.normal(size=flax(x).shape)
    ours, theirs = (jax.grad(lambda x, f=f: (weight * f(x)).sum())(x) for f in (pool, flax))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


# --- choosing, describing, refusing


@pytest.mark.parametrize(
    ("observation", "settings"),
    [
        (spec(64, 64, 3), ImageEncoder()),
        (spec(16, 16, 16), ImageEncoder()),
        (CAR, ImageEncoder()),
        (spec(15, 64, 3), VectorEncoder()),
        (spec(64, 64, 17), VectorEncoder()),
        (spec(3, 64, 64), VectorEncoder()),
        (spec(64, 64), VectorEncoder()),
        (spec(64, 64, 3, dtype=np.float32), VectorEncoder()),
        (MAZE, VectorEncoder()),
    ],
)
def test_what_suits_an_observation(observation: Any, settings: EncoderSettings) -> None:
    assert suited(observation) == settings
    encoder(settings, observation)


@pytest.mark.parametrize(
    ("settings", "observation", "sentence"),
    [
        (VectorEncoder(), spec(24, dtype=np.float32), "24 numbers are taken as they are"),
        (VectorEncoder(), spec(dtype=np.float32), "1 number is taken as it is"),
        (ImageEncoder(), spec(64, 64, 3), "images of 64x64x3 go through a small CNN"),
        (ImageEncoder("impala"), spec(64, 64, 3), "images of 64x64x3 go through an IMPALA residual network"),
        (ImageEncoder(), CAR, "images of 16x20x3 go through a small CNN; 5 numbers are taken as they are"),
        (
            ImageEncoder(),
            [spec(32, 32, 1), spec(16, 16, 3)],
            "images of 32x32x1 and 16x16x3 go through a small CNN each",
        ),
        (GridEncoder(), MAZE, "grids of 5x5x3 go through a 3x3 convolution; 1 number is taken as it is"),
    ],
)
def test_an_encoder_can_be_described(settings: EncoderSettings, observation: Any, sentence: str) -> None:
    assert describe(settings, observation) == sentence


@pytest.mark.parametrize("ask", [encoder, describe])
@pytest.mark.parametrize(
    ("settings", "observation", "words"),
    [
        (
            ImageEncoder(),
            spec(7, dtype=np.float32),
            "no image in an observation of 7 float32; .* Use the vector encoder",
        ),
        (ImageEncoder(), spec(8, 8, 3), "no image in an observation of 8x8x3 uint8; .* at least 16x16 pixels"),
        (ImageEncoder("impala"), spec(64, 64, 3, dtype=np.int32), "64x64x3 int32; .* of uint8 or floats"),
        (ImageEncoder(), MAZE, "an observation of one int32 and 5x5x3 uint8; .* grid encoder for a small grid"),
        (GridEncoder(), spec(2, 5, 3), "no grid in an observation of 2x5x3 uint8; .* at least 3x3 cells"),
        (GridEncoder(), spec(5, 5, 3, dtype=np.float32), "no grid in an observation of 5x5x3 float32; .* of integers"),
        (VectorEncoder(), {}, "The observation is empty"),
    ],
)
def test_what_does_not_fit_is_refused(ask: Any, settings: EncoderSettings, observation: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        ask(settings, observation)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: GridEncoder(filters=0), "encoder.filters is 0; give a whole number greater than 0"),
        (lambda: ImageEncoder(channels=-1), "encoder.channels is -1; give a whole number"),
        (lambda: ImageEncoder(channels=1.5), "encoder.channels is 1.5; give a whole number"),  # pyright: ignore
        (lambda: ImageEncoder(features=0), "encoder.features is 0; give a whole number"),
        (lambda: ImageEncoder("imapla"), "no kind of image encoder called 'imapla'. Did you mean impala"),  # pyright: ignore
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        wrong()


def test_settings_of_encoders_do_not_import_jax():
    code = "import sys, tutelage.rl.encoder_settings; print('jax' in sys.modules or 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "False"
