"""Methods and environments know nothing of each other's names: each is added in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import jax
import pytest

import tutelage
from tutelage.cli import main
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.methods import registry
from tutelage.methods.accel import AccelSettings
from tutelage.settings import GroundingName, ObjectiveName

from .test_imports import FILES, ROOT, imports, run

METHODS = set(registry.built_in())
OBJECTIVES = {"teacher_settings.py", "curricula/objectives.py", "envs/matrix/settings.py"}
"""Who speaks of a teacher's objectives, one of which is called as the method is: minimax."""
GROUNDINGS = {"settings.py"}
"""Who speaks of kinds of grounding, one of which is called as the method is: samplr."""


def constants(path: Path) -> Iterator[str]:
    """All strings of a file, docstrings and pieces of f-strings too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def names_in(path: Path, names: set[str]) -> set[str]:
    return names & set(constants(path))


def words(path: Path) -> set[str]:
    """Every word of its strings; what has hyphens is one word."""
    return {word for text in constants(path) for word in re.findall(r"[\w-]+", text)}


def where(path: Path) -> str:
    return str(path.relative_to(ROOT))


def outside(*folders: str) -> list[Path]:
    return [path for path in FILES if not any(ROOT / folder in path.parents for folder in folders)]


def test_names_of_methods_are_found_where_they_are() -> None:
    """The scan sees what it should: every method has a file with its name, and objectives are where they are said."""
    found = set().union(*(names_in(path, METHODS) for path in FILES if "methods" in where(path)))
    assert found == METHODS > {"dr", "plr", "robust-plr", "accel", "paired", "minimax"}
    assert all("minimax" in names_in(ROOT / name, METHODS) for name in OBJECTIVES)
    assert all("samplr" in names_in(ROOT / name, METHODS) for name in GROUNDINGS)


def meant(path: Path) -> set[str]:
    """Names of methods that are something else here."""
    objectives = set(get_args(ObjectiveName)) if where(path) in OBJECTIVES else set()
    return objectives | (set(get_args(GroundingName)) if where(path) in GROUNDINGS else set())


@pytest.mark.parametrize("path", outside("methods"), ids=where)
def test_only_methods_and_published_figures_name_a_method(path: Path) -> None:
    assert path.name == "published.py" or not names_in(path, METHODS) - meant(path)


@pytest.mark.parametrize("path", sorted((ROOT / "methods").glob("*.py")), ids=where)
def test_methods_mention_no_environment(path: Path) -> None:
    assert not words(path) & set(ENVIRONMENTS)


@pytest.mark.parametrize(
    "path", [ROOT / "envs" / "presets.py", *sorted((ROOT / "envs").glob("*/settings.py"))], ids=where
)
def test_presets_of_environments_mention_no_method(path: Path) -> None:
    """Sections are what they speak of: a preset holds for methods that nobody has written yet."""
    assert not words(path) & METHODS - meant(path)
    assert not {module for module in imports(path) if module.startswith("tutelage.methods")}


SAME_WORD = {
    *((f"envs/maze/{file}.py", "minigrid") for file in ("settings", "env")),
    ("envs/hidden_games/settings.py", "fruit"),
    ("envs/procgen/games.py", "maze"),
}
"""Mazes may pay as MiniGrid does: there the word names a rule. Of the hidden games one is called fruit, and of
Procgen's one maze.
"""

BUILT_ON = {("lava", "maze"), ("minihack_lava", "lava"), ("fruit", "minigrid"), ("minihack_fruit", "fruit")}
"""A room with lava is a maze whose walls burn: the teacher's tasks and searches are the maze's. In MiniHack the
levels of our own environments are played. The rooms of fruit are MiniGrid's chains.
"""


KNOWN_BY = {("evaluation/games.py", "matrix"), ("lab/page/content.py", "maze")}
"""Exact answers are of matrix games, and the rules that a page without a server plays by are the maze's."""


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_is_one_folder_and_a_line_in_the_registry(name: str) -> None:
    folder = name.replace("-", "_")
    package = f"tutelage.envs.{folder}"
    for path in outside(f"envs/{folder}"):
        if (where(path), name) in SAME_WORD:
            continue
        named = [text for text in constants(path) if text in (name, package) or text.startswith(f"{package}.")]
        assert named == ([name, package] if where(path) == "envs/registry.py" else [])
        importing = {module for module in imports(path) if f"{module}.".startswith(f"{package}.")}
        if Path(where(path)).parts[0] == "envs" and (path.parent.name, name) in BUILT_ON:
            continue
        assert not importing or (where(path), name) in KNOWN_BY


