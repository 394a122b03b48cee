"""A run is the same run, however it was stopped."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.errors import UserError
from tutelage.runs import session
from tutelage.runs.directory import EVALUATIONS, METRICS
from tutelage.runs.session import Run, Silent
from tutelage.settings import OWN

ITERATIONS = 12
TINY = {
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max_steps": "12",
    "network.width": "8",
    "encoder.filters": "2",
    "ppo.epochs": "2",
    "replay.capacity": "16",
    "train.levels": "8",
    "train.rollout": "16",
    "train.steps": str(ITERATIONS * 8 * 16),
    "train.log_every": "2",
    "train.checkpoint_every": "3",
    "train.evaluate_every": "4",
    "train.episodes": "4",
}
HALTING_RUN = """
import sys, time, tutelage
from tutelage.runs.session import Silent

class Halting(Silent):
    def advanced(self, record):
        if record["iteration"] == 4:  # past the checkpoint of iteration 3
            print("halted", flush=True)
            time.sleep(3600)

tutelage.train(tutelage.read_settings(sys.argv[1]), sys.argv[2], Halting())
"""


def tiny(**changes: str) -> tutelage.Settings:
    return tutelage.override(tutelage.preset("maze", "accel", "small"), TINY | changes)


class Watcher(Silent):
    """Notes what it is told, and may send a signal once an iteration is done."""

    def __init__(self, stop_at: int = 0, number: signal.Signals = signal.SIGINT) -> None:
        self.stop_at, self.number = stop_at, number
        self.heard: list[str] = []
        self.iterations: list[int] = []

    def advanced(self, record: Any) -> None:
        self.iterations.append(record["iteration"])
        if record["iteration"] == self.stop_at:
            signal.raise_signal(self.number)

    def said(self, message: str) -> None:
        self.heard.append(message)


def without_time(run: Run, file: str = METRICS) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name not in ("seconds", "steps_per_second")}
        for record in run.directory.read(file)
    ]


def assert_same_run(run: Run, other: Run) -> None:
    assert run.finished
    assert run.digest == other.digest
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that was never stopped."""
    return tutelage.train(tiny(), tmp_path_factory.mktemp("session") / "whole")


def test_a_run_ends_where_it_should(whole: Run) -> None:
    assert whole.finished
    assert whole.iteration == ITERATIONS == int(whole.state.iteration)
    assert [record["iteration"] for record in whole.directory.read(METRICS)] == [2, 3, 4, 6, 8, 9, 10, 12]
    assert [record["iteration"] for record in whole.directory.read(EVALUATIONS)] == [0, 4, 8, 12]
    assert [path.name for path in whole.directory.checkpoints()] == ["000000009.npz", "000000012.npz"]


def test_every_figure_in_the_records_is_finite(whole: Run) -> None:
    for record in whole.directory.read(METRICS):
        assert all(value is not None and np.isfinite(value) for value in record.values())


def test_a_loaded_run_is_what_was_trained(whole: Run) -> None:
    again = tutelage.load(whole.directory.path)
    assert again.digest == whole.digest
    assert again.settings == whole.settings
    first, second = whole.evaluate(episodes=5), again.evaluate(episodes=5)
    assert first.tasks[0].returns.tolist() == second.tasks[0].returns.tolist()


def test_the_same_seed_gives_the_same_run_and_another_does_not(whole: Run, tmp_path: Path) -> None:
    assert_same_run(tutelage.train(tiny(), tmp_path / "same"), whole)
    other = tutelage.train(tiny(**{"train.seed": "1"}), tmp_path / "other")
    assert other.digest != whole.digest


@pytest.mark.parametrize(("number", "at"), [(signal.SIGINT, 4), (signal.SIGTERM, 9)])
def test_a_run_that_was_asked_to_stop_goes_on_as_if_it_had_not(
    whole: Run, tmp_path: Path, number: signal.Signals, at: int
) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stopped = tutelage.train(tiny(), tmp_path / "run", Watcher(at, number))
    assert (stopped.finished, stopped.iteration) == (False, at)
    assert tutelage.load(tmp_path / "run").digest == stopped.digest != whole.digest
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert_same_run(tutelage.resume(tmp_path / "run"), whole)


