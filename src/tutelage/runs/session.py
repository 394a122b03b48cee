"""Train a run from its directory: new, stopped or finished, it is the same run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np

from ..envs.base import Room
from ..errors import require
from ..evaluation.evaluate import Evaluation, evaluate
from ..experiment import build, build_room
from ..rl.ppo import StudentState
from ..settings import Settings
from ..trainer import Trainer, TrainState, compiled
from ..types import SOURCES
from . import checkpoint
from .directory import EVALUATIONS, METRICS, RunDirectory
from .processes import anywhere, by_first, first, require_same, told_by_first, tree_of_first


class Progress(Protocol):
    """Somebody who watches a run."""

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None: ...

    def advanced(self, record: Mapping[str, Any]) -> None: ...

    def evaluated(self, iteration: int, evaluation: Evaluation) -> None: ...

    def said(self, message: str) -> None: ...


class Silent:
    """Nobody watches."""

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None: ...

    def advanced(self, record: Mapping[str, Any]) -> None: ...

    def evaluated(self, iteration: int, evaluation: Evaluation) -> None: ...

    def said(self, message: str) -> None: ...


@dataclass(frozen=True)
class Run:
    """A run that can be read: its settings, its objects, and the newest state of its training."""

    directory: RunDirectory
    settings: Settings
    trainer: Trainer
    room: Room
    state: TrainState
    iteration: int

    @property
    def finished(self) -> bool:
        return self.iteration >= self.trainer.iterations

    @property
    def digest(self) -> str:
        """SHA-256 of everything that training depends on and changes."""
        return checkpoint.digest(self.state)

    def student(self, index: int = 0) -> StudentState:
        """One student's state, without the student axis. The first is the product of the run."""
        check_student(index, self.trainer.students)
        return jax.tree.map(lambda x: x[index], self.state.students)

    def evaluate(
        self, suite: str = "", episodes: int = 100, seed: int = 0, greedy: bool = False, student: int = 0
    ) -> Evaluation:
        """Play one of the run's students on a suite; without a name, the one it watched in training."""
        chosen = self.room.suite(suite or self.settings.train.suite)
        state = self.student(student)
        return evaluate(self.trainer.student, state, chosen, episodes, seed, self.room.success, greedy)


def check_student(index: int, students: int) -> None:
    """Refuse a student that a run does not have."""
    require(0 <= index < students, f"There is no student {index}; this run has {students}, counted from 0.")


def load(path: Path | str, warn: Callable[[str], None] = print) -> Run:
    """Open a run to read it: its newest whole checkpoint, or its first state if it has none."""
    directory = RunDirectory.open(path)
    settings = directory.settings()
    # Reading needs one device, however many the run is trained on.
    trainer, room = build(replace(settings, train=replace(settings.train, devices=1))), build_room(settings)
    state, iteration = _restore(directory, trainer, settings.train.seed, warn)
    return Run(directory, settings, trainer, room, state, iteration)


def train(settings: Settings, path: Path | str, progress: Progress | None = None) -> Run:
    """Start a new run in a new directory and train it to its end."""
    _check(settings)
    by_first(RunDirectory.create, path, settings)
    return _train(RunDirectory(Path(path)), settings, progress or Silent())


def resume(path: Path | str, progress: Progress | None = None, devices: int = 0) -> Run:
    """Go on with a run that was stopped. The result is that of a run that was never stopped, bit for bit.

    ``devices`` other than the run's own (0) give the same run up to rounding.
    """
    directory = RunDirectory.open(path)
    settings = directory.settings()
    if devices:
        settings = replace(settings, train=replace(settings.train, devices=devices))
    _check(settings)
    return _train(directory, settings, progress or Silent())


def _check(settings: Settings) -> None:
    """Refuse what would fail only after hours."""
    require_same(settings)
    room = build_room(settings)
    room.suite(settings.train.suite)
    build(settings)


def _restore(
    directory: RunDirectory, trainer: Trainer, seed: int, warn: Callable[[str], None]
) -> tuple[TrainState, int]:
    state = jax.jit(trainer.init, static_argnums=0)(seed)
    found: list[Any] = [trainer.devices.local(state)]

    def newest() -> int:
        latest = directory.load_latest(state, warn)
        if latest is None:
            return 0
        found[0] = latest[0]
        return latest[2]

    iteration = told_by_first(newest)
    return (trainer.devices.whole(tree_of_first(found[0])) if iteration else state), iteration


