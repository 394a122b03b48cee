from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tutelage.config import describe, from_toml, idle, names, override, to_toml
from tutelage.envs.maze.settings import MazeDesignEncoderSettings, MazeEncoderSettings, MazeSettings
from tutelage.errors import UserError, require
from tutelage.methods.accel import AccelSettings
from tutelage.settings import (
    NetworkSettings,
    NoSettings,
    PPOSettings,
    RegulariserSettings,
    Settings,
    TeacherSettings,
    TrainSettings,
    option,
)

ACCEL = Settings(
    "maze",
    "accel",
    MazeSettings(),
    MazeEncoderSettings(),
    NetworkSettings(),
    PPOSettings(),
    AccelSettings(teacher=TeacherSettings(encoder=MazeDesignEncoderSettings())),
    TrainSettings(),
)
DR = replace(ACCEL, method="dr", curriculum=NoSettings())


@dataclass(frozen=True)
class Inner:
    text: str = option("a", "any text")
    whole: int = option(1, "a count")
    real: float = option(0.5, "a measure")
    flag: bool = option(False, "a switch")
    choice: Literal["one", "two-three"] = option("one", "a choice")


@dataclass(frozen=True)
class Outer:
    low: int = option(0, "below high")
    inner: Inner = field(default_factory=Inner)
    high: int = option(1, "above low")
    other: Any = field(default_factory=Inner)

    def __post_init__(self) -> None:
        require(self.low < self.high, f"low is {self.low}, not below high, which is {self.high}.")


def inners() -> st.SearchStrategy[Inner]:
    kinds = {
        str: st.text(),
        int: st.integers(-10_000_000, 10_000_000),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
    }
    hints = get_type_hints(Inner)
    return st.builds(Inner, **{n: kinds[k] if k in kinds else st.sampled_from(get_args(k)) for n, k in hints.items()})


outers = st.builds(Outer, low=st.integers(-100, 0), high=st.integers(1, 100), inner=inners(), other=inners())


@examples(max_examples=50, deadline=None)
@given(outers)
def test_a_file_gives_back_every_field(settings: Outer) -> None:
    assert repr(from_toml(to_toml(settings), Outer())) == repr(settings)  # repr tells -0.0 from 0.0


@examples(max_examples=50, deadline=None)
@given(outers)
def test_what_describe_says_can_be_given_as_overrides(settings: Outer) -> None:
    given = {name: default for name, _, default, _ in describe(settings)}
    assert repr(override(Outer(), given)) == repr(settings)


@pytest.mark.parametrize("settings", [ACCEL, DR])
def test_real_settings_round_trip(settings: Settings) -> None:
    assert from_toml(to_toml(settings), settings) == settings


def test_the_file_reads_well() -> None:
    lines = to_toml(ACCEL).splitlines()
    assert lines[:3] == ['environment = "maze"', 'method = "accel"', ""]
    assert "[replay]" in lines
    assert "size = 13                 # cells a side inside the border" in lines
    assert any(line.startswith('core = "lstm" ') and line.endswith("(lstm, gru, none, separate)") for line in lines)
    assert "[encoder]" in lines
    assert "[teacher.encoder]" in lines


def test_a_missing_key_keeps_the_templates_value() -> None:
    settings = from_toml("[curriculum.replay]\nrate = 1\n[train]\nsteps = 1e6", ACCEL)
    assert settings == override(ACCEL, {"replay.rate": "1", "train.steps": "1M"})
    assert type(settings.curriculum.replay.rate) is float
    assert type(settings.train.steps) is int


def test_an_empty_section_may_be_named() -> None:
    assert from_toml("[curriculum]", DR) == DR


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[ppo]\nepoch = 3", "There is no setting called 'ppo.epoch'. Did you mean ppo.epochs"),
        ("seed = 3", "There is no setting called 'seed'. Did you mean train.seed?"),
        ("[pppo]", "There is no section called 'pppo'. Did you mean ppo?"),
        ("[curriculum.evolv]\nrate = 1", "Did you mean curriculum.evolve"),
        ("ppo = 3", "ppo is 3 in my.toml, but it is a section; write [ppo] instead."),
        ("[ppo.clip]", "ppo.clip is {} in my.toml; give a finite number."),
        ('[ppo]\nclip = "a"', 'ppo.clip is "a" in my.toml; give a finite number.'),
        ("[ppo]\nclip = inf", "ppo.clip is inf in my.toml; give a finite number."),
        ("[ppo]\nclip = true", "ppo.clip is true in my.toml; give a finite number."),
        (f"[ppo]\nclip = 1{'0' * 400}", "give a finite number."),
        ("[ppo]\nepochs = 1.5", "ppo.epochs is 1.5 in my.toml; give a whole number"),
        ("[ppo]\nepochs = nan", "ppo.epochs is nan in my.toml; give a whole number"),
        ("[ppo]\nepochs = false", "ppo.epochs is false in my.toml; give a whole number"),
        ("[ppo]\nanneal = 1", "ppo.anneal is 1 in my.toml; give true or false."),
        ("[train]\nsuite = 3", "train.suite is 3 in my.toml; give text in quotes."),
        ('[network]\ncore = "x"', 'network.core is "x" in my.toml; give one of lstm, gru, none, separate.'),
        ("[network]\ncore = [1]", "network.core is [1] in my.toml; give one of lstm, gru, none, separate."),
        (
            "[ppo]\nclip 3",
            "my.toml is not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 6)",
        ),
        ("[ppo]\ndiscount = 2", "ppo.discount is 2.0; it is a probability, so give a number from 0 to 1."),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        from_toml(text, ACCEL, "my.toml")
    assert sentence in str(caught.value)


