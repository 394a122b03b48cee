from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Timer
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.maze.settings import MazeEncoderSettings, MazeSettings
from tutelage.errors import UserError
from tutelage.runs.directory import EVALUATIONS, METRICS, RunDirectory
from tutelage.settings import NetworkSettings, NoSettings, PPOSettings, Settings, TrainSettings

SETTINGS = Settings(
    "maze",
    "dr",
    MazeSettings(),
    MazeEncoderSettings(),
    NetworkSettings(),
    PPOSettings(epochs=3),
    NoSettings(),
    TrainSettings(),
)
TREE = {"a": jnp.arange(3), "b": jnp.zeros(2)}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "runs" / "one", SETTINGS)


def at(iteration: int, **more: float) -> dict[str, Any]:
    return {"iteration": iteration, "steps": 10 * iteration, **more}


def evaluated(iteration: int) -> dict[str, Any]:
    return at(iteration) | {"suite": "s", "tasks": {"a": {"solved": 0.5, "return": 1.0, "episodes": 2}}}


def no_warning(sentence: str) -> None:
    raise AssertionError(sentence)


# Creating and opening


def test_a_new_run_has_its_settings(run: RunDirectory) -> None:
    assert RunDirectory.open(str(run.path)) == run
    assert run.settings() == SETTINGS
    about = json.loads((run.path / "run.json").read_text())
    assert set(about) == {"version", "created", "command"}
    assert sorted(path.name for path in run.path.iterdir()) == ["checkpoints", "config.toml", "run.json"]


def test_an_empty_directory_may_become_a_run(tmp_path: Path) -> None:
    assert RunDirectory.create(tmp_path, SETTINGS).path == tmp_path


def test_a_run_is_not_overwritten(run: RunDirectory) -> None:
    with pytest.raises(UserError) as caught:
        RunDirectory.create(run.path, SETTINGS)
    assert str(caught.value) == (
        f"The directory {run.path} already holds a run; continue it with `tutelage resume {run.path}`, "
        "or choose another with --run."
    )


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("words")
    with pytest.raises(UserError, match="exists and is not empty; choose another with --run"):
        RunDirectory.create(tmp_path, SETTINGS)
    with pytest.raises(UserError, match=r"cannot be made: .* Choose another with --run"):
        RunDirectory.create(tmp_path / "thesis.txt", SETTINGS)


def test_only_a_run_is_opened(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no run directory .*none; give one that `tutelage train` made"):
        RunDirectory.open(tmp_path / "none")
    with pytest.raises(UserError, match=r"is not a run: it has no config.toml"):
        RunDirectory.open(tmp_path)


def test_unreadable_settings_are_a_sentence(run: RunDirectory) -> None:
    (run.path / "config.toml").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"config.toml could not be read"):
        run.settings()


# The lock