def _train(directory: RunDirectory, settings: Settings, progress: Progress) -> Run:
    progress = progress if first() else Silent()
    with ExitStack() as stack:
        by_first(stack.enter_context, directory.lock())
        interrupted = stack.enter_context(_interruptible())
        trainer, room, schedule = build(settings), build_room(settings), settings.train
        suite = room.suite(schedule.suite)
        state, iteration = _restore(directory, trainer, schedule.seed, progress.said)
        by_first(directory.rewind, iteration)
        progress.started(iteration, trainer.iterations, trainer.steps_per_iteration)
        # Settings decide where logs, evaluations and checkpoints fall, never the clock: a run repeats to the letter.
        stops = (schedule.log_every, schedule.evaluate_every, schedule.checkpoint_every)
        run = compiled(trainer, schedule.log_every)

        def test(iteration: int) -> None:
            product = jax.tree.map(lambda x: x[0], trainer.devices.local(state.students))
            # The episodes of every evaluation are the same, so that the curve shows the student and not the draw.
            result = evaluate(trainer.student, product, suite, schedule.episodes, 0, room.success)
            directory.append(EVALUATIONS, [evaluation_record(iteration, trainer, result)])
            progress.evaluated(iteration, result)

        def save(iteration: int) -> None:
            directory.save_checkpoint(iteration, trainer.devices.local(state), {})

        if iteration == 0 and not any(
            record["iteration"] == 0 for record in told_by_first(directory.read, EVALUATIONS)
        ):
            by_first(test, 0)
        stopped = False
        while iteration < trainer.iterations and not (stopped := anywhere(interrupted())):
            began = time.perf_counter()
            until = min(trainer.iterations, *(_next(iteration, every) for every in stops if every))
            state, log = run(state, until - iteration)
            log = jax.device_get(log)  # waits until the device has finished
            seconds = time.perf_counter() - began
            number, iteration = until - iteration, until
            record = _metrics_record(iteration, number, trainer, log, seconds)
            by_first(directory.append, METRICS, [record])
            progress.advanced(record)
            last = iteration == trainer.iterations
            if last or (schedule.evaluate_every and iteration % schedule.evaluate_every == 0):
                by_first(test, iteration)
            if last or iteration % schedule.checkpoint_every == 0:
                by_first(save, iteration)
        if stopped:
            by_first(save, iteration)
        return Run(directory, settings, trainer, room, trainer.devices.local(state), iteration)


def _next(iteration: int, every: int) -> int:
    """The next multiple of ``every``."""
    return (iteration // every + 1) * every


def _metrics_record(
    iteration: int, number: int, trainer: Trainer, log: Mapping[str, np.ndarray], seconds: float
) -> dict[str, Any]:
    """Average the iterations of one dispatch, over all of them and for each source of levels."""
    log = {name: values[:number] for name, values in log.items()}
    source = log.pop("source")
    steps = trainer.steps_per_iteration
    record: dict[str, Any] = {
        "iteration": iteration,
        "steps": iteration * steps,
        "steps_per_second": number * steps / seconds,
        "seconds": seconds,
    }
    record |= _means(log, np.ones(number, bool))
    by_source = [name for name in log if not name.startswith(("ppo/", "buffer/", "learned"))]
    for index, name in enumerate(SOURCES):
        mine = source == index
        if mine.any():
            means = _means({key: log[key] for key in by_source}, mine)
            record |= {f"{name}/{key}": value for key, value in means.items()}
            record[f"{name}/share"] = float(mine.mean())
    return record


def _means(log: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, float]:
    """Means over iterations in which a figure was defined (NaN marks the others); none, no figure."""
    means = {}
    for name, values in log.items():
        defined = values[rows]
        defined = defined[np.isfinite(defined)]
        if defined.size:
            means[name] = float(defined.mean())
    return means


def evaluation_record(iteration: int, trainer: Trainer, result: Evaluation, student: int = 0) -> dict[str, Any]:
    """A line of ``evaluations.jsonl``."""
    return {
        "iteration": iteration,
        "steps": iteration * trainer.steps_per_iteration,
        "suite": result.suite,
        "seed": result.seed,
        "student": student,
        "solved": result.solved_rate,
        "return": result.mean_return,
        "tasks": {
            task.task: {"solved": task.solved_rate, "return": task.mean_return, "episodes": len(task.returns)}
            for task in result.tasks
        },
    }


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C or a polite kill only asks to stop; a second one stops at once. Needs the main thread."""
    asked = False
    signals = (signal.SIGINT, signal.SIGTERM)

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        signal.signal(number, ask)
    try:
        yield lambda: asked
    finally:
        restore()
