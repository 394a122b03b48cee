"""A study on disk, and the loop that brings every one of its runs to its end. No JAX here.

Each planned run is an ordinary run directory, and what is there decides what remains to be done: a run with its
last checkpoint is finished, any other goes on from where it is. So a study that was stopped, killed or extended is
simply started again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import mean
from typing import Any, Protocol

from ..errors import UserError, require
from . import grid, lines, schema
from .directory import ABOUT, CHECKPOINTS, CONFIG, EVALUATIONS, LOCK, METRICS, RunDirectory
from .engines import Engine, Job
from .files import is_locked, locked, write_atomically
from .grid import PlannedRun, Study
from .signals import interruptible
from .worker import STOPPED

COPY = "study.toml"
STATUS = "status.json"


class State(StrEnum):
    """How a run is doing."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class StudyRun:
    """A planned run and its directory, which may not be there yet."""

    plan: PlannedRun
    path: Path

    @property
    def log(self) -> Path:
        """Beside the run, whose directory is the run's own."""
        return self.path.with_suffix(".log")

    @property
    def finished(self) -> bool:
        """The last checkpoint is what a run writes last."""
        return (self.path / CHECKPOINTS / f"{self.plan.iterations:09d}.npz").is_file()

    @property
    def iteration(self) -> int:
        """The last one that was logged."""
        return (
            self.plan.iterations
            if self.finished
            else lines.last(self.path / METRICS, schema.metrics).get("iteration", 0)
        )

    def held_out(self) -> dict[str, Any]:
        """The last evaluation on the suite that the run watches; empty if there is none."""
        suite = self.plan.settings.train.suite
        records = RunDirectory(self.path).read(EVALUATIONS)
        mine = [record for record in records if (record["suite"], record["student"]) == (suite, 0)]
        return mine[-1] if mine else {}

    def create(self) -> None:
        """Make the run's directory, unless it is there. One whose maker was killed on the way is made again."""
        if (self.path / CONFIG).is_file():
            return
        if self.path.is_dir() and {path.name.removesuffix(".tmp") for path in self.path.iterdir()} <= _UNBORN:
            shutil.rmtree(self.path)
        RunDirectory.create(self.path, self.plan.settings)


_UNBORN = {ABOUT, CONFIG, CHECKPOINTS}


class View(Protocol):
    """Somebody who watches a study."""

    def changed(self, run: StudyRun, state: State, note: str = "") -> None:
        """A run has come to another state."""
        ...

    def tick(self, states: Mapping[StudyRun, State]) -> None:
        """Called several times a second."""
        ...


