"""Sinks are copies of a run's records: complete, without repetition, and of no consequence for the run."""

from __future__ import annotations

import functools
import os
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.runs import session, sinks
from tutelage.runs.directory import EVALUATIONS, METRICS
from tutelage.runs.session import Run, Silent
from tutelage.runs.sinks import SINKS, Kind

TINY = {
    "train.levels": "4",
    "train.rollout": "4",
    "train.steps": "192",
    "train.log_every": "2",
    "train.checkpoint_every": "6",
    "train.evaluate_every": "6",
    "train.episodes": "2",
    "ppo.epochs": "1",
}


def tiny() -> tutelage.Settings:
    return tutelage.override(tutelage.preset("matrix", "dr"), TINY)


class Watcher(Silent):
    """Notes what it is told, and may ask to stop, or die, after an iteration."""

    def __init__(self, stop_at: int = 0, die_at: int = 0) -> None:
        self.stop_at, self.die_at, self.heard = stop_at, die_at, list[str]()

    def advanced(self, record: Any) -> None:
        if record["iteration"] == self.stop_at:
            signal.raise_signal(signal.SIGINT)
        if record["iteration"] == self.die_at:
            raise RuntimeError("died")

    def said(self, message: str) -> None:
        self.heard.append(message)


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "build", functools.cache(session.build))
        patch.setattr(session, "compiled", functools.cache(session.compiled))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that has no sinks."""
    return tutelage.train(tiny(), tmp_path_factory.mktemp("sinks") / "whole")


# --- TensorBoard


def events(run: Run) -> list[tuple[str, int, float]]:
    """Tag, step and value of every scalar that the run's event files hold."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted((run.directory.path / "tensorboard").iterdir()):
        data = path.read_bytes()
        while data:  # length, its checksum, the event, its checksum
            (size,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + size])
            found += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
            data = data[16 + size :]
    return found


def expected(run: Run) -> dict[tuple[str, int], float]:
    """The same from the run's own records."""
    scalars = {
        (name, record["steps"]): value
        for record in run.directory.read(METRICS)
        for name, value in record.items()
        if name not in ("iteration", "steps")
    }
    for record in run.directory.read(EVALUATIONS):
        suite = f"held-out/{record['suite']}"
        scalars[f"{suite}/solved", record["steps"]] = record["solved"]
        scalars[f"{suite}/return", record["steps"]] = record["return"]
        for task, figures in record["tasks"].items():
            scalars[f"{suite}/{task}/solved", record["steps"]] = figures["solved"]
    return scalars


def assert_copied(run: Run) -> None:
    written = events(run)
    assert max(Counter((tag, step) for tag, step, _ in written).values()) == 1
    assert {(tag, step): value for tag, step, value in written} == pytest.approx(expected(run), rel=1e-6)


def test_tensorboard_has_every_figure_once_and_the_run_is_the_same(whole: Run, tmp_path: Path) -> None:
    run = tutelage.train(tiny(), tmp_path / "run", log=["tensorboard", "tensorboard"])
    assert_copied(run)
    assert run.digest == whole.digest


def test_a_resumed_run_has_every_figure_once(whole: Run, tmp_path: Path) -> None:
    """It died past its checkpoint, so that its event file held steps that were taken again."""
    with pytest.raises(RuntimeError, match="died"):
        tutelage.train(tiny(), tmp_path / "run", Watcher(die_at=10), log=["tensorboard"])
    run = tutelage.resume(tmp_path / "run", log=["tensorboard"])
    assert_copied(run)
    assert run.digest == whole.digest


def test_a_sink_that_is_added_later_gets_what_was_before(tmp_path: Path) -> None:
    tutelage.train(tiny(), tmp_path / "run", Watcher(stop_at=6))
    assert_copied(tutelage.resume(tmp_path / "run", log=["tensorboard"]))


def test_each_seed_of_a_program_has_its_own(tmp_path: Path) -> None:
    for run in tutelage.train_seeds(tiny(), tmp_path / "runs", 2, log=["tensorboard"]):
        assert_copied(run)


# --- Weights & Biases


