"""Studies: what a file asks for, who runs when, and what is left when something goes wrong."""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.runs import engines, grid, session, study, worker
from tutelage.runs.directory import METRICS, RunDirectory
from tutelage.runs.engines import Local, Process, Ray, compute, engine, shares
from tutelage.runs.grid import Study
from tutelage.runs.overview import Overview
from tutelage.runs.study import State, StudyRun

ROOT = Path(__file__).parents[2]
STUDIES = sorted(ROOT.glob("studies/*.toml"))
ITERATIONS = 12
TEXT = """
environment = "matrix"
methods = ["dr", "plr"]
seeds = [0, 1]
steps = 192

[settings]
train.levels = 4
train.rollout = 4
train.log-every = 2
"""
FAKE = f"""
import os, sys, time, json, pathlib
run = pathlib.Path(next(word for word in sys.argv if "/" in word))
name = "/".join(run.parts[-2:])
print(name, *sys.argv[1:], flush=True)
if name in os.environ.get("FAKE_FAIL", "").split():
    sys.exit("something broke")
if name in os.environ.get("FAKE_KILL", "").split():
    os.kill(os.getpid(), 9)
with (run / "metrics.jsonl").open("a") as file:
    file.write(json.dumps({{"iteration": 6}}) + chr(10))
if name in os.environ.get("FAKE_WAIT", "").split():
    while os.read(0, 100): pass
    sys.exit(130)
time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
solved = int(name[-1]) / 2
task = {{"solved": solved, "return": 1.0, "episodes": 4}}
record = {{"iteration": {ITERATIONS}, "steps": 192, "suite": "columns", "seed": 0, "student": 0, "greedy": False}}
record |= {{"solved": solved, "return": 1.0, "tasks": {{"first": task}}}}
(run / "evaluations.jsonl").write_text(json.dumps(record) + chr(10))
(run / "checkpoints" / "{ITERATIONS:09d}.npz").touch()
"""
"""In place of a run: notes how it was called, and does what it is told by name."""
COMMAND = (sys.executable, "-S", "-c", FAKE)


class Watcher:
    """Notes what happens, and may do something at every look."""

    def __init__(self, at_tick: Any = lambda states: None) -> None:
        self.heard: list[tuple[str, State, str]] = []
        self.most = 0
        self.at_tick = at_tick

    def changed(self, run: StudyRun, state: State, note: str = "") -> None:
        self.heard.append((run.plan.name, state, note))

    def tick(self, states: Mapping[StudyRun, State]) -> None:
        self.most = max(self.most, sum(state is State.RUNNING for state in states.values()))
        self.at_tick(states)

    def names(self, state: State) -> set[str]:
        return {name for name, heard, _ in self.heard if heard is state}


def parsed(text: str = TEXT) -> Study:
    return grid.parse(text, "study.toml")


def run(path: Path, text: str = TEXT, slots: int = 2, watcher: Watcher | None = None) -> dict[str, State]:
    with study.opened(parsed(text), path) as runs:
        states = study.run_all(path, runs, Local(slots, COMMAND), watcher or Watcher(), pause=0.02)
    return {run.plan.name: state for run, state in states.items()}


ALL = {"dr/s0", "dr/s1", "plr/s0", "plr/s1"}


# --- the file


def test_a_study_is_methods_by_seeds_and_every_setting_can_be_said() -> None:
    plans = parsed().plans
    assert [plan.name for plan in plans] == ["dr/s0", "plr/s0", "dr/s1", "plr/s1"]
    assert [plan.seed for plan in plans] == [0, 0, 1, 1]
    assert all((plan.settings.train.log_every, plan.iterations) == (2, ITERATIONS) for plan in plans)


def test_a_method_has_settings_of_its_own_and_variants_come_on_top() -> None:
    text = TEXT.replace("192", '"0.2k"') + (
        "[method.plr]\nreplay.temperature = 0.5\ntrain.log_every = 5\n"
        '[variant.cold]\nmethods = ["plr"]\nreplay.temperature = 0.1\n'
        "[variant.long]\ntrain.steps = 400\n"
    )
    plans = {plan.name: plan.settings for plan in parsed(text).plans if plan.seed == 1}
    assert set(plans) == {"dr/s1", "dr-long/s1", "plr/s1", "plr-cold/s1", "plr-long/s1"}
    assert [plans[name].curriculum.replay.temperature for name in ("plr/s1", "plr-cold/s1", "plr-long/s1")] == [
        0.5,
        0.1,
        0.5,
    ]
    assert [plans[name].train.log_every for name in ("dr/s1", "plr-cold/s1")] == [2, 5]
    assert [plans[name].train.steps for name in ("dr/s1", "dr-long/s1")] == [200, 400]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_studies_that_come_with_tutelage_are_valid(path: Path) -> None:
    plans = grid.read(path).plans
    assert len(plans) == len({plan.name for plan in plans}) > 1
    assert {plan.settings.environment for plan in plans} == {"maze"}


