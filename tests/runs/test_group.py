"""Several seeds in one directory: each a run like any other, and all of them stopped and resumed together."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.runs import session
from tutelage.runs.directory import EVALUATIONS, METRICS
from tutelage.runs.session import Run, Silent
from tutelage.settings import OWN

ITERATIONS, SEEDS = 6, 3
TINY = {
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max_steps": "12",
    "network.core": "none",
    "network.width": "4",
    "encoder.filters": "2",
    "ppo.epochs": "1",
    "replay.capacity": "8",
    "replay.rate": "0.7",
    "train.seed": "4",
    "train.levels": "4",
    "train.rollout": "16",
    "train.steps": str(ITERATIONS * 4 * 16),
    "train.log_every": "2",
    "train.checkpoint_every": "2",
    "train.evaluate_every": "4",
    "train.episodes": "4",
}
SLOW_PROGRAM = """
import sys, time, tutelage
from tutelage.runs.session import Silent

class Slow(Silent):
    def advanced(self, record):
        time.sleep(0.5)

tutelage.train_seeds(tutelage.read_settings(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Slow())
"""


def tiny() -> tutelage.Settings:
    return tutelage.override(tutelage.preset("maze", "robust-plr", "small"), TINY)


class Watcher(Silent):
    """Notes what it is told, and may press Ctrl-C once an iteration is done."""

    def __init__(self, stop_at: int = 0) -> None:
        self.stop_at = stop_at
        self.records: list[Any] = []
        self.solved: list[float] = []

    def advanced(self, record: Any) -> None:
        self.records.append(record)
        if record["iteration"] == self.stop_at:
            signal.raise_signal(signal.SIGINT)

    def evaluated(self, iteration: int, evaluation: Any) -> None:
        self.solved.append(evaluation.solved_rate)


def without_time(run: Run) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name not in ("seconds", "steps_per_second")}
        for record in run.directory.read(METRICS)
    ]


def assert_same_runs(runs: list[Run], others: list[Run]) -> None:
    for run, other in zip(runs, others, strict=True):
        assert run.finished
        assert run.digest == other.digest == tutelage.load(run.directory.path).digest
        assert without_time(run) == without_time(other)
        assert run.directory.read(EVALUATIONS) == other.directory.read(EVALUATIONS)


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    """Runs that differ in their seed only share one program in this process, which they do across processes anyway."""
    build = functools.cache(session.build)

    def build_for_any_seed(settings: tutelage.Settings, domain: Any = None) -> tutelage.Trainer:
        return build(replace(settings, train=replace(settings.train, seed=0, shared_seed=OWN)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "build", build_for_any_seed)
        patch.setattr(session, "compiled", functools.cache(session.compiled))
        yield


@pytest.fixture(scope="module")
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, watcher: Watcher) -> list[Run]:
    """Three seeds that were never stopped."""
    return tutelage.train_seeds(tiny(), tmp_path_factory.mktemp("group") / "whole", SEEDS, watcher)


@pytest.fixture
def stopped(whole: list[Run], tmp_path: Path) -> Path:
    """The same, stopped on the way."""
    runs = tutelage.train_seeds(tiny(), tmp_path / "runs", SEEDS, Watcher(stop_at=4))
    assert [(run.iteration, run.finished) for run in runs] == [(4, False)] * SEEDS
    return tmp_path / "runs"


def test_every_seed_has_a_directory_like_any_other(whole: list[Run]) -> None:
    path = whole[0].directory.path.parent
    assert sorted(entry.name for entry in path.iterdir()) == ["seed-4", "seed-5", "seed-6", "seeds.json"]
    assert json.loads((path / "seeds.json").read_text()) == {"runs": ["seed-4", "seed-5", "seed-6"]}
    assert len({run.digest for run in whole}) == SEEDS
    for seed, run in enumerate(whole, start=4):
        again = tutelage.load(path / f"seed-{seed}")
        assert again.digest == run.digest
        assert (again.settings.train.seed, again.settings.train.shared_seed) == (seed, 4)
        assert [record["iteration"] for record in again.directory.read(METRICS)] == [2, 4, 6]
        assert [record["iteration"] for record in again.directory.read(EVALUATIONS)] == [0, 4, 6]
        assert [file.stem for file in again.directory.checkpoints()] == ["000000004", "000000006"]
        assert again.evaluate(episodes=2).tasks


def test_speed_is_that_of_one_seed_and_who_watches_sees_means(whole: list[Run], watcher: Watcher) -> None:
    records = zip(*(run.directory.read(METRICS) for run in whole), strict=True)
    for seen, each in zip(watcher.records, records, strict=True):
        for record in each:
            assert record["steps_per_second"] == pytest.approx(2 * 4 * 16 / record["seconds"])
            assert record["steps"] == record["iteration"] * 4 * 16 == seen["steps"]
        assert seen["return"] == pytest.approx(np.mean([record["return"] for record in each]))
    evaluations = zip(*(run.directory.read(EVALUATIONS) for run in whole), strict=True)
    assert watcher.solved == pytest.approx([np.mean([record["solved"] for record in each]) for each in evaluations])


def test_seeds_that_were_stopped_go_on_as_if_they_had_not(whole: list[Run], stopped: Path) -> None:
    assert_same_runs(tutelage.resume_seeds(stopped), whole)


def test_seeds_that_were_killed_between_their_checkpoints_go_on_from_one_that_all_have(
    whole: list[Run], stopped: Path
) -> None:
    (stopped / "seed-6" / "checkpoints" / "000000004.npz").unlink()
    watcher = Watcher()
    runs = tutelage.resume_seeds(stopped, watcher)
    assert [record["iteration"] for record in watcher.records] == [4, 6]
    assert_same_runs(runs, whole)


def test_killed_seeds_go_on_as_if_they_had_not_been(whole: list[Run], tmp_path: Path) -> None:
    path = tmp_path / "runs"
    config = tmp_path / "config.toml"
    config.write_text((whole[0].directory.path / "config.toml").read_text())
    command = [sys.executable, "-c", SLOW_PROGRAM, str(config), str(path), str(SEEDS)]
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    cache = jax.config.jax_compilation_cache_dir
    environment = os.environ | {"PYTHONPATH": paths} | ({"JAX_COMPILATION_CACHE_DIR": cache} if cache else {})
    process = subprocess.Popen(command, env=environment)
    try:
        deadline = time.monotonic() + 240
        while not list(path.glob("seed-4/checkpoints/*.npz")):
            assert process.poll() is None, "the program ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(UserError, match=rf"is being trained by another process \(pid {process.pid}\)"):
            tutelage.resume_seeds(path)
    finally:
        process.kill()
        process.wait()
    watcher = Watcher()
    runs = tutelage.resume_seeds(path, watcher)
    assert watcher.records, "something was left to do"
    assert_same_runs(runs, whole)


def test_one_seed_does_not_go_on_without_the_others_but_its_copy_does(whole: list[Run], stopped: Path) -> None:
    with pytest.raises(UserError, match=rf"resume all of them: `tutelage resume {stopped}`"):
        tutelage.resume(stopped / "seed-5")
    shutil.copytree(stopped / "seed-5", stopped.parent / "copy")
    alone = tutelage.resume(stopped.parent / "copy")
    assert alone.finished
    for mine, theirs in zip(without_time(alone), without_time(whole[1]), strict=True):
        assert mine.get("replayed/share") == theirs.get("replayed/share")
    moved = [jax.tree.leaves(run.state.students.agent.params) for run in (alone, whole[1])]
    for a, b in zip(*moved, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_one_seed_is_a_run_like_any_other(tmp_path: Path) -> None:
    (run,) = tutelage.train_seeds(tiny(), tmp_path / "one", 1)
    plain = tutelage.train(tiny(), tmp_path / "plain")
    assert run.digest == plain.digest
    assert run.settings == plain.settings == tiny()
    assert {entry.name for entry in (tmp_path / "one").iterdir()} == {
        entry.name for entry in (tmp_path / "plain").iterdir()
    }


def test_what_cannot_work_is_refused(stopped: Path) -> None:
    with pytest.raises(UserError, match="0 seeds were asked for; give at least 1"):
        tutelage.train_seeds(tiny(), stopped.parent / "none", 0)
    with pytest.raises(UserError, match=rf"{stopped} already holds the runs of several seeds; continue it with"):
        tutelage.train_seeds(tiny(), stopped, 2)
    with pytest.raises(UserError, match=rf"{stopped} holds several runs, one for each seed; give one of them"):
        tutelage.load(stopped)
    config = stopped / "seed-5" / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("epochs = 1", "epochs = 2"))
    with pytest.raises(UserError, match="may differ in train.seed only"):
        tutelage.resume_seeds(stopped)
    config.write_text(text)
    shutil.move(stopped / "seed-5", stopped.parent / "elsewhere")
    with pytest.raises(UserError, match=rf"The run {stopped / 'seed-5'} is missing"):
        tutelage.resume_seeds(stopped)
    (stopped / "seeds.json").write_text("{")
    with pytest.raises(UserError, match=r"seeds.json could not be read"):
        tutelage.resume_seeds(stopped)


def test_the_command_line_trains_stops_and_resumes_several(
    whole: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [f"--{name}={value}" for name, value in TINY.items() if name != "train.seed"]
    command = ["train", "maze", "robust-plr", "--preset", "small", "--seeds", "3", "--seed", "4", "--quiet", *options]
    with monkeypatch.context() as patch:
        patch.setattr(session, "Silent", lambda: Watcher(stop_at=2))
        assert main(command) == 130
    path = "runs/maze-robust-plr-s4-6"
    assert f"Stopped at iteration 2 of 6. Go on with: tutelage resume {path}" in capsys.readouterr().out
    assert main(["resume", path, "--quiet"]) == 0
    said = f"Finished. The runs of 3 seeds are in {path}; see one with: tutelage show {path}/seed-4"
    assert said in capsys.readouterr().out
    assert main(["show", f"{path}/seed-5"]) == 0
    assert whole[1].digest in capsys.readouterr().out
    assert main(["show", path]) == 2
    assert "give one of them, such as" in capsys.readouterr().err
