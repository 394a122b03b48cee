"""Drawing, editing and measuring a walker's levels."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.envs.walker.level import (
    DIFFICULTIES,
    PAIRS,
    PARAMETERS,
    PIT_HIGH,
    PLAIN,
    ROUGHNESS,
    STAIR_STEPS,
    STUMP_HIGH,
    Level,
    check,
    difficulty,
    from_text,
    make,
    read,
    to_text,
)
from tutelage.envs.walker.space import WalkerSpace
from tutelage.errors import UserError

SPACES = {8: WalkerSpace(), 5: WalkerSpace(stairs=False)}
SAMPLE = {n: jax.jit(space.sample) for n, space in SPACES.items()}
EASY = {n: jax.jit(space.easy) for n, space in SPACES.items()}
EDIT = {n: jax.jit(space.edit, static_argnums=2) for n, space in SPACES.items()}
SIZES, SEEDS = st.sampled_from([8, 5]), st.integers(0, 2**31 - 1)


def many(function, *arguments, number=2000):
    return jax.jit(jax.vmap(function))(jax.random.split(jax.random.key(0), number), *arguments)


def well_formed(level, size):
    level = jax.tree.map(np.asarray, level)
    check(level)
    assert level.parameters.dtype == np.float32
    assert level.seed.dtype == np.int32
    assert not level.hardcore
    if size == 5:
        assert level.parameters[5:].tolist() == [0, 0, 1]
    return level


@given(SIZES, SEEDS)
def test_every_level_is_well_formed(size, seed):
    key = jax.random.key(seed)
    level = well_formed(SAMPLE[size](key), size)
    well_formed(EASY[size](key), size)
    well_formed(EDIT[size](key, level, 3), size)
    assert read(level) == read(level._asdict())


def test_random_levels_fill_the_box():
    levels = many(SPACES[8].sample)
    values = np.asarray(levels.parameters)
    for parameter, column in zip(PARAMETERS, values.T, strict=True):
        span = parameter.high - parameter.low
        assert column.min() < parameter.low + 0.05 * span
        assert column.max() > parameter.high - 0.05 * span
    assert values[:, ROUGHNESS].mean() == pytest.approx(5, abs=0.3)
    for low, high in PAIRS:  # two numbers in order: a third and two thirds of the way
        assert values[:, low].mean() == pytest.approx(PARAMETERS[high].high / 3, rel=0.1)
        assert values[:, high].mean() == pytest.approx(PARAMETERS[high].high * 2 / 3, rel=0.1)
    assert set(values[:, STAIR_STEPS]) == set(range(1, 10))
    assert len(np.unique(levels.seed)) == len(values)


def test_easy_levels_are_the_thesiss():
    values = np.asarray(many(SPACES[8].easy).parameters)
    assert np.unique(values[:, 1:], axis=0).tolist() == [pytest.approx([0, 0.8, 0, 0.4, 0, 0.4, 1])]
    assert values[:, ROUGHNESS].max() == pytest.approx(0.6, abs=0.01)
    assert values[:, ROUGHNESS].mean() == pytest.approx(0.3, abs=0.02)


def test_an_edit_moves_one_parameter_by_its_size_and_draws_a_new_seed():
    level = make((5, 2, 6, 1, 3, 1, 4, 5), seed=7)
    for size, space in SPACES.items():
        edited = many(lambda key, space=space: space.edit(key, level, 1))
        moved = np.asarray(edited.parameters)[:, :size] - level.parameters[:size]
        assert ((moved != 0).sum(1) == 1).all()
        sizes = np.abs(moved).max(0)
        assert sizes[1:] == pytest.approx([0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 1][: size - 1], abs=1e-5)
        assert 0.55 < sizes[ROUGHNESS] <= 0.6
        counts = (moved != 0).sum(0)
        assert counts == pytest.approx(np.full(size, 2000 / size), rel=0.25)
        assert (moved > 0).any(1).mean() == pytest.approx(0.5, abs=0.05)
        assert (edited.seed != 7).all()


def test_edits_stop_at_the_border_one_by_one():
    top = make([p.high for p in PARAMETERS])
    edited = np.asarray(many(lambda key: SPACES[8].edit(key, top, 3), number=200).parameters)
    assert (edited <= top.parameters).all()
    assert (edited == top.parameters).all(1).any()
    with pytest.raises(UserError, match="edits is 0"):
        SPACES[8].edit(jax.random.key(0), top, 0)


@given(SIZES, SEEDS, st.data())
def test_a_point_of_the_box_is_a_level(size, seed, data):
    view = SPACES[size].vectors
    assert len(view.box.low) == len(view.box.high) == size
    point = [data.draw(st.floats(a, b, width=32)) for a, b in zip(*view.box, strict=True)]
    level = well_formed(view.level(jax.random.key(seed), jnp.array(point)), size)
    for low, high in PAIRS:
        if high < size:
            expected = sorted(np.array(point, np.float32)[[low, high]])
            assert level.parameters[[low, high]] == pytest.approx(expected)
    assert level.parameters[ROUGHNESS] == np.float32(point[ROUGHNESS])


def test_poets_classes_count_the_thresholds():
    level = make(PLAIN)
    expected = {(4.4, 5.9, 2.3): 0, (4.5, 5.9, 2.3): 1, (4.5, 6.0, 2.3): 2, (4.5, 6.0, 2.4): 3, (0, 9, 5): 2}
    for (rough, pit, stump), reached in expected.items():
        values = np.array(PLAIN, np.float32)
        values[[ROUGHNESS, PIT_HIGH, STUMP_HIGH]] = rough, pit, stump
        assert difficulty(level._replace(parameters=values)) == reached
    # Reached by edits, in single precision.
    height = np.float32(0.4)
    for _ in range(10):
        height += np.float32(0.2)
    assert difficulty(level._replace(parameters=np.array([0, 0, 0, 0, height, 0, 0, 1], np.float32))) == 1


def test_metrics_name_every_parameter_and_share_out_the_classes():
    level = make((5, 0, 7, 0, 1, 0, 1, 3))
    metrics = SPACES[8].metrics(level)
    assert list(metrics) == [*(p.name for p in PARAMETERS), *DIFFICULTIES]
    assert float(metrics["pit-gap-high"]) == 7
    assert [float(metrics[name]) for name in DIFFICULTIES] == [0, 0, 1, 0]
    assert list(SPACES[5].metrics(level)) == [*(p.name for p in PARAMETERS[:5]), *DIFFICULTIES]


TEXTS = {
    "roughness 1.25, pits 0 to 0.8, no stumps (0 to 0.1), stairs 1 to 2 of 3 steps, seed 7": make(
        (1.25, 0, 0.8, 0, 0.1, 1, 2, 3), seed=7
    ),
    "roughness 1, no pits, no stumps, no stairs (0 to 0 of 4 steps), seed 3": make((1, 0, 0, 0, 0, 0, 0, 4), seed=3),
    "roughness 1, no pits, no stumps, no stairs, seed 3": make(seed=3),
    "hardcore, seed 3": make(seed=3, hardcore=True),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_level_as_text(text):
    assert to_text(TEXTS[text]) == text
    jax.tree.map(np.testing.assert_array_equal, from_text(text), TEXTS[text])


@given(SIZES, SEEDS)
def test_a_text_has_every_digit(size, seed):
    level = EDIT[size](jax.random.key(seed), SAMPLE[size](jax.random.key(seed)), 3)
    jax.tree.map(np.testing.assert_array_equal, from_text(to_text(level)), level)


def test_people_write_with_spaces_and_lines():
    written = " roughness  1.0,\n no pits, no stumps,no stairs, seed 3\n"
    assert to_text(from_text(written)) == "roughness 1, no pits, no stumps, no stairs, seed 3"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "does not end with a seed"),
        ("roughness 1, no pits, no stumps, no stairs", "does not end with a seed"),
        ("hardcore, seed x", "does not end with a seed"),
        ("roughness 1, seed 3", "too few parts or too many"),
        ("roughness 1, no pits, no stumps, no stairs, no stairs, seed 3", "too few parts or too many"),
        ("roughness 1, pits 2, no stumps, no stairs, seed 3", "'pits 2' cannot be read; write levels as in 'roughness"),
        ("roughness 1, no stumps, no pits, no stairs, seed 3", "'no stumps' cannot be read"),
        ("roughness 1, no pits, no stumps, stairs 1 to 2, seed 3", "'stairs 1 to 2' cannot be read"),
        ("roughness 1, no pits (1 to 2), no stumps, no stairs, seed 3", "'no pits \\(1 to 2\\)' is not none"),
        ("roughness 11, no pits, no stumps, no stairs, seed 3", "roughness is 11; give 0 to 10"),
        ("roughness 1, pits 3 to 2, no stumps, no stairs, seed 3", "give the smaller number first"),
        ("roughness 1, no pits, no stumps, stairs 1 to 2 of 2.5 steps, seed 3", "stair-steps is 2.5"),
        (f"roughness 1, no pits, no stumps, no stairs, seed {2**70}", "give a whole number from 0 to 2147483647"),
    ],
)
def test_what_is_no_level_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(text)


def test_no_type_is_weak():
    key, space = jax.random.key(0), SPACES[5]
    level = jax.eval_shape(space.sample, key)
    made = [level, jax.eval_shape(space.easy, key), jax.eval_shape(lambda k, x: space.edit(k, x, 2), key, level)]
    assert made[0] == made[1] == made[2]
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((made, jax.eval_shape(space.metrics, level))))


def test_levels_are_trees_of_arrays_by_name():
    leaves = jax.tree_util.tree_leaves_with_path(make())
    assert [path[0].name for path, _ in leaves] == list(Level._fields)