def test_the_studies_of_the_thesis_have_its_methods_blocks_and_seeds() -> None:
    studies = {path.stem: grid.read(path).plans for path in STUDIES}
    assert set(studies) == {"maze-dcd", "maze-accel", "maze-editors", "maze-fast", "maze-laptop", "maze-small"}
    dcd, accel = studies["maze-dcd"], studies["maze-accel"]
    methods = {"dr", "minimax", "paired", "repaired", "plr", "robust-plr", "robust-plr-500M"}
    assert ({plan.group for plan in dcd}, {plan.seed for plan in dcd}) == (methods, set(range(10)))
    assert {plan.settings.env.blocks for plan in dcd} == {25}
    assert {plan.settings.train.steps for plan in dcd} == {250_000_000, 500_000_000}
    methods = {"dr", "robust-plr", "accel", "accel-random-start", "paired", "minimax"}
    assert ({plan.group for plan in accel}, {plan.seed for plan in accel}) == (methods, set(range(5)))
    assert {plan.settings.env.blocks for plan in accel} == {60}
    assert {plan.settings.curriculum.evolve.start for plan in accel if plan.settings.method == "accel"} == {
        "empty",
        "random",
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 192", "steps = ", "study.toml is not valid TOML: Invalid value (at line 5, column 9)"),
        ("steps = 192", "step = 192", "In study.toml: There is no key of a study called 'step'. Did you mean steps"),
        ('"plr"', '"prl"', "In study.toml: There is no method called 'prl'. Did you mean plr"),
        ('"matrix"', '"matrx"', "In study.toml: There is no environment called 'matrx'. Did you mean matrix?"),
        ('environment = "matrix"', "", 'study.toml does not say its environment; add a line, as in environment = "'),
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
        ("train.levels = 4", "train.levels = [4]", "train.levels is [4] in study.toml; give text, a number, true or"),
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


# --- who runs when


def test_all_runs_run_as_many_at_once_as_there_are_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SLEEP", "0.3")
    watcher = Watcher()
    assert run(tmp_path / "out", watcher=watcher) == dict.fromkeys(ALL, State.FINISHED)
    assert watcher.most == 2
    assert (tmp_path / "out" / "study.toml").read_text() == TEXT
    for name in ALL:
        directory = RunDirectory.open(tmp_path / "out" / name)
        assert directory.settings().train.seed == int(name[-1])
        assert (tmp_path / "out" / f"{name}.log").read_text().startswith(name)


def test_what_is_finished_is_not_run_again_and_a_grown_grid_adds_runs(tmp_path: Path) -> None:
    run(tmp_path / "out")
    watcher = Watcher()
    more = TEXT.replace("[0, 1]", "[0, 1, 2]")
    assert run(tmp_path / "out", more, watcher=watcher) == dict.fromkeys(ALL | {"dr/s2", "plr/s2"}, State.FINISHED)
    assert watcher.names(State.RUNNING) == {"dr/s2", "plr/s2"}
    assert (tmp_path / "out" / "study.toml").read_text() == more


def test_one_that_fails_is_recorded_while_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAIL", "dr/s0")
    monkeypatch.setenv("FAKE_KILL", "plr/s1")
    watcher = Watcher()
    expected = {"dr/s0": State.FAILED, "plr/s0": State.FINISHED, "dr/s1": State.FINISHED, "plr/s1": State.FAILED}
    assert run(tmp_path / "out", watcher=watcher) == expected
    log = tmp_path / "out" / "dr" / "s0.log"
    assert ("dr/s0", State.FAILED, f"exit status 1; see {log}") in watcher.heard
    assert any("it was ended by signal 9" in note for _, _, note in watcher.heard)
    assert "something broke" in log.read_text()
    status = json.loads((tmp_path / "out" / "status.json").read_text())
    assert status["dr/s0"] == {"state": "failed", "exit": 1, "log": "dr/s0.log"}
    monkeypatch.delenv("FAKE_FAIL")
    monkeypatch.delenv("FAKE_KILL")
    again = Watcher()
    assert run(tmp_path / "out", watcher=again) == dict.fromkeys(ALL, State.FINISHED)
    assert again.names(State.RUNNING) == {"dr/s0", "plr/s1"}
    assert "something broke" in log.read_text()  # what was said before stays


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_stops_all_and_can_be_started_again(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WAIT", "plr/s0 dr/s1")

    asked: list[bool] = []

    def interrupt(states: Mapping[StudyRun, State]) -> None:
        running = [run for run, state in states.items() if state is State.RUNNING]
        if len(running) == 2 and all(run.iteration == 6 for run in running) and not asked:
            asked.append(True)  # a second time would mean: at once
            signal.raise_signal(number)

    watcher = Watcher(interrupt)
    assert run(tmp_path / "out", watcher=watcher) == {
        "dr/s0": State.FINISHED,
        "plr/s0": State.STOPPED,
        "dr/s1": State.STOPPED,
        "plr/s1": State.WAITING,
    }
    assert ("plr/s0", State.STOPPED, "at iteration 6") in watcher.heard
    monkeypatch.delenv("FAKE_WAIT")
    again = Watcher()
    assert run(tmp_path / "out", watcher=again) == dict.fromkeys(ALL, State.FINISHED)
    assert again.names(State.RUNNING) == ALL - {"dr/s0"}
    assert ("plr/s0", State.RUNNING, "from iteration 6") in again.heard


def test_a_run_that_another_process_is_still_writing_is_waited_for(tmp_path: Path) -> None:
    """Left behind by a study that was killed; it stops as soon as it notices."""
    with study.opened(parsed(), tmp_path / "out") as runs:
        runs[0].create()
    held = runs[0].path
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(held / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def let_go(states: Mapping[StudyRun, State]) -> None:
            if sum(state is State.FINISHED for state in states.values()) == 3 and not holder.stdin.closed:
                holder.stdin.write("\n")
                holder.stdin.close()

        assert run(tmp_path / "out", watcher=Watcher(let_go)) == dict.fromkeys(ALL, State.FINISHED)


def test_a_directory_that_was_being_made_when_all_was_killed_is_made_again(tmp_path: Path) -> None:
    half = tmp_path / "out" / "dr" / "s0"
    (half / "checkpoints").mkdir(parents=True)
    (half / "config.toml.tmp").write_text("envi")
    (tmp_path / "out" / "study.toml").write_text(TEXT)
    assert run(tmp_path / "out") == dict.fromkeys(ALL, State.FINISHED)


def test_a_folder_in_the_way_fails_one_run_and_not_the_study(tmp_path: Path) -> None:
    run(tmp_path / "out", TEXT.replace("[0, 1]", "[0]"))
    other = tmp_path / "out" / "dr" / "s1"
    other.mkdir()
    (other / "diary.txt").write_text("Dear diary")
    watcher = Watcher()
    states = run(tmp_path / "out", watcher=watcher)
    assert states == dict.fromkeys(ALL, State.FINISHED) | {"dr/s1": State.FAILED}
    assert any("exists and is not empty" in note for _, _, note in watcher.heard)
    assert (other / "diary.txt").exists()


def test_cores_are_shared_out() -> None:
    assert shares([0, 1, 2, 3, 4], 2) == [[0, 1], [2, 3, 4]]
    assert shares([4, 7], 2) == [[4], [7]]
    assert shares([4, 7], 3) == [[4], [7], [4]]
    assert shares([4, 7], 1) == [[4, 7]]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process")
def test_each_run_is_pinned_to_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cores = sorted(os.sched_getaffinity(0))
    run(tmp_path / "out", slots=len(cores) + 1)
    said = {(tmp_path / "out" / f"{name}.log").read_text().split()[-1] for name in ALL}
    assert said <= set(map(str, cores))
    pinned = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: pinned.append((process, list(cores))))
    monkeypatch.setattr(plan, "_train", lambda path, log: not (path == "runs/x" and log == ["tensorboard"]))
    monkeypatch.setattr(plan, "_stop_with_the_study", lambda: None)
    assert worker.main(["runs/x", "--cores", "3,5", "--log", "tensorboard"]) == 130
    assert pinned == [(0, [3, 5])]
    assert worker.main(["runs/y"]) == 0


# --- the directory


def test_a_changed_setting_of_a_started_run_is_refused_and_of_another_is_not(tmp_path: Path) -> None:
    run(tmp_path / "out", TEXT.replace("[0, 1]", "[0]"))
    with pytest.raises(UserError) as refusal:
        run(tmp_path / "out", TEXT.replace("rollout = 4", "rollout = 8"))
    assert str(refusal.value) == (
        f"study.toml changes a setting of the run {tmp_path / 'out/dr/s0'}, which has been started: "
        "train.rollout (4 then, 8 now). Put it back, make it a variant, or choose another directory with --out."
    )
    assert (tmp_path / "out" / "study.toml").read_text() == TEXT.replace("[0, 1]", "[0]")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "study.toml").write_text(TEXT)
    run(tmp_path / "new", TEXT.replace("log-every = 2", "log-every = 3"))


def test_the_directory_of_another_study_or_of_none_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "out", TEXT.replace("[0, 1]", "[7]"))
    with pytest.raises(UserError, match="holds another study: none of its runs, such as dr/s7, is in study.toml"):
        run(tmp_path / "out")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(UserError, match="exists, is not empty and holds no study; choose another with --out"):
        run(tmp_path / "photos")
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made"):
        run(tmp_path / "file")


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with (
        study.opened(parsed(), tmp_path / "out"),
        pytest.raises(UserError, match=rf"The study .* is being run by another process \(pid {os.getpid()}\); wait"),
    ):
        run(tmp_path / "out")


