"""The eyes of students that see glyphs: against the textbook, and in the sizes that were published."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.errors import UserError
from tutelage.rl.encoder_settings import GlyphEncoder
from tutelage.rl.glyphs import GlyphObs, Glyphs, cropped

RNG = np.random.default_rng(0)
KEY = jax.random.key(0)


def example(height: int, width: int, kinds: int, batch: int = 3) -> GlyphObs:
    where = np.stack([RNG.integers(0, width, batch), RNG.integers(0, height, batch)], -1)
    glyphs = RNG.integers(1, kinds, (batch, height, width))
    return GlyphObs(jnp.asarray(glyphs), jnp.asarray(where), jnp.asarray(RNG.normal(size=(batch, 4)), jnp.float32))


def test_a_crop_has_the_agent_in_the_middle_and_nothing_beyond_the_map():
    obs = example(5, 7, 9, batch=20)
    found = np.asarray(cropped(obs.glyphs, obs.position, 5))
    glyphs, position = np.asarray(obs.glyphs), np.asarray(obs.position)
    for i in range(20):
        for row in range(5):
            for column in range(5):
                x, y = position[i] + [column - 2, row - 2]
                inside = 0 <= x < 7 and 0 <= y < 5
                assert found[i, row, column] == (glyphs[i, y, x] if inside else 0)


def by_the_textbook(params: Any, eyes: GlyphEncoder, obs: GlyphObs) -> Any:
    views = {"whole": obs.glyphs, "crop": cropped(obs.glyphs, obs.position, eyes.crop)}
    parts = []
    for name, glyphs in views.items():
        x = params["embedding"][glyphs]
        for i in range(eyes.layers):
            layer = params[f"{name}_{i}"]
            kernel = layer["kernel"].reshape(3, 3, x.shape[-1], -1)
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = nn.elu(x + layer["bias"])
        parts.append(x.reshape(len(x), -1))
    x = obs.stats
    for name in ("stats_0", "stats_1"):
        x = np.maximum(x @ params[name]["kernel"] + params[name]["bias"], 0)
    x = jnp.concatenate([*parts, x], -1)
    for name in ("hidden", "features"):
        x = np.maximum(x @ params[name]["kernel"] + params[name]["bias"], 0)
    return x


@pytest.mark.parametrize(("height", "width", "kinds"), [(7, 7, 7), (17, 18, 100)])
def test_the_network_is_the_one_of_the_textbook(height, width, kinds):
    """Small maps of few kinds are computed as products, others by XLA's own convolution and by rows of a table."""
    eyes = GlyphEncoder(embedding=3, layers=2, channels=4, last=2, crop=5, stats=3, hidden=6, features=5)
    obs = example(height, width, kinds)
    out, variables = Glyphs(eyes, kinds).init_with_output(KEY, obs)
    np.testing.assert_allclose(out, by_the_textbook(variables["params"], eyes, obs), rtol=1e-4, atol=1e-5)


def test_nethacks_student_has_the_size_of_the_published_one():
    """NLE's baseline with 27 numbers beside the map: 13,952 numbers are joined."""
    obs = GlyphObs(jnp.zeros((1, 21, 79), jnp.int16), jnp.zeros((1, 2), jnp.int32), jnp.zeros((1, 27)))
    params = jax.eval_shape(Glyphs(GlyphEncoder(), 5976).init, KEY, obs)["params"]
    assert params["hidden"]["kernel"].shape == (13_952, 512)
    assert params["features"]["kernel"].shape == (512, 256)
    assert params["embedding"].shape == (5976, 32)


def test_observations_of_another_form_are_taken_apart():
    obs = example(5, 5, 7)
    eyes = GlyphEncoder(embedding=2, layers=0, crop=3, stats=2, hidden=0, features=2)
    raw = {"map": obs.glyphs, "numbers": jnp.concatenate([obs.position, obs.stats], -1)}

    def apart(raw: Any) -> GlyphObs:
        return GlyphObs(raw["map"], raw["numbers"][:, :2], raw["numbers"][:, 2:])

    other = Glyphs(eyes, 7, apart)
    same = Glyphs(eyes, 7).init_with_output(KEY, obs)[0]
    np.testing.assert_array_equal(other.init_with_output(KEY, raw)[0], same)


def test_every_setting_changes_the_network():
    obs = example(5, 5, 7)

    def shapes(eyes: GlyphEncoder) -> Any:
        return jax.tree.map(lambda x: x.shape, jax.eval_shape(Glyphs(eyes, 7).init, KEY, obs))

    base = GlyphEncoder(embedding=2, layers=2, channels=4, last=2, crop=3, stats=3, hidden=4, features=5)
    changes = {field.name: getattr(base, field.name) + 1 for field in fields(base)} | {"whole": False, "crop": 5}
    for name, value in changes.items():
        assert shapes(replace(base, **{name: value})) != shapes(base), name
    for name in ("layers", "hidden", "crop"):
        assert shapes(replace(base, **{name: 0})) != shapes(base), name


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UserError, match=r"encoder.crop is 4; give an odd number"):
        GlyphEncoder(crop=4)
    with pytest.raises(UserError, match=r"a student needs one of them\."):
        GlyphEncoder(whole=False, crop=0)
    with pytest.raises(UserError, match=r"encoder.layers is -1; give 0 or more\."):
        GlyphEncoder(layers=-1)
    assert set(GlyphEncoder(layers=0).idle()) == {"channels", "last"}
