"""No setting passes that no machine can compute: every whole number has a bound, and memory is counted beforehand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

import tutelage
from tutelage import config
from tutelage.compose import preset
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.errors import UserError
from tutelage.experiment import build
from tutelage.memory import amount, available, require_room
from tutelage.methods.registry import built_in
from tutelage.settings import LARGEST

PAIRS = [(name, method) for name in ENVIRONMENTS for method in built_in()]


def whole(settings: tutelage.Settings) -> list[config.Setting]:
    return [setting for setting in config.settings_of(settings) if setting.kind is int]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_whole_number_has_a_bound(environment: str) -> None:
    seen = 0
    for method in built_in():
        settings = preset(environment, method)
        for setting in whole(settings):
            assert setting.value <= setting.most
            assert setting.most <= 2**31 or setting.name in ("train.seed", "train.shared_seed", "train.steps")
            for value in (setting.most + 1, 2**63, 10**30, -(2**63)):
                with pytest.raises(UserError):
                    config.override(settings, {setting.name.removeprefix("curriculum."): str(value)})
            seen += 1
    assert seen > 100


def test_settings_made_in_python_are_bounded_as_well() -> None:
    settings = preset("matrix", "dr")
    with pytest.raises(UserError, match=r"network.head is 1,000,000; give at most 65,536"):
        build(replace(settings, network=replace(settings.network, head=1_000_000)))


NO_NUMBERS = ["1__0", "_1", "1_", "\u0661\u0660", "0x10", "1e", "e5", "nan", "inf", "", "1e99999", "٣.٥"]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_only_python_takes_for_a_number_is_none(text: str) -> None:
    for name in ("train.levels", "ppo.clip"):
        with pytest.raises(UserError, match=rf"{name} is '.*'; give a (whole|finite) number"):
            config.override(preset("maze", "dr"), {name: text})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train.levels": "10M"}, r"at least [0-9.]+ GB of memory, and there are .*rollouts of 10,000,000 levels"),
        ({"network.width": "65536"}, r"at least [0-9.]+ GB of memory, and there are .*students.*: [0-9.]+ GB"),
    ],
)
def test_a_run_that_no_machine_has_room_for_is_refused_with_the_number(changes: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        require_room(build(config.override(preset("maze", "dr"), changes)))


def test_seeds_count_as_often_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = build(preset("maze", "dr", "small"))
    monkeypatch.setattr("tutelage.memory.available", lambda: 2**30)
    require_room(trainer)
    with pytest.raises(UserError, match="there are 1.07 GB"):
        require_room(trainer, 1000)


def test_amounts_are_for_people() -> None:
    assert available() > 10**8
    assert [amount(size) for size in (17, 44e12, 1e24)] == ["17 B", "44 TB", "1,000,000 EB"]
    assert LARGEST == 2**63 - 1


@pytest.mark.long
@pytest.mark.parametrize(("environment", "method"), PAIRS)
def test_the_largest_of_every_setting_is_computed_or_refused(environment: str, method: str) -> None:
    settings = preset(environment, method)
    for setting in whole(settings):
        with suppress(UserError):
            name = setting.name.removeprefix("curriculum.")
            require_room(build(config.override(settings, {name: str(setting.most)})))
