"""What the file of a study asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutelage.errors import UserError
from tutelage.runs import grid

from .made_studies import ITERATIONS, TEXT, parsed

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))


def test_a_study_is_methods_by_seeds_and_every_setting_can_be_said() -> None:
    plans = parsed().plans
    assert [plan.name for plan in plans] == ["dr/s0", "plr/s0", "dr/s1", "plr/s1"]
    assert [plan.seed for plan in plans] == [0, 0, 1, 1]
    assert all((plan.settings.train.log_every, plan.iterations) == (2, ITERATIONS) for plan in plans)


def test_a_method_and_a_variant_may_have_seeds_of_their_own() -> None:
    text = TEXT + '[method.plr]\nseeds = [1]\n[variant.long]\nmethods = ["plr", "dr"]\ntrain.steps = 400\n'
    assert {plan.name for plan in parsed(text).plans} == {
        "dr/s0",
        "dr/s1",
        "dr-long/s0",
        "dr-long/s1",
        "plr/s1",
        "plr-long/s1",
    }
    more = text + "seeds = [7]\n"
    assert {plan.name for plan in parsed(more).plans} == {"dr/s0", "dr/s1", "dr-long/s7", "plr/s1", "plr-long/s7"}
    with pytest.raises(UserError, match=r"no list of seeds; give at least one, as in seeds = \[0, 1, 2\]"):
        parsed(TEXT + '[method.plr]\nseeds = ["one"]\n')


def test_a_method_has_settings_of_its_own_and_variants_come_on_top() -> None:
    text = TEXT.replace("192", '"0.2k"') + (
        "[method.plr]\nreplay.staleness = 0.5\ntrain.log_every = 5\n"
        '[variant.stale]\nmethods = ["plr"]\nreplay.staleness = 0.1\n'
        "[variant.long]\ntrain.steps = 400\n"
    )
    plans = {plan.name: plan.settings for plan in parsed(text).plans if plan.seed == 1}
    assert set(plans) == {"dr/s1", "dr-long/s1", "plr/s1", "plr-stale/s1", "plr-long/s1"}
    assert [plans[name].curriculum.replay.staleness for name in ("plr/s1", "plr-stale/s1", "plr-long/s1")] == [
        0.5,
        0.1,
        0.5,
    ]
    assert [plans[name].train.log_every for name in ("dr/s1", "plr-stale/s1")] == [2, 5]
    assert [plans[name].train.steps for name in ("dr/s1", "dr-long/s1")] == [200, 400]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_studies_that_come_with_tutelage_are_valid(path: Path) -> None:
    plans = grid.read(path).plans
    assert len(plans) == len({plan.name for plan in plans}) > 1
    assert len({plan.settings.environment for plan in plans}) == 1


def test_the_studies_of_the_thesis_have_its_methods_blocks_and_seeds() -> None:
    studies = {path.stem: grid.read(path).plans for path in STUDIES}
    assert set(studies) >= {"maze-dcd", "maze-accel", "maze-editors", "maze-fast", "maze-laptop", "maze-small"}
    dcd, accel = studies["maze-dcd"], studies["maze-accel"]
    methods = {"dr", "minimax", "paired", "repaired", "plr", "robust-plr", "robust-plr-500M"}
    assert ({plan.group for plan in dcd}, {plan.seed for plan in dcd}) == (methods, set(range(10)))
    assert {plan.settings.env.blocks for plan in dcd} == {25}
    assert {plan.settings.train.steps for plan in dcd} == {250_000_000, 500_000_000}
    methods = {"dr", "robust-plr", "accel", "accel-random-start", "paired", "minimax"}
    assert ({plan.group for plan in accel}, {plan.seed for plan in accel}) == (methods, set(range(5)))
    assert {plan.settings.env.blocks for plan in accel} == {60}
    assert {plan.settings.curriculum.evolve.start for plan in accel if plan.settings.method == "accel"} == {
        "easy",
        "random",
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 192", "steps = ", "study.toml is not valid TOML: Invalid value (at line 5, column 9)"),
        ("steps = 192", "step = 192", "In study.toml: There is no key of a study called 'step'. Did you mean steps"),
        ('"plr"', '"prl"', "In study.toml: There is no method called 'prl'. Did you mean plr"),
        ('"matrix"', '"matrx"', "In study.toml: There is no environment called 'matrx'. Did you mean matrix?"),
        ('environment = "matrix"', "", 'study.toml does not give its environment; add a line, as in environment = "'),
        ("steps = 192", 'preset = "fast"', "In study.toml: There is no preset of matrix called 'fast'."),
        ("steps = 192", "preset = 1", "preset is 1 in study.toml; give a name in quotes."),
        ("seeds = [0, 1]", "", "study.toml has no list of seeds; give at least one, as in seeds = [0, 1, 2]."),
        ("seeds = [0, 1]", "seeds = []", "study.toml has no list of seeds; give at least one"),
        ("seeds = [0, 1]", "seeds = 3", "study.toml has no list of seeds; give at least one"),
        ("seeds = [0, 1]", "seeds = [0, -1]", "In study.toml, dr: train.seed is -1; give 0 or more."),
        (
            "seeds = [0, 1]",
            "seeds = [0, 0]",
            "study.toml asks for dr/s0 twice; name every method, variant and seed once",
        ),
        ('"plr"]', '"dr"]', "study.toml asks for dr/s0 twice"),
        (
            "train.levels = 4",
            "replay.capacity = 4",
            "sets replay.capacity for dr, and dr has no such setting; plr has it, so put it under [method.plr].",
        ),
        ("train.levels = 4", "train.level = 4", "In study.toml, dr: There is no setting called 'train.level'."),
        ("train.levels = 4", "train.levels = 0", "In study.toml, dr: train.levels is 0; give a number greater than 0."),
        ("train.levels = 4", "train.levels = [[4]]", "train.levels is [4] in study.toml; give text, a number, true or"),
        ("train.levels = 4", "train.seed = 4", "[settings] of study.toml gives train.seed; seeds = [...] says which"),
        ("train.levels = 4", "train.steps = 4", "study.toml gives both steps and train.steps; give one of them."),
        (
            "train.levels = 4",
            "train.log_every = 4",
            "[settings] of study.toml gives train.log_every twice; give it once",
        ),
        ("[settings]", "[method.accel]", "In study.toml: There is no method of this study called 'accel'."),
        ("[settings]", '[variant."a b"]', "The variant 'a b' in study.toml names a folder; use letters, digits,"),
        ("[settings]", '[variant.a]\nmethods = ["accel"]', "There is no method of this study called 'accel'."),
        (
            "[settings]",
            "[variant.same]\n[settings]",
            "dr-same/s0 and dr/s0 are the same run in study.toml; a variant has",
        ),
        (
            "[settings]",
            "[method]\ndr = 1\n[settings]",
            "method in study.toml has to be sections with a name each; write",
        ),
        ("[settings]", "[[settings]]", "settings in study.toml has to be a section; write [settings]."),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(UserError) as refusal:
        parsed(TEXT.replace(old, new, 1))
    assert message in str(refusal.value)


def test_a_list_of_values_is_a_variant_for_each() -> None:
    text = """
environment = "maze"
preset = "small"
methods = ["dr", "plr"]
seeds = [0, 1]

[method.plr]
replay.temperature = [0.1, 0.3]
replay.score = ["pvl", "maxmc"]

[variant.wide]
network.width = [16, 32]
methods = ["dr"]
"""
    plans = {plan.name: plan.settings for plan in grid.parse(text, "s.toml").plans}
    assert len(plans) == 2 * (1 + 4 + 2)
    chosen = plans["plr-temperature-0.3-score-maxmc/s1"]
    assert (chosen.curriculum.replay.temperature, chosen.curriculum.replay.score) == (0.3, "maxmc")
    assert plans["dr-wide-width-16/s0"].network.width == 16
    assert "dr/s0" in plans
    same = text.replace("[0.1, 0.3]", "[0.1, 0.1]")
    with pytest.raises(UserError, match="of a list every value is a variant, so give each once"):
        grid.parse(same, "s.toml")
    both = text.replace('replay.score = ["pvl", "maxmc"]', "train.levels = [128]").replace(
        "0.3]", "0.3]\nreplay.rate = [0.5]"
    )
    names = {plan.group for plan in grid.parse(both, "s.toml").plans}
    assert "plr-temperature-0.1-rate-0.5-levels-128" in names