@contextmanager
def opened(study: Study, path: Path | str) -> Iterator[list[StudyRun]]:
    """The study's directory, new or not, and all planned runs in it. Nobody else runs it meanwhile."""
    path = Path(path)
    _require_ours(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(
            f"The study directory {path} cannot be made: {problem.strerror or problem}. Choose another with --out."
        ) from problem
    with locked(path / LOCK, f"The study {path} is being run"):
        _require_ours(path)
        runs = [StudyRun(plan, path / plan.name) for plan in study.plans]
        _require_same(study, path, runs)
        if not (path / COPY).exists() or (path / COPY).read_bytes() != study.text.encode():
            write_atomically(path / COPY, study.text.encode())
        yield runs


def _require_ours(path: Path) -> None:
    if path.is_dir() and not (path / COPY).is_file():
        require(
            not {entry.name for entry in path.iterdir()} - {LOCK, COPY + ".tmp"},
            f"The directory {path} exists, is not empty and holds no study; choose another with --out.",
        )


def _require_same(study: Study, path: Path, runs: Sequence[StudyRun]) -> None:
    """Runs may be added to a study; what a run was started with stays."""
    if not (path / COPY).is_file():
        return
    before = grid.read(path / COPY)
    require(
        bool({plan.name for plan in before.plans} & {plan.name for plan in study.plans}),
        f"The directory {path} holds another study: none of its runs, such as {before.plans[0].name}, is in "
        f"{study.source}. Choose another with --out, or add to its own file {path / COPY}.",
    )
    for run in runs:
        if (run.path / CONFIG).is_file():
            change = grid.difference(RunDirectory.open(run.path).settings(), run.plan.settings)
            require(
                not change,
                f"{study.source} changes a setting of the run {run.path}, which has been started: {change}. "
                "Put it back, make it a variant, or choose another directory with --out.",
            )


def run_all(
    path: Path | str, runs: Sequence[StudyRun], engine: Engine, view: View, pause: float = 0.2
) -> dict[StudyRun, State]:
    """Bring every run to its end, as many at once as the engine computes. Returns how each of them ended.

    Ctrl-C, or a polite kill, stops all of them with a checkpoint; a second one does not wait for that.
    """
    states = {run: State.FINISHED if run.finished else State.WAITING for run in runs}
    waiting = deque(run for run in runs if states[run] is State.WAITING)
    free = list(range(engine.slots))[::-1]
    running: dict[StudyRun, tuple[Job, int]] = {}
    ended: dict[str, int] = {}

    def change(run: StudyRun, state: State, note: str = "") -> None:
        states[run] = state
        _write_status(Path(path), states, ended)
        view.changed(run, state, note)

    def fill() -> None:
        for _ in range(len(waiting)):
            if not free:
                return
            run = waiting.popleft()
            # A study that was killed a moment ago may have left it writing a checkpoint.
            if is_locked(run.path / LOCK):
                waiting.append(run)
                continue
            try:
                run.create()
                running[run] = engine.start(run.path, run.log, free[-1]), free[-1]
            except UserError as problem:  # such as a folder that is in the way; the others need not wait for it
                change(run, State.FAILED, str(problem))
                continue
            free.pop()
            change(run, State.RUNNING, f"from iteration {run.iteration}" if run.iteration else "")

    def reap(stopping: bool) -> None:
        for run, (job, slot) in list(running.items()):
            status = job.poll()
            if status is not None:
                del running[run]
                free.append(slot)
                ended[run.plan.name] = status
                change(run, *_outcome(run, status, stopping))

    _write_status(Path(path), states, ended)
    stopping = False
    try:
        with interruptible() as interrupted:
            while waiting or running:
                if interrupted() and not stopping:
                    stopping = True
                    waiting.clear()
                    for job, _ in running.values():
                        job.stop()
                fill()
                view.tick(states)
                time.sleep(pause)
                reap(stopping)
    finally:
        for job, _ in running.values():  # of which there are some only if something went wrong here
            job.stop()
    return states


def _outcome(run: StudyRun, status: int, stopping: bool) -> tuple[State, str]:
    if run.finished:
        return State.FINISHED, ""
    if status == STOPPED or (stopping and status < 0):
        return State.STOPPED, f"at iteration {run.iteration}"
    how = f"it was ended by signal {-status}" if status < 0 else f"exit status {status}"
    return State.FAILED, f"{how}; see {run.log}"


def _write_status(path: Path, states: Mapping[StudyRun, State], ended: Mapping[str, int]) -> None:
    """For people and programs that look in from outside. Nothing here reads it."""
    status = {
        run.plan.name: {"state": state, "exit": ended.get(run.plan.name), "log": f"{run.plan.name}.log"}
        for run, state in states.items()
    }
    write_atomically(path / STATUS, (json.dumps(status, indent=2) + "\n").encode())


def finish(directory: Path, runs: Sequence[StudyRun], write: Callable[[str], None] = print) -> None:
    """What a study ends with: its methods side by side, over the seeds that are finished."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in runs:
        if run.finished and (record := run.held_out()):
            rows.setdefault((run.plan.group, record["suite"]), []).append(record)
    if not rows:
        return
    width = max(len("method"), *(len(group) for group, _ in rows))
    write(f"{'method':<{width}}  {'solved':>6}  {'return':>8}  {'n':>3}  suite")
    for (group, suite), records in rows.items():
        solved, returned = (mean(record[name] for record in records) for name in ("solved", "return"))
        write(f"{group:<{width}}  {solved:>6.3f}  {returned:>8.3f}  {len(records):>3}  {suite}")
    write("Means over n seeds of each run's last evaluation.")