# --- what is shown


def test_a_study_ends_with_its_methods_side_by_side(tmp_path: Path) -> None:
    run(tmp_path / "out", TEXT.replace("[0, 1]", "[0]"))
    run(tmp_path / "out")
    (tmp_path / "out" / "dr" / "s0" / "checkpoints" / f"{ITERATIONS:09d}.npz").unlink()
    lines: list[str] = []
    with study.opened(parsed(), tmp_path / "out") as runs:
        study.finish(tmp_path / "out", runs, lines.append)
    assert [line.split() for line in lines[:3]] == [
        ["method", "solved", "return", "n", "suite"],
        ["plr", "0.250", "1.000", "2", "columns"],
        ["dr", "0.500", "1.000", "1", "columns"],
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAIL", "plr/s1")
    monkeypatch.setenv("FAKE_SLEEP", "0.1")
    screen = io.StringIO()
    with study.opened(parsed(), tmp_path / "out") as runs:
        console = Console(file=screen, force_terminal=terminal, width=100)
        with Overview(runs, console, pause=0.01) as view:
            states = study.run_all(tmp_path / "out", runs, Local(2, COMMAND), view, pause=0.02)
            view.tick(states)
    text = screen.getvalue()
    assert "plr/s1 failed, exit status 1; see " in text
    assert "of all steps" in text
    assert ("dr/s0 started" in text) == ("dr/s0 finished" in text) == (not terminal)


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
        (["mine.toml", "--engine", "slurm"], "There is no engine called 'slurm'."),
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


def _environment() -> dict[str, str]:
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths}


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