class FakeWandB(ModuleType):
    """What we use of the package: a run that keeps its history by identity, and refuses steps that it has passed."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.histories: dict[str, dict[int, dict[str, float]]] = {}
        self.opened: list[dict[str, Any]] = []
        self.finished = 0

    def init(self, **options: Any) -> Any:
        self.opened.append(options)
        history = self.histories.setdefault(options["id"], {})

        def log(figures: dict[str, float], step: int) -> None:
            assert step >= max(history, default=0), "a step back"
            history.setdefault(step, {}).update(figures)

        def finish() -> None:
            self.finished += 1

        return SimpleNamespace(log=log, finish=finish, starting_step=max(history, default=-1) + 1)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> FakeWandB:
    fake = FakeWandB()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.setenv("WANDB_MODE", "offline")
    return fake


def test_wandb_has_every_figure_and_never_steps_back(wandb: FakeWandB, whole: Run, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="died"):
        tutelage.train(tiny(), tmp_path / "run", Watcher(die_at=10), log=["wandb"])
    watcher = Watcher()
    run = tutelage.resume(tmp_path / "run", watcher, log=["wandb"])
    assert watcher.heard == []
    (history,) = wandb.histories.values()
    logged = {(name, step): value for step, figures in history.items() for name, value in figures.items()}
    clocks = ("seconds", "steps_per_second")
    assert {key: value for key, value in logged.items() if key[0] not in clocks} == {
        key: value for key, value in expected(run).items() if key[0] not in clocks
    }
    assert wandb.finished == 2
    first, second = wandb.opened
    assert first == second
    assert (first["project"], first["resume"], first["name"]) == ("tutelage", "allow", f"{tmp_path.name}/run")
    assert first["config"]["train.steps"] == "192"
    assert run.digest == whole.digest


# --- refusals and failures


@pytest.mark.parametrize("arguments", [["train", "matrix", "dr"], ["resume", "nowhere"]])
def test_a_missing_package_is_a_sentence(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sinks, "find_spec", lambda name: None)
    assert main([*arguments, "--log", "wandb"]) == 2
    assert capsys.readouterr().err == (
        "tutelage: --log wandb needs the package wandb, which is not installed; "
        "install it with `pip install 'tutelage[wandb]'`, or leave --log wandb out.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_sink_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no log called 'tensorbord'. Did you mean tensorboard?"):
        tutelage.train(tiny(), tmp_path / "run", log=["tensorbord"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("when", ["open", "metrics", "evaluated", "close"])
def test_a_sink_that_fails_is_named_once_and_dropped(
    when: str, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no room left")

    def quiet(*_: Any) -> None: ...

    def opener(*_: Any) -> Any:
        if when == "open":
            fail()
        return SimpleNamespace(**{name: fail if name == when else quiet for name in ("metrics", "evaluated", "close")})

    monkeypatch.setitem(SINKS, "wandb", Kind("json", "wandb", opener))
    watcher = Watcher()
    run = tutelage.train(tiny(), tmp_path / "run", watcher, log=["wandb", "tensorboard"])
    assert watcher.heard == [
        "--log wandb failed (no room left) and gets nothing more; the run goes on, and metrics.jsonl has everything."
    ]
    assert run.finished
    assert run.digest == whole.digest
    assert_copied(run)  # the other sink is none the worse


# --- pictures


@pytest.fixture(scope="module")
def mazes() -> tutelage.Settings:
    small = {**TINY, "train.steps": "32", "train.rollout": "8", "train.evaluate_every": "0", "network.width": "8"}
    return tutelage.override(tutelage.preset("maze", "dr", "small"), small)


def test_tensorboard_gets_pictures_of_levels_and_of_an_episode(mazes: tutelage.Settings, tmp_path: Path):
    from tensorboardX.proto.event_pb2 import Event

    session.train(mazes, tmp_path / "run", log=["tensorboard"])
    (file,) = (tmp_path / "run" / "tensorboard").iterdir()
    data, tags = file.read_bytes(), []
    while data:
        size = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + size])
        tags += [(value.tag, event.step) for value in event.summary.value if value.HasField("image")]
        data = data[16 + size :]
    assert tags == [("levels", 0), ("episode", 0), ("levels", 32), ("episode", 32)]


def test_the_real_client_of_weights_and_biases_offline(
    mazes: tutelage.Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The run is there with its figures, its levels and its episode."""
    script = tmp_path / "train.py"
    (tmp_path / "config.toml").write_text(tutelage.config.to_toml(mazes))
    script.write_text(
        "import tutelage; from tutelage.runs import session;"
        f"session.train(tutelage.read_settings({str(tmp_path / 'config.toml')!r}), {str(tmp_path / 'run')!r},"
        " log=['wandb'])"
    )
    away = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    subprocess.run([sys.executable, str(script)], check=True, env=away, capture_output=True)
    (kept,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    assert len(list((kept / "files" / "media" / "images").glob("levels_*.png"))) == 2
    assert len(list((kept / "files" / "media" / "videos").glob("episode_*.gif"))) == 2
    (log,) = kept.glob("*.wandb")
    for word in (b"held-out/fresh/solved", b"steps_per_second", b"train.rollout", b"return"):
        assert word in log.read_bytes(), word