HOLD = """
import sys
from tutelage.runs.directory import RunDirectory
with RunDirectory.open(sys.argv[1]).lock():
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_one_process_at_a_time(run: RunDirectory) -> None:
    command = [sys.executable, "-c", HOLD, str(run.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            with (
                pytest.raises(UserError, match=rf"is being trained by another process \(pid {other.pid}\)"),
                run.lock(),
            ):
                pass
            assert run.read(METRICS) == []  # reading needs no lock
        finally:
            other.kill()  # the system lets go of the lock, with no time for the process to do so
    with run.lock():
        assert (run.path / ".lock").read_text() == f"{os.getpid()}\n"


def test_the_lock_is_free_again_after_an_error(run: RunDirectory) -> None:
    with pytest.raises(ZeroDivisionError), run.lock():
        raise ZeroDivisionError
    with run.lock(), pytest.raises(UserError, match="another process"), run.lock():
        pass


def test_records_from_outside_wait_for_a_moment_and_are_not_kept_beside_training(run: RunDirectory) -> None:
    with run.lock():
        assert not run.append_unless_trained(EVALUATIONS, [evaluated(1)])
    assert run.read(EVALUATIONS) == []
    with ExitStack() as held:
        held.enter_context(run.lock())
        Timer(0.2, held.pop_all().close).start()  # as somebody does who adds a record
        assert run.append_unless_trained(EVALUATIONS, [evaluated(2)])
    assert [record["iteration"] for record in run.read(EVALUATIONS)] == [2]


def test_a_lock_that_cannot_be_made_is_a_sentence(run: RunDirectory) -> None:
    (run.path / ".lock").mkdir()
    with pytest.raises(UserError, match="lock could not be opened: Is a directory"), run.lock():
        pass


def test_a_file_system_without_locks_is_a_sentence(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UserError, match=r"lock could not be locked: No locks available"), run.lock():
        pass


# Records


def test_records_come_back(run: RunDirectory) -> None:
    assert run.read(METRICS) == []
    first, second, third = at(1, loss=0.5), at(2, **{"ü\r\n\u2028": 1}), at(3)
    run.append(METRICS, [first, second])
    run.append(METRICS, [third])
    run.append(METRICS, [])
    assert run.read(METRICS, no_warning) == [first, second, third]


def test_numbers_that_are_not_finite_become_null(run: RunDirectory) -> None:
    run.append(
        METRICS,
        [
            {
                "nan": float("nan"),
                "inf": [1.0, float("-inf")],
                "deep": {"x": (float("inf"), 1)},
                "numpy": np.float32("nan"),
                "jax": jnp.array([1.0, jnp.nan]),
                "count": jnp.int32(3),
                "flag": np.bool_(True),
            }
        ],
    )
    assert json.loads((run.path / METRICS).read_text()) == {
        "nan": None,
        "inf": [1.0, None],
        "deep": {"x": [None, 1]},
        "numpy": None,
        "jax": [1.0, None],
        "count": 3,
        "flag": True,
    }
    text = (run.path / METRICS).read_text()
    assert "NaN" not in text
    assert "Infinity" not in text


def test_a_torn_last_line_is_left_out(run: RunDirectory) -> None:
    run.append(METRICS, [at(1)])
    whole = (run.path / METRICS).read_bytes()
    for torn in (b'{"iteration": 2, "lo', b'{"iteration": 2}garbage\n', b"\0" * 50, b"3", "é".encode()[:1]):
        (run.path / METRICS).write_bytes(whole + torn)
        assert run.read(METRICS) == [at(1)]


def test_wrong_lines_are_named_and_left_out(run: RunDirectory) -> None:
    good = [at(1), at(3), at(9)]
    wrong = ["what", "[]", "null", '{"iteration": "2", "steps": 20}', '{"iteration": 2, "steps": 20, "loss": "low"}']
    lines = [json.dumps(good[0]), wrong[0], json.dumps(good[1]), *wrong[1:], json.dumps(good[2])]
    (run.path / METRICS).write_text("\ufeff" + "\n".join(lines) + "\n")
    said: list[str] = []
    assert run.read(METRICS, said.append) == good
    assert said[0] == f"Line 2 of {run.path / METRICS} is not JSON; it is left out."
    assert said[1] == f"Line 4 of {run.path / METRICS} is a list, and not a record with names; it is left out."
    assert said[3] == f"2 more lines of {run.path / METRICS} are wrong; they are left out."
    run.rewind(3)  # what nobody understands is nobody's to delete
    assert run.read(METRICS) == good[:2]
    assert all(line in (run.path / METRICS).read_text() for line in wrong)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"steps": 1}', "has no 'iteration'"),
        ('{"iteration": null, "steps": 1}', "has no 'iteration'"),
        ('{"iteration": true, "steps": 1}', "'iteration' is true, and not a whole number of 0 or more"),
        ('{"iteration": -1, "steps": 1}', "'iteration' is -1, and not a whole number of 0 or more"),
        ('{"iteration": 1.0, "steps": 1}', "'iteration' is 1.0"),
        ('{"iteration": 1, "steps": 1, "x": NaN}', "has the number NaN"),
        ('{"iteration": 1, "steps": 1, "x": 1e999}', "'x' is Infinity, and not a finite number"),
        ('{"iteration": 1, "steps": 1, "x": [1]}', "'x' is a list, and not a finite number"),
        ('{"iteration": 1, "steps": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "is nested too deep"),
        ('{"iteration": 1, "steps": 1, "x": ' + "9" * 5000 + "}", "is not JSON"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(run: RunDirectory, line: str, sentence: str) -> None:
    (run.path / METRICS).write_text(line + "\n" + json.dumps(at(1)) + "\n")
    said: list[str] = []
    assert run.read(METRICS, said.append) == [at(1)]
    assert len(said) == 1
    assert sentence in said[0]


def test_an_evaluation_is_complete_or_left_out(run: RunDirectory) -> None:
    task = {"solved": 0.25, "return": 2, "episodes": 4}
    record = {"iteration": 1, "steps": 10, "suite": "s", "tasks": {"a": task, "b": task | {"solved": 0.75}}}
    whole = record | {"seed": 0, "student": 0, "greedy": False, "solved": 0.5, "return": 2}
    wrong: list[Any] = [record | {name: value} for name in record for value in (None, "", [], {}, -1)]
    wrong += [record | {"tasks": {"a": task | {name: value}}} for name in task for value in (None, "", [], {}, -1e39)]
    wrong += [record | {"student": "0"}, record | {"greedy": 1}, record | {"tasks": {"a": task | {"episodes": 0}}}]
    (run.path / EVALUATIONS).write_text("".join(json.dumps(line) + "\n" for line in [*wrong, record]))
    said: list[str] = []
    assert run.read(EVALUATIONS, said.append) == [whole]
    assert said[-1].startswith(f"{len(wrong) - 3} more lines")


def test_records_that_cannot_be_read_are_named_and_none(run: RunDirectory) -> None:
    (run.path / METRICS).mkdir()
    said: list[str] = []
    assert run.read(METRICS, said.append) == []
    assert said[0].startswith(f"{run.path / METRICS} could not be read: Is a directory.")
    with pytest.raises(UserError, match="could not be read: Is a directory"):
        run.rewind(0)


def test_records_that_cannot_be_written_are_a_sentence(run: RunDirectory) -> None:
    (run.path / METRICS).mkdir()
    with pytest.raises(UserError, match=r"metrics.jsonl could not be written: Is a directory.*tutelage resume"):
        run.append(METRICS, [at(1)])


def test_rewind_forgets_what_came_after(run: RunDirectory) -> None:
    run.append(METRICS, [at(i, loss=i / 3) for i in range(1, 6)])
    run.append(EVALUATIONS, [evaluated(3), evaluated(6)])
    expected = b"".join((run.path / METRICS).read_bytes().splitlines(keepends=True)[:3])
    with (run.path / METRICS).open("ab") as file:
        file.write(b'{"iteration": 6, "lo')
    run.rewind(3)
    assert (run.path / METRICS).read_bytes() == expected
    assert [record["iteration"] for record in run.read(EVALUATIONS)] == [3]
    run.append(METRICS, [at(4)])
    assert [record["iteration"] for record in run.read(METRICS)] == [1, 2, 3, 4]


def test_rewind_ends_a_whole_line_that_lacks_its_end(run: RunDirectory) -> None:
    (run.path / METRICS).write_text(json.dumps(at(1)))
    run.rewind(1)
    run.append(METRICS, [at(2)])
    assert run.read(METRICS) == [at(1), at(2)]


def test_rewind_makes_and_rewrites_nothing_without_need(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    run.append(METRICS, [at(1)])
    monkeypatch.setattr(os, "replace", no_warning)
    run.rewind(1)
    assert not (run.path / EVALUATIONS).exists()


def test_rewind_is_atomic(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    run.append(METRICS, [at(1), at(2)])

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UserError, match="No space left"):
        run.rewind(1)
    assert len(run.read(METRICS)) == 2


# Checkpoints


def test_the_newest_two_are_kept(run: RunDirectory) -> None:
    assert run.load_latest(TREE, no_warning) is None
    for iteration in (9, 10, 250):
        run.save_checkpoint(iteration, {**TREE, "b": jnp.full(2, iteration, jnp.float32)}, {"steps": iteration * 2})
    assert [path.name for path in run.checkpoints()] == ["000000010.npz", "000000250.npz"]
    latest = run.load_latest(TREE, no_warning)
    assert latest is not None
    tree, meta, iteration = latest
    assert tree["b"].tolist() == [250, 250]
    assert meta == {"steps": 500, "iteration": 250}
    assert iteration == 250


def test_a_failed_save_costs_nothing(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    for iteration in (1, 2):
        run.save_checkpoint(iteration, TREE, {})

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UserError, match="No space left"):
        run.save_checkpoint(3, TREE, {})
    assert [path.name for path in (run.path / "checkpoints").iterdir() if path not in run.checkpoints()] == []
    assert [int(path.stem) for path in run.checkpoints()] == [1, 2]


def test_records_reach_the_disk_before_the_checkpoint(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    run.append(METRICS, [at(1)])
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(file: int) -> None:
        calls.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        fsync(file)

    def watched_replace(old: Path, new: Path) -> None:
        calls.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    run.save_checkpoint(1, TREE, {})
    assert calls == [METRICS, "000000001.npz.tmp", "replace", "checkpoints"]


def test_a_damaged_checkpoint_is_passed_over(run: RunDirectory) -> None:
    for iteration in (1, 2):
        run.save_checkpoint(iteration, TREE, {})
    older, newer = run.checkpoints()
    newer.write_bytes(newer.read_bytes()[:100])
    said: list[str] = []
    latest = run.load_latest(TREE, said.append)
    assert latest is not None
    assert latest[2] == 1
    assert said == ["Checkpoint 000000002.npz is damaged (File is not a zip file); falling back to 000000001.npz."]
    older.write_bytes(b"")
    said.clear()
    assert run.load_latest(TREE, said.append) is None
    assert said[1] == (
        "Checkpoint 000000001.npz is damaged (File is not a zip file); starting again from the beginning."
    )


def test_what_a_damaged_checkpoint_leaves_behind_is_tidied(run: RunDirectory) -> None:
    for iteration in (10, 20):
        run.save_checkpoint(iteration, TREE, {})
    run.checkpoints()[1].write_bytes(b"")
    run.rewind(10)
    (run.path / "checkpoints" / "000000030.npz.tmp").write_bytes(b"killed")
    run.save_checkpoint(15, TREE, {})
    assert sorted(path.name for path in (run.path / "checkpoints").iterdir()) == ["000000010.npz", "000000015.npz"]


def test_changed_settings_are_not_passed_over(run: RunDirectory) -> None:
    run.save_checkpoint(1, TREE, {})
    with pytest.raises(UserError, match="The settings have changed"):
        run.load_latest({**TREE, "b": jnp.zeros(3)}, no_warning)


def test_a_checkpoint_under_another_name_is_passed_over(run: RunDirectory) -> None:
    for iteration in (1, 2):
        run.save_checkpoint(iteration, TREE, {})
    run.checkpoints()[1].rename(run.path / "checkpoints" / "000000009.npz")
    (run.path / "checkpoints" / "000000010.npz").mkdir()
    said: list[str] = []
    latest = run.load_latest(TREE, said.append)
    assert latest is not None
    assert latest[2] == 1
    assert said == ["Checkpoint 000000009.npz is damaged (it is not of that iteration); falling back to 000000001.npz."]