def test_missing_ray_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"--engine ray needs the package ray, .* `pip install tutelage\[ray\]`"):
        engine("ray", None)


def test_what_a_task_computes_is_stopped_by_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with study.opened(parsed(), tmp_path / "out") as runs:
        runs[0].create()
    monkeypatch.setenv("FAKE_WAIT", "dr/s0")
    polled = Process.poll

    def interrupted(self: Process) -> int | None:
        monkeypatch.setattr(Process, "poll", polled)
        raise KeyboardInterrupt

    monkeypatch.setattr(Process, "poll", interrupted)
    assert compute([*COMMAND, str(runs[0].path)], str(runs[0].log), pause=0.02) == 130


@pytest.mark.ray
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_study_on_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(engines, "cores", lambda: [0, 1])
    monkeypatch.setenv("FAKE_FAIL", "plr/s0")
    monkeypatch.setenv("FAKE_WAIT", "dr/s1")

    asked: list[bool] = []

    def interrupt(states: Mapping[StudyRun, State]) -> None:
        if any(run.plan.name == "dr/s1" and run.iteration == 6 for run in states) and not asked:
            asked.append(True)
            signal.raise_signal(signal.SIGINT)

    works = Ray.begin(2, COMMAND)
    try:
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
        assert works.slots == 2
        with study.opened(parsed(TEXT.replace('"plr"]', '"plr", "accel"]')), tmp_path / "out") as runs:
            watcher = Watcher(interrupt)
            states = study.run_all(tmp_path / "out", runs, works, watcher, pause=0.05)
    finally:
        works.close()
    ended = {run.plan.name: state for run, state in states.items()}
    assert ended["dr/s0"] is ended["accel/s0"] is State.FINISHED
    assert ended["plr/s0"] is State.FAILED
    assert "something broke" in (tmp_path / "out" / "plr" / "s0.log").read_text()
    assert ended["dr/s1"] is State.STOPPED