def test_importing_the_methods_imports_no_jax() -> None:
    modules = sorted(f"tutelage.methods.{path.stem}" for path in (ROOT / "methods").glob("*.py"))
    code = f"import sys, importlib; [importlib.import_module(name) for name in {modules}]; print('jax' in sys.modules)"
    assert "tutelage.methods.accel" in modules
    assert run(code).splitlines()[-1] == "False"


# --- a method of a user's

FILE = '''
"""Every level is played in two attempts; everything is learned from."""
from dataclasses import dataclass

import tutelage
from tutelage.methods.building import attempted, levels_from
from tutelage.settings import ReplaySettings


@dataclass(frozen=True)
class TwiceSettings:
    replay: ReplaySettings = tutelage.section(ReplaySettings, attempts=2)


def build(settings, parts):
    return attempted(settings.replay, parts, lambda parts: levels_from(parts.domain.levels.sample, parts))


method = tutelage.Method("twice", "two attempts at each level", TwiceSettings, build)
'''


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    path = tmp_path / "twice.py"
    path.write_text(FILE)
    return path


def test_a_method_of_a_file_is_composed_as_ours_are(twice: Path) -> None:
    settings = tutelage.preset("matrix", str(twice))
    assert settings.method == str(twice)
    ours = tutelage.preset("matrix", "plr").curriculum.replay
    assert settings.curriculum.replay == tutelage.override(settings, {}).curriculum.replay
    assert (settings.curriculum.replay.capacity, settings.curriculum.replay.score) == (ours.capacity, ours.score)
    assert settings.curriculum.replay.attempts == 2  # the method insists
    trainer = tutelage.build(tutelage.override(settings, {"train.levels": "8"}))
    levels = jax.device_get(trainer.propose(trainer.init(0))[1].levels)
    assert levels.shape == (1, 8)
    assert (levels.reshape(-1, 2) == levels.reshape(-1, 2)[:, :1]).all()


def test_a_run_of_a_file_is_named_after_it_and_goes_on_from_anywhere(twice: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--train.levels=4", "--train.rollout=4", "--steps=64", "--train.episodes=1", "--ppo.epochs=1", "--quiet"]
    assert main(["train", "matrix", "twice.py", *options]) == 0
    trained = tutelage.load("runs/matrix-twice-s0")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert tutelage.resume("../runs/matrix-twice-s0").digest == trained.digest
    assert trained.settings.method == str(twice)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1", "mine.py defines no method: give it a line such as `method = tutelage.Method("),
        ("method = 3", "'method' in {path} is of type int; make it a tutelage.Method("),
        ("import no_such_package", "mine.py, line 1 could not be run: ModuleNotFoundError"),
    ],
)
def test_a_mistake_in_the_file_of_a_method_is_a_sentence(tmp_path: Path, code: str, words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(code)
    with pytest.raises(tutelage.UserError, match=re.escape(words.format(path=path))):
        tutelage.preset("matrix", str(path))


# --- what a preset recommends and a method insists on


def test_a_method_insists_against_a_presets_recommendation() -> None:
    """The maze's chapter 5 says nothing of a replay rate, and ACCEL's is 0.8; chapter 4 adapts it to PLR's."""
    assert AccelSettings().replay.rate == 0.8
    assert tutelage.preset("maze", "accel", "thesis-accel").curriculum.replay.rate == 0.8
    assert tutelage.preset("maze", "accel", "thesis-dcd").curriculum.replay.rate == 0.5
    assert tutelage.preset("walker", "accel").curriculum.replay.rate == 0.9


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_goes_with_every_preset(environment: str, method: str) -> None:
    for name in ENVIRONMENTS[environment].presets:
        settings = tutelage.preset(environment, method, name)
        assert (settings.environment, settings.method) == (environment, method)
        if registry.find(method).finite:
            assert settings.train.training_set > 0
        elif ENVIRONMENTS[environment].presets[name].train.training_set == 0:
            assert settings.train.training_set == 0


def test_settings_are_composed_without_jax() -> None:
    code = "import sys, tutelage; tutelage.preset('maze', 'accel'); print('jax' in sys.modules)"
    assert run(code).splitlines()[-1] == "False"
