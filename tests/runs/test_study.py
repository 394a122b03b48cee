"""Studies: who runs when, and what is left when something goes wrong."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from tutelage.errors import UserError
from tutelage.runs import engines, study, worker
from tutelage.runs.directory import RunDirectory
from tutelage.runs.engines import Local, Process, Ray, compute, engine, shares
from tutelage.runs.overview import Overview
from tutelage.runs.study import State, StudyRun

from .made_studies import ALL, COMMAND, ITERATIONS, TEXT, Watcher, parsed, run

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
        waiting = {run.plan.name for run in running} == {"plr/s0", "dr/s1"}
        if waiting and all(run.iteration == 6 for run in running) and not asked:
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
    monkeypatch.setattr(worker, "_train", lambda path, log: not (path == "runs/x" and log == ["tensorboard"]))
    monkeypatch.setattr(worker, "_stop_with_the_study", lambda: None)
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


# --- Ray


def test_missing_ray_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"--engine ray needs the package ray, .* `pip install 'tutelage\[ray\]'`"):
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