def test_names_are_found_without_a_template() -> None:
    assert names(to_toml(ACCEL)) == ("maze", "accel")
    with pytest.raises(UserError, match="config.toml does not give its method"):
        names('environment = "maze"')
    with pytest.raises(UserError, match="x is not valid TOML.*line 1"):
        names("a b", "x")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("train.steps", "20M", 20_000_000),
        ("train.steps", "1.5k", 1500),
        ("train.steps", "0.29m", 290_000),
        ("train.steps", "2B", 2_000_000_000),
        ("train.steps", "2_000", 2000),
        ("train.steps", " 1e6 ", 1_000_000),
        ("train.steps", str(2**63 - 1), 2**63 - 1),
        ("ppo.learning-rate", "3e-4", 3e-4),
        ("ppo.clip", "1", 1.0),
        *[("ppo.anneal", word, True) for word in ("true", "YES", "1")],
        *[("ppo.value_clip", word, False) for word in ("false", "no", "0")],
        ("network.core", "gru", "gru"),
        ("train.suite", "mine", "mine"),
        ("env.max-steps", "9", 9),
        ("replay.rate", "0.25", 0.25),
        ("curriculum.evolve.rate", "0.25", 0.25),
    ],
)
def test_overrides_are_read_by_their_type(name: str, text: str, value: Any) -> None:
    settings: Any = override(ACCEL, {name: text})
    full = name if hasattr(settings, name.split(".")[0]) else f"curriculum.{name}"
    for part in full.replace("-", "_").split("."):
        settings = getattr(settings, part)
    assert settings == value
    assert type(settings) is type(value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ppo.epoch": "3"}, "There is no setting called 'ppo.epoch'. Did you mean ppo.epochs"),
        ({"learning-rate": "3"}, "Did you mean ppo.learning_rate"),
        ({"rate": "1"}, "Available: evolve.rate, replay.rate."),
        ({"ppo": "1"}, "There is no setting called 'ppo'."),
        ({"train.steps": "1.5"}, "train.steps is '1.5'; give a whole number"),
        ({"train.steps": "k"}, "train.steps is 'k'; give a whole number"),
        ({"train.steps": ""}, "train.steps is ''; give a whole number"),
        ({"train.steps": "nan"}, "train.steps is 'nan'; give a whole number"),
        ({"train.steps": "1e999999999"}, "train.steps is '1e999999999'; give a whole number"),
        ({"ppo.clip": "much"}, "ppo.clip is 'much'; give a finite number."),
        ({"ppo.clip": "inf"}, "ppo.clip is 'inf'; give a finite number."),
        ({"ppo.anneal": "maybe"}, "ppo.anneal is 'maybe'; give true or false."),
        ({"network.core": "rnn"}, 'network.core is "rnn"; give one of lstm, gru, none, separate.'),
        ({"method": "dr"}, "'method' cannot be overridden with 'dr'"),
        ({"replay.rate": "0", "curriculum.replay.rate": "1"}, "replay.rate is given twice"),
        ({"replay.capacity": "31"}, "replay.capacity is 31, smaller than the 32 levels of one batch"),
    ],
)
def test_a_wrong_override_is_refused_with_a_sentence(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        override(ACCEL, changes)
    assert sentence in str(caught.value)


def test_checks_see_all_overrides_together() -> None:
    assert override(Outer(), {"low": "5", "high": "6"}) == Outer(low=5, high=6)
    assert override(Outer(low=5, high=6), {"high": "1", "low": "0"}) == Outer()
    with pytest.raises(UserError, match="low is 5, not below high, which is 1"):
        override(Outer(), {"low": "5"})


def test_checks_of_other_peoples_settings_are_sentences_too() -> None:
    @dataclass(frozen=True)
    class Foreign:
        size: int = 1

        def __post_init__(self) -> None:
            if self.size > 1:
                raise ValueError("too large")

    with pytest.raises(UserError, match="too large"):
        override(Foreign(), {"size": "2"})


def test_describe() -> None:
    rows = {name: rest for name, *rest in describe(ACCEL)}
    assert rows["ppo.epochs"] == ["int", "5", "epochs over each rollout"]
    assert rows["network.core"][:2] == ["lstm | gru | none | separate", "lstm"]
    assert rows["curriculum.replay.rate"][:2] == ["float", "0.8"]
    assert rows["train.steps"][1] == "250_000_000"


@pytest.mark.parametrize(
    ("old", "text", "new", "value"),
    [
        ("network.filters", "4", "encoder.filters", 4),
        ("network.direction", "3", "encoder.direction", 3),
        ("train.coins", "7", "train.shared_seed", 7),
        ("teacher.filters", "9", "curriculum.teacher.encoder.filters", 9),
        ("curriculum.teacher.time", "2", "curriculum.teacher.encoder.time", 2),
        ("evolve.start", "empty", "curriculum.evolve.start", "easy"),
    ],
)
def test_settings_of_earlier_versions_are_understood(old: str, text: str, new: str, value: Any) -> None:
    template = override(ACCEL, {"evolve.editor": "learned"})
    full = old if old.split(".")[0] in ("network", "train", "curriculum") else f"curriculum.{old}"
    section, _, key = full.rpartition(".")
    written = f'"{text}"' if isinstance(value, str) else text
    for settings in (override(template, {old: text}), from_toml(f"[{section}]\n{key} = {written}", template)):
        found: Any = settings
        for part in new.split("."):
            found = getattr(found, part)
        assert found == value


def test_files_of_runs_from_before_a_setting_mean_what_was_done_then() -> None:
    text = to_toml(replace(ACCEL, regulariser=RegulariserSettings("ucb-drac")))
    assert from_toml(text, ACCEL).regulariser.memory == 100
    before = re.sub("memory = 100.*\n", "", text)
    assert from_toml(before, ACCEL).regulariser == RegulariserSettings("ucb-drac", memory=0)
    assert from_toml('[regulariser]\nkind = "ucb-drac"', ACCEL).regulariser.memory == 100, "a person's own file"


@dataclass(frozen=True)
class Choosy:
    """Reads one of two numbers, and a section only when it is asked to."""

    which: Literal["first", "second"] = option("first", "which number is read")
    first: int = option(1, "a number")
    second: int = option(2, "another number")
    deep: bool = option(False, "read the section")
    inner: Inner = field(default_factory=Inner)

    def idle(self) -> dict[str, str]:
        other = {"first": "second", "second": "first"}[self.which]
        return {other: f"which is {self.which}"} | ({} if self.deep else {"inner": "deep is off"})


@dataclass(frozen=True)
class Holder:
    curriculum: Choosy = field(default_factory=Choosy)


def test_a_setting_that_is_not_read_is_refused_hidden_and_kept_in_files() -> None:
    names = {f"curriculum.inner.{field.name}" for field in fields(Inner)}
    assert idle(Holder()) == {"curriculum.second": "which is first"} | dict.fromkeys(names, "deep is off")
    with pytest.raises(UserError, match="^second is not read, because which is first; leave it out.$"):
        override(Holder(), {"second": "3"})
    with pytest.raises(UserError, match="^inner.whole is not read, because deep is off; leave it out.$"):
        override(Holder(), {"inner.whole": "3"})
    shown = {name for name, *_ in describe(Holder(), unread=False)}
    assert shown == {"curriculum.which", "curriculum.first", "curriculum.deep"}
    assert {name for name, *_ in describe(Holder())} == shown | set(idle(Holder()))
    assert from_toml(to_toml(Holder()).replace("second = 2", "second = 3"), Holder()) == Holder(Choosy(second=3))


def test_what_is_read_is_decided_when_all_overrides_are_in() -> None:
    assert override(Holder(), {"second": "3", "which": "second"}) == Holder(Choosy("second", second=3))
    assert override(Holder(), {"deep": "yes", "inner.whole": "3"}).curriculum.inner.whole == 3
    with pytest.raises(UserError, match="first is not read, because which is second"):
        override(Holder(), {"which": "second", "first": "3"})


def test_help_does_not_wait_for_jax() -> None:
    code = "import sys, tutelage.config, tutelage.runs.directory; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
