"""Where the runs of a study are computed: in processes of this machine, as tasks of Ray or as jobs of SLURM.

No JAX here. Either way a run is the same process (`worker.py`), which writes to its own directory and log file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from ..errors import UserError, require, unknown
from ..machine import cores
from .worker import STOPPED

COMMAND = (sys.executable, "-m", "tutelage.runs.worker", "--trust")
ENGINES = ("local", "ray", "slurm")
PACKAGES = {"ray": "ray", "slurm": "submitit"}


class Job(Protocol):
    """A run that is being computed."""

    def poll(self) -> int | None:
        """How it ended, or None while it has not: 0 at its end, 130 if it was stopped, else a failure."""
        ...

    def stop(self) -> None:
        """Ask it to write a checkpoint and end."""
        ...


class Engine(Protocol):
    """Computes runs, so many at once."""

    @property
    def slots(self) -> int: ...

    def start(self, run: Path, log: Path, slot: int) -> Job: ...

    def close(self) -> None: ...


def check(name: str, jobs: int | None) -> None:
    """Refuse an engine that does not exist or cannot be had, before anything is made or started."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    require(jobs is None or jobs >= 1, f"--jobs is {jobs}; give at least 1.")
    package = PACKAGES.get(name)
    require(
        package is None or find_spec(package) is not None,
        f"--engine {name} needs the package {package}, which is not installed; install it with "
        f"`pip install 'tutelage[{name}]'`, or leave --engine out to use the processors of this machine.",
    )


def engine(
    name: str, jobs: int | None, sinks: Sequence[str] = (), folder: Path = Path(), options: Sequence[str] = ()
) -> Engine:
    """An engine by name. ``jobs`` is how many runs it computes at once; without, one a core, or all of them where
    SLURM keeps the queue. ``folder`` and ``options`` are for SLURM.
    """
    check(name, jobs)
    command = (*COMMAND, *(word for sink in sinks for word in ("--log", sink)))
    if name == "slurm":
        from .slurm import Slurm, options_of

        return Slurm.begin(jobs, command, folder, options_of(options))
    return Local(jobs or len(cores()), command) if name == "local" else Ray.begin(jobs, command)


# --- this machine


@dataclass(frozen=True)
class Local:
    """Processes, each on its share of the cores, so that they do not push each other around."""

    slots: int
    command: Sequence[str] = COMMAND

    def start(self, run: Path, log: Path, slot: int) -> Process:
        share = shares(cores(), self.slots)[slot]
        where = ["--cores", ",".join(map(str, share))] if hasattr(os, "sched_setaffinity") else []
        return Process.begin([*self.command, str(run), *where], log)

    def close(self) -> None: ...


@dataclass(frozen=True)
class Process:
    """A process that lives no longer than we hold its input open, and that no Ctrl-C of a terminal reaches."""

    process: subprocess.Popen[bytes]

    @classmethod
    def begin(cls, command: Sequence[str], log: Path) -> Process:
        try:
            with log.open("ab") as output:
                return cls(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        except OSError as problem:
            raise UserError(f"{log} could not be written, or the run not started: {problem}.") from problem

    def poll(self) -> int | None:
        status = self.process.poll()
        if status is not None:
            self.stop()  # lets go of its input
        return status

    def stop(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()


def shares(cores: Sequence[int], slots: int) -> list[list[int]]:
    """Cores dealt out to slots, neighbours together; where there are more slots, some have the same core."""
    if slots >= len(cores):
        return [[cores[slot % len(cores)]] for slot in range(slots)]
    ends = [round(slot * len(cores) / slots) for slot in range(slots + 1)]
    return [list(cores[begin:end]) for begin, end in pairwise(ends)]


# --- Ray


def compute(command: Sequence[str], log: str, pause: float = 0.2) -> int:
    """What a task of Ray does: the process of a run, from its start to its end. Cancelling the task stops the run."""
    job = Process.begin(command, Path(log))
    while True:
        try:
            while (status := job.poll()) is None:
                time.sleep(pause)  # short, because Ray's interrupt does not wake it
            return status
        except KeyboardInterrupt:
            job.stop()


@dataclass(frozen=True)
class Ray:
    """Tasks of a Ray cluster: the one at ``RAY_ADDRESS``, or one on this machine for as long as the study runs."""

    ray: Any
    slots: int
    task: Any
    command: Sequence[str]
    ours: bool
    """Did we start Ray, so that we end it?"""

    @classmethod
    def begin(cls, jobs: int | None, command: Sequence[str] = COMMAND) -> Ray:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent to anybody
        ray = import_module("ray")
        ours = not ray.is_initialized()
        if ours:
            remote = os.environ.get("RAY_ADDRESS")
            options = {"address": remote} if remote else {"num_cpus": len(cores()), "include_dashboard": False}
            _begin(ray, {"log_to_driver": False, "logging_level": "ERROR", **options})
        processors = int(ray.cluster_resources().get("CPU", 1))
        slots = jobs or processors
        share = processors // slots or processors / slots
        # A run that fails is not tried again behind our back.
        return cls(ray, slots, ray.remote(num_cpus=share, max_retries=0)(compute), command, ours)

    def start(self, run: Path, log: Path, slot: int) -> Job:
        return Task(self.ray, self.task.remote([*self.command, str(run.resolve())], str(log.resolve())), log)

    def close(self) -> None:
        if self.ours:
            self.ray.shutdown()


def _begin(ray: Any, options: Mapping[str, Any], attempts: int = 3) -> None:
    """Start Ray or connect to it. One of its parts gives another 15 seconds to start, too few on a busy machine; files
    that a first attempt has read are at hand for the second.
    """
    for left in reversed(range(attempts)):
        try:
            ray.init(**options)
            return
        except Exception as problem:
            ray.shutdown()
            if left == 0:
                raise UserError(
                    f"Ray could not be started: {problem} Try again when the machine is idle, or leave --engine out."
                ) from problem


@dataclass(frozen=True)
class Task:
    """A task of Ray."""

    ray: Any
    result: Any
    log: Path

    def poll(self) -> int | None:
        ready, _ = self.ray.wait([self.result], timeout=0)
        if not ready:
            return None
        try:
            return self.ray.get(self.result)
        except self.ray.exceptions.TaskCancelledError:  # before it began
            return STOPPED
        except self.ray.exceptions.RayError as problem:
            with self.log.open("a") as log:
                log.write(f"Ray: {problem}\n")
            return 1

    def stop(self) -> None:
        self.ray.cancel(self.result)
