"""What installed packages offer through entry points: found by name, listed with ours, and never in the way."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tutelage
from tutelage import plugins
from tutelage.cli import main
from tutelage.envs import registry as environments
from tutelage.methods import registry as methods

PACKAGE = """
import dataclasses
import jax
import jax.numpy as jnp
import tutelage
from tutelage.methods.dr import method as dr

method = dataclasses.replace(dr, name="mine", summary="random levels once more")
broken = 3
corridor = tutelage.Jax(
    sample=lambda key: jax.random.randint(key, (), 1, 5),
    reset=lambda key, level: ((level, 0), jnp.ones(1)),
    step=lambda key, state, action: (state, jnp.ones(1), 1.0, True, False),
    actions=2,
)
domain = tutelage.DomainEntry(
    name="anything",
    summary="a whole domain",
    presets=tutelage.envs.registry.environment("matrix").presets,
    make=lambda settings: tutelage.envs.registry.environment("matrix").build(settings),
)
"""


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """An installed package that offers objects of its only module."""
    (tmp_path / "tutelage_extra.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)

    def offer(group: str, **points: str) -> None:
        found = [importlib.metadata.EntryPoint(name, value, group) for name, value in points.items()]

        def entry_points(**which: Any) -> list[importlib.metadata.EntryPoint]:
            return [point for point in found if point.group == which["group"]]

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
        plugins.installed.cache_clear()

    yield offer
    plugins.installed.cache_clear()


def test_a_method_of_a_package_is_found_by_its_name(offered: Any, capsys: pytest.CaptureFixture[str]) -> None:
    offered(methods.GROUP, mine="tutelage_extra:method")
    assert methods.names() == sorted([*methods.built_in(), "mine"])
    settings = tutelage.preset("matrix", "mine")
    assert settings.method == "mine"
    assert tutelage.build(settings).students == 1
    assert main(["methods"]) == 0
    assert "random levels once more" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "presets"), [("corridor", ["standard"]), ("domain", ["exact"])])
def test_an_environment_of_a_package_is_found_by_its_name(offered: Any, name: str, presets: list[str]) -> None:
    offered(environments.GROUP, theirs=f"tutelage_extra:{name}")
    assert environments.names() == [*environments.ENVIRONMENTS, "theirs"]
    entry = environments.environment("theirs")
    assert (entry.name, list(entry.presets), entry.default_preset) == ("theirs", presets, presets[0])
    settings = tutelage.preset("theirs", "dr")
    assert settings.environment == "theirs"
    assert tutelage.build(settings).iterations > 0


def test_ours_go_first(offered: Any) -> None:
    offered(environments.GROUP, matrix="tutelage_extra:corridor")
    assert environments.names() == list(environments.ENVIRONMENTS)
    assert list(environments.environment("matrix").presets) == ["exact"]


def test_a_package_that_is_broken_is_named_and_hides_nothing(offered: Any, capsys: pytest.CaptureFixture[str]) -> None:
    offered(methods.GROUP, wrong="tutelage_extra:broken", gone="no_such_package:method")
    assert main(["methods"]) == 0
    listed = capsys.readouterr().out
    assert "'method' in the entry point wrong (tutelage_extra:broken) is of type int; make it a tutelage.Me" in listed
    assert "The entry point gone (no_such_package:method) of an installed package could not be loaded: " in listed
    assert "accel " in listed
    with pytest.raises(tutelage.UserError, match="could not be loaded: ModuleNotFoundError"):
        tutelage.preset("matrix", "gone")
    offered(environments.GROUP, wrong="tutelage_extra:broken")
    with pytest.raises(tutelage.UserError, match="'environment' in the entry point wrong .* is of type int; make it a"):
        tutelage.preset("wrong", "dr")


def test_a_domain_without_presets_is_refused() -> None:
    with pytest.raises(tutelage.UserError, match="The environment empty has no presets; give at least one."):
        tutelage.DomainEntry("empty", "nothing", {}, lambda settings: None)  # pyright: ignore


@pytest.mark.parametrize("words", [["check", "~nobody-here"], ["train", "~nobody-here.py", "dr"]])
def test_the_home_of_an_unknown_user_is_a_file_that_does_not_exist(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "~nobody-here" in capsys.readouterr().err
