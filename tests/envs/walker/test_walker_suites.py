"""The terrains that students are tested on."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tutelage.envs.walker.level import DIFFICULTIES, PIT_HIGH, ROUGHNESS, STUMP_HIGH, check, difficulty
from tutelage.envs.walker.simulator import terrain
from tutelage.envs.walker.space import WalkerSpace
from tutelage.envs.walker.suites import TERRAINS, suite, suite_names
from tutelage.errors import UserError

SPACE = WalkerSpace()
ENV = object()


def draw(name, seed=0):
    return jax.tree.map(np.asarray, TERRAINS[name](jax.random.key(seed)))


@pytest.mark.parametrize("name", TERRAINS)
def test_every_terrain_is_a_level_with_a_seed_of_its_own(name):
    levels = [draw(name, seed) for seed in range(3)]
    for level in levels:
        check(level)
    assert len({int(level.seed) for level in levels}) == 3
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), levels[0])
    assert shapes == jax.tree.map(
        lambda x: (x.shape, x.dtype), jax.tree.map(np.asarray, SPACE.sample(jax.random.key(0)))
    )


def test_the_thesiss_terrains():
    assert draw("Stairs").parameters.tolist() == [0, 0, 0, 0, 0, 2, 2, 5]
    assert draw("PitGap").parameters.tolist() == [0, 5, 5, 0, 0, 0, 0, 1]
    assert draw("Stump").parameters.tolist() == [0, 0, 0, 2, 2, 0, 0, 1]
    assert draw("Roughness").parameters.tolist() == [5, 0, 0, 0, 0, 0, 0, 1]
    assert [name for name in TERRAINS if draw(name).hardcore] == ["Hardcore"]
    blocks = {name: len(terrain(draw(name)).blocks) for name in ("Basic", "Hardcore", "Roughness", "Stump")}
    assert blocks["Basic"] == blocks["Roughness"] == 0
    assert blocks["Hardcore"] > 10 > 5 < blocks["Stump"]


def test_extreme_levels_reach_all_of_poets_thresholds():
    levels = jax.vmap(TERRAINS["Extreme"])(jax.random.split(jax.random.key(0), 500))
    assert (difficulty(levels) == DIFFICULTIES.index("extremely-challenging")).all()
    values = np.asarray(levels.parameters)
    for index, low, high in ((ROUGHNESS, 4.5, 8), (PIT_HIGH, 6, 8), (STUMP_HIGH, 2.4, 3)):
        assert values[:, index].min() == pytest.approx(low, abs=0.02)
        assert values[:, index].max() == pytest.approx(high, abs=0.02)


def test_roses_are_pots_of_poet_and_all_but_one_are_extreme():
    reached = {name: int(difficulty(draw(name))) for name in TERRAINS if name.startswith("Rose")}
    assert len(reached) == 6
    assert reached.pop("Rose-3b") == 2
    assert set(reached.values()) == {3}


def test_suites_hold_tasks_of_the_environment_they_are_given():
    thesis = suite("thesis", ENV, SPACE, 500)
    assert [task.name for task in thesis.tasks] == ["Basic", "Hardcore", "Stairs", "PitGap", "Stump", "Roughness"]
    assert all(task.env is ENV and task.max_steps == 500 for task in thesis.tasks)
    assert {name: len(suite(name, ENV, SPACE, 500).tasks) for name in suite_names()} == {
        "thesis": 6,
        "poet": 6,
        "roses": 6,
        "validation": 1,
        "fresh": 1,
    }
    assert suite("Extreme", ENV, SPACE, 500).tasks[0].name == "Extreme"
    check(jax.tree.map(np.asarray, suite("fresh", ENV, SPACE, 500).tasks[0].sample(jax.random.key(0))))
    with pytest.raises(UserError, match="Did you mean roses"):
        suite("rose", ENV, SPACE, 500)