def test_a_killed_run_goes_on_as_if_it_had_not_been(whole: Run, tmp_path: Path) -> None:
    path = tmp_path / "run"
    command = [sys.executable, "-c", HALTING_RUN, str(whole.directory.path / "config.toml"), str(path)]
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    cache = jax.config.jax_compilation_cache_dir
    environment = os.environ | {"PYTHONPATH": paths} | ({"JAX_COMPILATION_CACHE_DIR": cache} if cache else {})
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with process.stdout as said:
            assert said.readline() == "halted\n", "the run ended before it could be killed"
        with pytest.raises(UserError, match=rf"is being trained by another process \(pid {process.pid}\)"):
            tutelage.resume(path)
        assert not tutelage.load(path).finished  # reading needs no lock
    finally:
        process.kill()
        process.wait()
    watcher = Watcher()
    run = tutelage.resume(path, watcher)
    assert watcher.iterations[0] == 4  # which was done, but is in no checkpoint
    assert_same_run(run, whole)


def test_a_run_that_was_stopped_before_its_first_checkpoint_starts_again(whole: Run, tmp_path: Path) -> None:
    class Accident(Silent):
        def advanced(self, record: Any) -> None:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        tutelage.train(tiny(), tmp_path / "run", Accident())
    assert_same_run(tutelage.resume(tmp_path / "run"), whole)


