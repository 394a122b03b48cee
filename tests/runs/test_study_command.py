"""`tutelage study`, from the file to the report."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tutelage
from tutelage.cli import main
from tutelage.runs import engines, grid, session, study
from tutelage.runs.directory import METRICS
from tutelage.runs.overview import Overview
from tutelage.runs.study import State, StudyRun

from .made_studies import COMMAND, TEXT


def _environment() -> dict[str, str]:
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engines, "COMMAND", COMMAND)
    Path("mine.toml").write_text(TEXT)
    return "mine.toml"


def test_the_command_names_failures_at_its_end(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_FAIL", "plr/s1")
    assert main(["study", file, "--jobs", "2", "--log", "tensorboard"]) == 1
    shown = capsys.readouterr()
    assert shown.err.endswith("tutelage: plr/s1 failed; its log is runs/mine/plr/s1.log\n")
    assert "dr       0.250" in shown.out
    assert "Wrote runs/mine/report.html and runs/mine/report.md." in shown.out
    assert "one seed says nothing" in Path("runs/mine/report.md").read_text()  # of plr, whose other run has failed
    assert "--log tensorboard runs/mine/dr/s0" in Path("runs/mine/dr/s0.log").read_text()
    monkeypatch.delenv("FAKE_FAIL")
    assert main(["study", file]) == 0
    assert main(["study", file]) == 0  # nothing is left to be done
    assert "one seed says nothing" not in Path("runs/mine/report.md").read_text()


def test_some_runs_of_a_study_are_trained_by_themselves(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", file, "--only", "plr/*", "--only", "dr/s0"]) == 0
    plans = {plan.name for plan in grid.read(file).plans}
    trained = {name for name in plans if (Path("runs/mine") / name).exists()}
    assert trained == {"dr/s0"} | {name for name in plans if name.startswith("plr/")} < plans
    capsys.readouterr()
    assert main(["study", file, "--only", "acel/*"]) == 2
    assert "is called 'acel/*'; it has" in capsys.readouterr().err
    assert main(["study", file]) == 0  # and then the rest


def test_the_command_says_how_to_go_on(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WAIT", "plr/s1")

    def interrupt(self: Overview, run: StudyRun, state: State, note: str = "") -> None:
        if state is State.RUNNING:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Overview, "changed", interrupt)
    assert main(["study", file, "--out", "here", "--jobs", "1"]) == 130
    assert "3 of 4 runs are not finished. Go on with: tutelage study mine.toml --out here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.toml", "--engine", "kubernetes"], "There is no engine called 'kubernetes'."),
        (["mine.toml", "--jobs", "0"], "--jobs is 0; give at least 1."),
        (["mine.toml", "--log", "paper"], "There is no log called 'paper'."),
        (["other.toml"], "The study file other.toml could not be read: "),
        ([], "The following arguments are required: study."),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("runs").exists()


def test_the_study_itself_does_not_import_jax(tmp_path: Path) -> None:
    script = (
        "import sys; from tutelage.runs import engines; engines.COMMAND = sys.argv[3:]; from tutelage.cli import main;"
        "assert main(['study', sys.argv[1], '--out', sys.argv[2]]) == 0;"
        "assert not {'jax', 'flax', 'optax', 'ray'} & set(sys.modules), 'imported something slow'"
    )
    (tmp_path / "study.toml").write_text(TEXT)
    words = [str(tmp_path / "study.toml"), str(tmp_path / "out"), *COMMAND]
    done = subprocess.run([sys.executable, "-c", script, *words], env=_environment(), check=False, capture_output=True)
    assert (done.returncode, b"Means over n seeds" in done.stdout) == (0, True), done.stderr


# --- real ones


REAL = """
environment = "matrix"
methods = ["dr"]
seeds = [0, 1]
steps = 64_000

[settings]
train.levels = 4
train.rollout = 4
train.log_every = 20
train.checkpoint_every = 500
train.evaluate_every = 0
train.episodes = 2
ppo.epochs = 1
"""


@pytest.mark.long
def test_a_study_that_was_killed_with_all_its_runs_goes_on_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(REAL)
    command = [sys.executable, "-m", "tutelage.cli", "study", str(file), "--out", str(out), "--jobs", "2"]
    parent = subprocess.Popen(command, env=_environment(), stderr=subprocess.PIPE)
    with study.opened(grid.read(file), tmp_path / "unused") as plans:
        runs = [StudyRun(run.plan, out / run.plan.name) for run in plans]
    while not any(list(run.path.glob("checkpoints/*.npz")) for run in runs):
        assert parent.poll() is None, parent.communicate()
        time.sleep(0.02)
    parent.send_signal(signal.SIGSTOP)  # or it would see its children die
    for run in runs:
        if (pid := (run.path / ".lock").read_text() if (run.path / ".lock").exists() else "").strip():
            os.kill(int(pid), signal.SIGKILL)
    parent.kill()
    parent.communicate()
    assert not all(run.finished for run in runs)
    before = {run: (run.path / METRICS).stat().st_size for run in runs if (run.path / METRICS).exists()}
    assert before
    again = subprocess.run(command, env=_environment(), check=False, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "dr       1.000" in again.stdout
    monkeypatch.setattr(session, "build", functools.cache(session.build))
    monkeypatch.setattr(session, "compiled", functools.cache(session.compiled))
    for run in runs:
        undisturbed = tutelage.train(run.plan.settings, tmp_path / f"alone-{run.plan.seed}")
        resumed = tutelage.load(run.path)
        assert resumed.finished
        assert resumed.digest == undisturbed.digest
        steps = [record["iteration"] for record in resumed.directory.read(METRICS)]
        assert steps == [record["iteration"] for record in undisturbed.directory.read(METRICS)]
