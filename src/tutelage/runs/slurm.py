"""Runs of a study as jobs of SLURM, through submitit. No JAX here."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import UserError, require
from .engines import COMMAND, Job, Process
from .signals import heard
from .worker import STOPPED

MANY = 10_000
"""Runs that are handed over at once where nobody says how many: the queue is SLURM's."""
JOBS = "slurm"
"""The folder in a study's directory where submitit keeps what it needs."""


def options_of(words: Sequence[str]) -> dict[str, Any]:
    """Options such as ``partition=gpu``, numbers as numbers."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        require(bool(equals and name), f"--slurm is '{word}'; give an option of SLURM as NAME=VALUE.")
        found[name] = int(value) if value.isdecimal() else value
    return found


class Compute:
    """What a job does: the process of a run, from its start to its end.

    SLURM ends a job with a signal, before its time limit or when it is cancelled; then the run writes a checkpoint.
    """

    def __call__(self, command: Sequence[str], log: str, pause: float = 0.2) -> int:
        asked: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
            signal.signal(number, lambda got, _: asked.append(got))
        job = Process.begin(command, Path(log))
        while (status := job.poll()) is None:
            if asked:
                job.stop()
            time.sleep(pause)
        return status


@dataclass(frozen=True)
class Slurm:
    """Jobs of a cluster, or of submitit's local executor where there is none and somebody asks for it."""

    executor: Any
    slots: int
    command: Sequence[str]

    @classmethod
    def begin(
        cls,
        jobs: int | None,
        command: Sequence[str] = COMMAND,
        folder: Path = Path(),
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Slurm:
        submitit = import_module("submitit")
        cluster = {"cluster": str(options["cluster"])} if "cluster" in options else {}
        try:
            executor = submitit.AutoExecutor(folder=folder / JOBS, **cluster)
            require(
                executor.cluster in ("slurm", "local", "debug") and (executor.cluster == "slurm" or bool(cluster)),
                "There is no SLURM here (sbatch was not found); start the study on a machine of the cluster, or leave "
                "--engine out.",
            )
            named = {name: value for name, value in options.items() if name != "cluster"}
            executor.update_parameters(**{"name": "tutelage", "timeout_min": 1440, **_prefixed(named)})
        except (TypeError, ValueError, NameError, RuntimeError, AssertionError) as problem:
            if isinstance(problem, UserError):
                raise
            raise UserError(f"SLURM was not given what it can use: {problem}") from problem
        return cls(executor, jobs or MANY, command)

    def start(self, run: Path, log: Path, slot: int) -> Job:
        del slot
        command = [*self.command, str(run.resolve())]
        with heard():  # submitit's local executor cancels a job by an interrupt
            return SlurmJob(self.executor.submit(Compute(), command, str(log.resolve())), log)

    def close(self) -> None: ...


_SHARED = {
    "name",
    "mem_gb",
    "nodes",
    "cpus_per_task",
    "gpus_per_node",
    "tasks_per_node",
    "timeout_min",
    "stderr_to_stdout",
}
"""Options that submitit knows under one name wherever it runs. Others are SLURM's own."""


def _prefixed(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name if name in _SHARED or name.startswith("slurm_") else f"slurm_{name}": v for name, v in options.items()}


@dataclass(frozen=True)
class SlurmJob:
    """A job that was handed over."""

    job: Any
    log: Path

    def poll(self) -> int | None:
        if not self.job.done():
            return None
        try:
            return int(self.job.result())
        except Exception as problem:  # whatever became of it, the run's directory says how far it got
            if "CANCEL" in str(self.job.state).upper() or "INTERRUPT" in str(self.job.state).upper():
                return STOPPED
            with suppress(OSError), self.log.open("a") as log:
                log.write(f"SLURM job {self.job.job_id} ({self.job.state}): {problem}\n")
            return 1

    def stop(self) -> None:
        self.job.cancel(check=False)
