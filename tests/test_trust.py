"""A run directory is data. What it names is run by who has chosen to run it, and by nobody for looking at it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import tutelage
from tutelage import trusted
from tutelage.cli import main
from tutelage.config import to_toml
from tutelage.errors import UserError
from tutelage.runs.directory import CHECKPOINTS, CONFIG, EVALUATIONS, METRICS, RunDirectory, read_settings

ENVIRONMENT = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
import jax, tutelage

def reset(key, level):
    return level, level

def step(key, state, action):
    return state, state, 0.0, True, False

environment = tutelage.Jax(reset=reset, step=step, actions=2, sample=lambda key: jax.random.uniform(key, (1,)))
"""
TASK = {"solved": 0.5, "return": 1.0, "episodes": 2}


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user who has run nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(trusted, "_here", set())
    return tmp_path / "state" / "tutelage" / trusted.LIST


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """A run that came from elsewhere, with the file that it names."""
    file = tmp_path / "theirs.py"
    file.write_text(ENVIRONMENT)
    path = tmp_path / "run"
    (path / CHECKPOINTS).mkdir(parents=True)
    from tutelage.compose import preset

    settings = to_toml(preset("matrix", "dr")).replace('"matrix"', json.dumps(str(file)), 1)
    (path / CONFIG).write_text(settings)
    directory = RunDirectory(path)
    directory.append(METRICS, [{"iteration": 1, "steps": 10, "steps_per_second": 3.0}])
    directory.append(EVALUATIONS, [{"iteration": 1, "steps": 10, "suite": "fresh", "tasks": {"fresh": TASK}}])
    return path


def ran(path: Path) -> bool:
    return (path.parent / "theirs.ran").exists()


def test_looking_at_a_run_runs_nothing_of_it(sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(sent)]) == 0
    assert str(tmp_path / "theirs.py") in capsys.readouterr().out
    assert main(["compare", str(sent)]) == 0
    assert main(["report", str(sent), "--no-pictures", "--out", str(tmp_path / "page.html")]) == 0
    assert not ran(sent)


@pytest.mark.parametrize("command", ["eval", "levels", "resume", "play", "report"])
def test_what_would_run_it_says_which_file_and_does_not(
    sent: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"report": ["--out", str(tmp_path / "page.html")], "play": ["--gif", str(tmp_path / "x.gif")]}
    assert main([command, str(sent), *more.get(command, [])]) == 2
    said = capsys.readouterr().err
    assert f"{sent / CONFIG} names the Python file {tmp_path / 'theirs.py'}, which you have not run" in said
    assert "give --trust" in said
    assert not ran(sent)


def test_a_config_and_a_study_are_asked_about_as_well(
    sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--config", str(sent / CONFIG)]) == 2
    assert "names the Python file" in capsys.readouterr().err
    study = tmp_path / "study.toml"
    study.write_text(f'environment = "{tmp_path / "theirs.py"}"\nmethods = ["dr"]\nseeds = [0]\n')
    assert main(["study", str(study), "--out", str(tmp_path / "study")]) == 2
    assert "names the Python file" in capsys.readouterr().err
    assert not ran(sent)


def test_a_trusted_file_is_known_until_it_changes(sent: Path, tmp_path: Path, nobody: Path) -> None:
    file = tmp_path / "theirs.py"
    tutelage.trust(file)  # by the name that the refusal says
    tutelage.trust(file)
    assert len(nobody.read_text().splitlines()) == 1
    trusted._here.clear()
    assert trusted.is_trusted(file)  # also in another process
    copy = tmp_path / "copy.py"
    shutil.copy(file, copy)
    assert not trusted.is_trusted(copy)
    file.write_text(ENVIRONMENT + "\n")
    assert not trusted.is_trusted(file)
    nobody.write_text("[]\nnonsense\n" + "[" * 100_000 + "\n")
    assert not trusted.is_trusted(file)
    with pytest.raises(UserError, match="tutelage.trust"):
        read_settings(sent / CONFIG)


def test_the_option_trusts_and_the_command_goes_on(
    sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["levels", str(sent), "--trust", "--generated", "--top", "1"]) == 2  # the settings are the game's
    assert ran(sent)
    assert trusted.is_trusted(tmp_path / "theirs.py")
    assert "names the Python file" not in capsys.readouterr().err


def test_somebody_at_a_terminal_is_asked(sent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tutelage.cli

    asked: list[str] = []
    monkeypatch.setattr(tutelage.cli, "agreed", lambda question: bool(asked.append(question)))
    assert main(["resume", str(sent)]) == 2
    assert len(asked) == 1
    assert asked[0].endswith("Run it now?")
    assert not ran(sent)


def test_who_checks_or_trains_a_file_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "theirs.py"
    file.write_text(ENVIRONMENT)
    main(["check", str(file)])
    assert trusted.is_trusted(file)


def test_without_a_home_a_file_is_known_in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    file = tmp_path / "theirs.py"
    file.write_text(ENVIRONMENT)
    trusted.trust(file)
    assert trusted.is_trusted(file)
