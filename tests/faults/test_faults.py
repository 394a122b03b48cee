"""The short form of `make torture`: a little of every kind. See docs/faults.md."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tutelage.cli import main
from tutelage.runs.directory import RunDirectory

from . import environments, fuzz, places, surroundings
from .calls import call, digest, run
from .made import arguments
from .tally import Tally

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    """A run of games, which takes least to compile."""
    path = folder / "plr-whole"
    assert main([*arguments("plr", folder), "--run", str(path)]) == 0
    return path


@pytest.fixture
def tally() -> Tally:
    return Tally()


def held(tally: Tally, least: int) -> None:
    assert tally.broke == []
    assert sum(tally.tried.values()) >= least


def test_records_that_are_wrong_break_nothing(whole: Path, tally: Tally) -> None:
    fuzz.records(120, whole, tally)
    held(tally, 120)


@pytest.mark.parametrize("name", ["metrics.jsonl", "evaluations.jsonl", "run.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(whole: Path, tmp_path: Path, name: str) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (run / name).unlink()
    os.mkfifo(run / name)
    outcome = call(["show", str(run)])
    assert outcome.problem((0,)) == ""
    assert digest(run) == digest(whole)
    assert ("not a regular file" in outcome.err) == (name != "run.json")  # which is a note for people


@pytest.mark.parametrize("note", ["[1]", "3", '{"from": []}', '{"from": {"run": 3}}', '{"extended": 3}', "[" * 9999])
def test_a_note_that_is_wrong_is_none(whole: Path, tmp_path: Path, note: str) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (run / "run.json").write_text(note)
    assert call(["show", str(run)]).problem((0,)) == ""
    assert RunDirectory(run).about() == {}
    with fuzz.stopped_before_training():
        assert "Reached" in call(["resume", str(run), "--steps", "1M", "--quiet"]).err
    assert len(RunDirectory(run).about()["extended"]) == 1


def test_checkpoints_that_are_wrong_are_noticed(whole: Path, tally: Tally) -> None:
    fuzz.manifests(50, whole, tally)
    held(tally, 50)


def test_configs_that_are_wrong_are_sentences(whole: Path, tally: Tally) -> None:
    fuzz.configs(30, whole, tally)
    held(tally, 30)


def test_calls_that_are_wrong_are_sentences(
    whole: Path, folder: Path, tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a command may write where it is
    fuzz.calls(50, whole, folder, tally)
    held(tally, 50)


def test_files_of_users_that_are_wrong_are_sentences(folder: Path, tally: Tally) -> None:
    # A few of each sort; all of them take minutes.
    environments.environments(folder, tally, slice(0, None, 23))
    held(tally, 10)


def test_a_killed_run_goes_on_to_the_same_end(folder: Path, whole: Path) -> None:
    """Killed in truth, in a process of its own: when it has renamed its sixth file."""
    path = folder / "killed"
    script = (
        "import sys; from tests.faults.kills import trap; from tutelage.cli import main\n"
        "trap('after a file is renamed', 6); sys.exit(main(sys.argv[1:]))"
    )
    words = [*arguments("plr", folder), "--run", str(path)]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    killed = subprocess.run([sys.executable, "-c", script, *words], env=where, check=False, capture_output=True)
    assert killed.returncode == -9
    assert call(["resume", str(path), "--quiet"]).code == 0
    assert digest(path) == digest(whole)


def test_output_may_go_nowhere(whole: Path, tally: Tally) -> None:
    surroundings.streams(whole, tally, [["show", str(whole)]])
    held(tally, len(surroundings.STREAMS))


def test_a_disk_may_be_full(folder: Path, whole: Path, tally: Tally) -> None:
    places.limited_files(digest(whole), folder, random.Random(3), tally, "plr")
    held(tally, 1)


def test_a_closed_terminal_stops_a_run_like_an_interrupt(folder: Path, whole: Path, tally: Tally) -> None:
    surroundings.signals("plr", [digest(whole)], folder, random.Random(1), tally, "a closed terminal")
    held(tally, 1)


def test_a_broken_thing_is_counted(tally: Tally) -> None:
    """The harness itself notices what it is there for."""
    refused = run(["show", "missing"])
    assert refused.problem() == ""
    assert "ended with 2" in refused.problem((0,))
    tally.note("calls", refused._replace(err="Traceback (most recent call last): x", code=1).problem())
    tally.note("calls")
    assert "Traceback" in tally.broke[0][1]
    tally.skip("users", "nobody may")
    assert tally.table().splitlines()[-3:] == ["| all | 2 | 1 | 1 | 1 |", "", "Not tried: users: nobody may"]