def test_a_damaged_checkpoint_costs_only_time(whole: Run, tmp_path: Path) -> None:
    tutelage.train(tiny(), tmp_path / "run", Watcher(8))
    newest = tmp_path / "run" / "checkpoints" / "000000008.npz"
    content = bytearray(newest.read_bytes())
    middle = slice(len(content) // 2, len(content) // 2 + 400)  # longer than the dates and names between two arrays
    content[middle] = bytes(byte ^ 1 for byte in content[middle])
    newest.write_bytes(content)
    watcher = Watcher()
    run = tutelage.resume(tmp_path / "run", watcher)
    assert len(watcher.heard) == 1
    assert watcher.heard[0].startswith("Checkpoint 000000008.npz is damaged (")
    assert watcher.heard[0].endswith("); falling back to 000000006.npz.")
    assert watcher.iterations[0] == 8
    assert_same_run(run, whole)


def test_a_finished_run_stays_as_it_is(whole: Run) -> None:
    before = {file: (whole.directory.path / file).read_bytes() for file in (METRICS, EVALUATIONS)}
    watcher = Watcher()
    again = tutelage.resume(whole.directory.path, watcher)
    assert watcher.iterations == []
    assert again.digest == whole.digest
    assert {file: (whole.directory.path / file).read_bytes() for file in before} == before


def test_a_resumed_run_is_the_same_program(whole: Run) -> None:
    """A weak type is lost in a checkpoint, and the program for the restored state would be another one."""
    first = jax.eval_shape(whole.trainer.init, 0)
    weak = [path for path, leaf in jax.tree_util.tree_leaves_with_path(first) if leaf.weak_type]
    assert [jax.tree_util.keystr(path) for path in weak] == []


def test_a_resumed_run_has_the_schedule_of_the_run_that_was_asked_for(whole: Run, tmp_path: Path) -> None:
    """The learning rate falls to 0 at the end of the whole run, not of what a resume has left to do."""
    assert whole.settings.ppo.anneal
    half = tutelage.train(tiny(), tmp_path / "run", Watcher(6))
    assert half.trainer.iterations == ITERATIONS == tutelage.load(tmp_path / "run").trainer.iterations
    # The last iteration still learns a little; one more would not.
    changes = {name: value for name, value in TINY.items() if not name.startswith("replay")}
    changes |= {"network.core": "none"}
    trainer = tutelage.build(tutelage.override(tutelage.preset("maze", "dr", "small"), changes))
    step, state = jax.jit(trainer.step), jax.jit(trainer.init)(0)

    def change(iteration: int) -> float:
        after = step(state._replace(iteration=jax.numpy.int32(iteration)))[0].students.agent.params
        moved = jax.tree.map(lambda a, b: float(abs(a - b).max()), state.students.agent.params, after)
        return max(jax.tree.leaves(moved))

    first, last, beyond = change(0), change(ITERATIONS - 1), change(ITERATIONS)
    assert 0 < last < 0.2 * first
    assert beyond < 1e-5 * first


def test_speed_is_that_of_the_interval_after_the_device_has_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            return self.now

    class Evaluated(Silent):
        def evaluated(self, iteration: int, evaluation: Any) -> None:
            clock.now += 1000.0  # not training

    clock, get = Clock(), jax.device_get

    def slow_get(tree: Any) -> Any:
        clock.now += 5.0  # waiting for the device
        return get(tree)

    monkeypatch.setattr(session, "time", clock)
    monkeypatch.setattr(jax, "device_get", slow_get)
    run = tutelage.train(tiny(), tmp_path / "run", Evaluated())
    before = 0
    for record in run.directory.read(METRICS):
        assert record["seconds"] == 5.0
        assert record["steps_per_second"] == (record["iteration"] - before) * 8 * 16 / 5.0
        assert record["steps"] == record["iteration"] * 8 * 16
        before = record["iteration"]


def test_what_cannot_work_is_refused_before_a_directory_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no suite called 'fersh'. Did you mean fresh"):
        tutelage.train(tiny(**{"train.suite": "fersh"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_config_of_a_run_is_enough_to_repeat_it(whole: Run, tmp_path: Path) -> None:
    settings = tutelage.read_settings(whole.directory.path / "config.toml")
    assert settings == whole.settings
    about = json.loads((whole.directory.path / "run.json").read_text())
    assert set(about) == {"version", "created", "command"}


@pytest.mark.parametrize("method", ["minimax", "paired", "population-paired", "repaired"])
def test_runs_with_teachers_resume_exactly(method: str, tmp_path: Path) -> None:
    # Only one of the four has a student with a memory: it takes long to compile, and the other tests here have it.
    memory = {"network.core": "lstm" if method == "repaired" else "none"}
    smaller = {"teacher.encoder.filters": "2", "teacher.head": "4", "env.size": "3", "env.blocks": "2"} | memory
    changes = {name: value for name, value in (TINY | smaller).items() if not name.startswith("replay.")}
    if method == "repaired":
        changes |= {"replay.capacity": "16", "replay.rate": "0.5"}
    if method == "population-paired":
        changes |= {"adversary.students": "3"}
    settings = tutelage.override(tutelage.preset("maze", method, "small"), changes)
    whole = tutelage.train(settings, tmp_path / "whole")
    part = tutelage.train(settings, tmp_path / "part", Watcher(stop_at=2))
    assert not part.finished
    assert_same_run(tutelage.resume(tmp_path / "part"), whole)
    assert whole.evaluate(episodes=2, student=whole.trainer.students - 1).tasks


def test_a_run_that_fits_gaussians_resumes_exactly(tmp_path: Path) -> None:
    """It is stopped between two fits: a checkpoint holds the Gaussians, and what the next are fitted to."""
    shape = {"train.levels": "8", "train.rollout": "4", "train.steps": "192", "train.log_every": "1"}
    often = {"train.checkpoint_every": "2", "train.evaluate_every": "0", "train.episodes": "2"}
    mixture = {"mixture.fit_every": "16", "mixture.most": "3"}
    settings = tutelage.override(tutelage.preset("matrix", "alp-gmm"), shape | often | mixture)
    whole = tutelage.train(settings, tmp_path / "whole")
    part = tutelage.train(settings, tmp_path / "part", Watcher(stop_at=3))
    assert not part.finished
    assert_same_run(tutelage.resume(tmp_path / "part"), whole)
