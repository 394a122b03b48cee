"""Levels as text and pictures, suites, the student's eyes, settings and presets."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.config import idle
from tutelage.envs.base import observation_spec
from tutelage.envs.minigrid.domain import build, eyes_of
from tutelage.envs.minigrid.env import STEPS
from tutelage.envs.minigrid.level import to_text
from tutelage.envs.minigrid.network import GridEncoder, surroundings
from tutelage.envs.minigrid.settings import PRESETS, MiniGridEncoderSettings, MiniGridSettings
from tutelage.errors import UserError

KEY = jax.random.key(0)
TASKS = ("multiroom", "omg-easy", "omg-medium")


@pytest.fixture(scope="module", params=TASKS)
def domain(request) -> Any:
    return build(MiniGridSettings(request.param))


@pytest.fixture(scope="module")
def levels(domain) -> list[Any]:
    batch = jax.device_get(jax.jit(jax.vmap(domain.levels.sample))(jax.random.split(KEY, 12)))
    return [jax.tree.map(lambda x, i=i: x[i], batch) for i in range(12)]


# --- text

SMALL = "\n".join([". " * 13] * 6 + [". . > . . Dr . G . . . . ."] + [". " * 13] * 6)


def read(text: str, task: str = "multiroom") -> Any:
    viewer = build(MiniGridSettings(task)).viewer
    assert viewer is not None
    assert viewer.parse is not None
    return viewer.parse(text)


def test_every_level_is_read_back_from_its_text(domain, levels):
    for level in levels:
        jax.tree.map(np.testing.assert_array_equal, domain.viewer.parse(domain.viewer.text(level)), level)


def test_an_empty_room_to_draw_into(domain):
    assert domain.viewer is not None
    ((name, draw),) = domain.viewer.generators
    assert name == "empty"
    texts = {domain.viewer.text(jax.device_get(jax.jit(draw)(jax.random.key(seed)))) for seed in range(9)}
    assert len(texts) == 9
    for text in texts:
        level = domain.viewer.parse(text)
        words = Counter(text.split())
        side = level.cells.shape[0]
        assert (words["#"], words["."]) == (4 * (side - 1), (side - 2) ** 2 - 2)
        assert domain.measured(level)["solvable"] == 1


def test_a_person_may_write_a_level():
    level = read(SMALL)
    assert level.start.tolist() == [2, 6]
    assert int(level.direction) == 0
    assert level.cells[5, 6].tolist() == [4, 0, 1]
    assert level.cells[7, 6].tolist() == [8, 1, 0]
    assert read(to_text(level)).cells.tolist() == level.cells.tolist()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Dr", "Dz", "'Dz' in row 7, column 6 of the level is not a cell"),
        ("Dr", "Drr", "'Drr' in row 7, column 6 of the level is not a cell"),
        ("Dr", "Q", "'Q' in row 7, column 6 of the level is not a cell"),
        ("Dr", "Xe", ""),
        ("Dr", "Xep", ""),
        (">", ".", "The level has 0 agents; it needs exactly one"),
        ("Dr", "<", "The level has 2 agents, row 7 column 3, row 7 column 6; it needs exactly one"),
        ("G", ".", r"The level has 0 goals \('G'\); it needs exactly one"),
        ("Dr", "Bb", "The level has 1 blue balls, which are worth nothing in this task; leave them out"),
        ("Dr", "", "Row 7 of the level has 12 cells, and this task has 13"),
    ],
)
def test_what_is_wrong_with_a_level_is_said(old, new, sentence):
    text = SMALL.replace(old, new)
    if not sentence:
        read(text)
        return
    with pytest.raises(UserError, match=sentence):
        read(text)


def test_levels_of_other_tasks_are_refused():
    with pytest.raises(UserError, match="The level has 13 rows, and this task has 19; draw a row on every line"):
        read(SMALL, "omg-easy")


# --- pictures


def test_things_look_different():
    viewer = build(MiniGridSettings("multiroom")).viewer
    assert viewer is not None
    words = ["Dr", "Or", "Lr", "Kr", "Br", "Xr", "Xrg", ".", "#", "Db", "Xrp"]
    pictures = [viewer.picture(read(SMALL.replace("Dr", word))) for word in words]
    assert len({picture.tobytes() for picture in pictures}) == len(words)
    assert len({picture.shape for picture in pictures}) == 1


def test_what_is_carried_is_drawn():
    domain = build(MiniGridSettings("multiroom"))
    assert domain.viewer is not None
    assert domain.viewer.frames is not None
    level = read(SMALL.replace("> . . Dr", "> Kb . Dr"))
    prepared = domain.env.prepare(level)
    first, _ = domain.env.reset(KEY, prepared)
    second, _ = domain.env.step(KEY, first, np.int32(3), prepared)
    states = jax.tree.map(lambda *leaves: np.stack(leaves), first, second)
    before, after = domain.viewer.frames(level, states)
    cell = before.shape[0] // 13
    own = (slice(6 * cell, 7 * cell), slice(2 * cell, 3 * cell))
    assert (before[own] != after[own]).any()


# --- suites


def test_suites_are_fresh_levels_and_every_difficulty(domain):
    count = {80: 4, 392: 3, 784: 6}[domain.rules.limit]
    (fresh,) = domain.suites["fresh"].tasks
    assert fresh.max_steps == domain.rules.limit
    assert len(domain.suites["difficulties"].tasks) == count
    single = domain.suites["difficulties"].tasks[-1]
    assert domain.suites[single.name].tasks == (single,)


def test_students_of_easy_mazes_can_be_tested_on_all_six():
    domain = build(MiniGridSettings("omg-easy"))
    tasks = domain.suites["all-difficulties"].tasks
    assert [task.name for task in tasks] == ["1Dl", "1Dlh", "1Dlhb", "2Dl", "2Dlh", "2Dlhb"]
    assert [task.max_steps for task in tasks] == [392] * 3 + [784] * 3
    assert len({task.env for task in tasks}) == 1
    level = jax.jit(tasks[-1].sample)(KEY)
    assert int(jax.jit(domain.env.prepare)(level).limit) == 784


# --- the optimum


def test_the_best_return_of_rooms_is_known_and_that_of_mazes_is_not():
    domain = build(MiniGridSettings("multiroom"))
    assert domain.rules.optimum is not None
    sample, optimum = domain.levels.sample, domain.rules.optimum
    best = np.asarray(jax.jit(jax.vmap(lambda key: optimum(sample(key))))(jax.random.split(KEY, 2000)))
    assert best.mean() == pytest.approx(0.852, abs=0.008)  # as measured in MiniGrid
    assert build(MiniGridSettings("omg-easy")).rules.optimum is None


# --- the student


@pytest.mark.parametrize(("preset", "parameters"), [("thesis-multiroom", 72_600), ("thesis-omg-easy", 412_600)])
def test_students_have_the_size_of_the_published_ones(preset, parameters):
    settings = tutelage.preset("minigrid", "plr", preset)
    domain = tutelage.build_domain(settings)
    agent = tutelage.build_agent(settings, domain)
    obs = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, KEY))
    state = jax.eval_shape(agent.init, KEY, obs)
    assert sum(leaf.size for leaf in jax.tree.leaves(state.params)) == parameters


def test_a_convolution_is_the_one_of_the_textbook():
    image = np.random.default_rng(0).integers(0, 11, (2, 13, 13, 3)).astype(np.uint8)
    module = GridEncoder(32, pool=False, one_hot=False)
    out, variables = module.init_with_output(KEY, image)
    x = image.astype(np.float32)
    for i in range(3):
        layer = variables["params"][f"convolution_{i}"]
        x = jax.lax.conv_general_dilated(
            x, layer["kernel"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = np.maximum(x + layer["bias"], 0)
    np.testing.assert_allclose(out, x.reshape(2, -1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("direction", range(4))
def test_a_crop_is_turned_the_way_the_agent_faces(direction):
    cells = np.random.default_rng(direction).integers(1, 9, (13, 11, 3)).astype(np.uint8)
    ahead, right = STEPS[direction], STEPS[(direction + 1) % 4]
    for at in ((6, 5), (1, 0), (12, 10)):
        image = cells.copy()
        image[at] = (10, 0, direction)
        crop = np.asarray(surroundings(image[None], 5))[0]
        for row in range(5):
            for column in range(5):
                x, y = at + (2 - row) * ahead + (column - 2) * right
                inside = 0 <= x < 13 and 0 <= y < 11
                np.testing.assert_array_equal(crop[row, column], image[x, y] if inside else 0)


def test_every_setting_of_the_encoder_changes_the_network():
    def shapes(eyes: MiniGridEncoderSettings, channels: int = 3) -> Any:
        module = eyes_of(eyes)
        image = np.zeros((1, 13, 13, channels), np.uint8)
        out, variables = jax.eval_shape(lambda: module.init_with_output(KEY, image))
        return out.shape, [leaf.shape for leaf in jax.tree.leaves(variables)]

    base, near = MiniGridEncoderSettings(), MiniGridEncoderSettings(crop=9)
    of_grids = {"filters": 8, "pool": False, "one_hot": True}
    of_crops = {"crop": 7, "embedding": 3, "features": 32}
    assert of_grids.keys() | of_crops.keys() == {field.name for field in fields(base)}
    for eyes, changes in ((base, of_grids), (near, of_crops)):
        for name, value in changes.items():
            assert shapes(replace(eyes, **{name: value})) != shapes(eyes)
    assert shapes(near)[0] == (1, 64)
    assert shapes(base, 5) != shapes(base)
    assert shapes(near, 5) != shapes(near)
    assert shapes(replace(base, one_hot=True), 5)[1][1] == (2, 2, 11 + 6 + 4 + 11 + 6, 16)


# --- settings and presets


def test_settings_that_make_no_sense_are_refused():
    settings = tutelage.preset("minigrid", "plr")
    with pytest.raises(UserError, match="env.task"):
        tutelage.override(settings, {"env.task": "omg-hard"})
    with pytest.raises(UserError, match=r"encoder.filters is 0; give at least 1\."):
        tutelage.override(settings, {"encoder.filters": "0"})
    with pytest.raises(UserError, match=r"encoder.crop is 8; give an odd number of cells"):
        tutelage.override(settings, {"encoder.crop": "8"})
    with pytest.raises(UserError, match=r"encoder.features is not read, because encoder.crop is 0; leave it out"):
        tutelage.override(settings, {"encoder.features": "8"})
    with pytest.raises(UserError, match="env.lost_keys is not read, because env.task is multiroom; leave it out"):
        tutelage.override(settings, {"env.lost_keys": "false"})


def test_lost_keys_are_a_matter_of_the_hardest_mazes():
    assert "env.lost_keys" in idle(tutelage.preset("minigrid", "dr", "thesis-omg-easy"))
    assert "env.lost_keys" not in idle(tutelage.preset("minigrid", "dr", "thesis-omg-medium"))


def test_presets_have_the_values_of_the_table():
    for name, size in {"thesis-multiroom": 4000, "thesis-omg-easy": 3000, "thesis-omg-medium": 6000}.items():
        settings = tutelage.preset("minigrid", "plr", name)
        ppo, train, replay = settings.ppo, settings.train, settings.curriculum.replay
        assert (ppo.discount, ppo.gae_lambda, ppo.epochs, ppo.minibatches) == (0.999, 0.95, 4, 8)
        assert (ppo.clip, ppo.learning_rate, ppo.adam_epsilon) == (0.2, 7e-4, 1e-5)
        assert (ppo.normalise_returns, ppo.entropy_coef, ppo.value_coef) == (True, 0.01, 0.5)
        assert (ppo.return_discount, ppo.reward_clip) == (0.99, 10.0)
        assert (train.levels, train.rollout, train.training_set) == (64, 256, size)
        assert (replay.prioritisation, replay.temperature, replay.staleness) == ("rank", 0.1, 0.3)
        assert (replay.score, replay.schedule, replay.capacity) == ("l1-value-loss", "proportional", size)
    for name, rate in {"full-multiroom": 0.5, "full-omg-easy": 0.95}.items():
        settings = tutelage.preset("minigrid", "plr", name)
        assert (settings.train.training_set, settings.curriculum.replay.rate) == (0, rate)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built_by_the_methods_that_only_draw_levels(name):
    for method in ("dr", "plr", "robust-plr", "tscl", "sfl"):
        assert tutelage.build(tutelage.preset("minigrid", method, name)).students == 1
    with pytest.raises(UserError, match="This environment has no "):
        tutelage.build(tutelage.preset("minigrid", "accel", name))
