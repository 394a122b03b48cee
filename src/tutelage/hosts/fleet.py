"""Many environments in worker processes, played in step. A worker that dies, hangs or errs is named, with its level."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import wait
from multiprocessing.shared_memory import SharedMemory
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import UserError
from .simulator import DONE, QUIT, RESET, STEP, Field, Maker, arrays, work

PATIENCE = 60.0
"""Seconds that a worker may take for one order before it counts as hung."""


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Fleet:
    """``number`` environments, shared equally by some workers. Use it as a context: leaving it ends the workers."""

    maker: Maker
    number: int
    observation: Field
    """Of one environment; so is the action."""
    action: Field
    level: Sequence[Field]
    """The leaves of a level, called ``level/NAME``; a level that is one array is ``level/``."""
    workers: int = 0
    """0 for one a core."""
    patience: float = PATIENCE
    shared: dict[str, np.ndarray] = field(default_factory=dict, init=False)

    def __enter__(self) -> Fleet:
        count = min(self.workers or cores(), self.number)
        fields = [
            *(Field(f.name, (self.number, *f.shape), f.dtype) for f in (self.observation, self.action, *self.level)),
            Field("next_obs", (self.number, *self.observation.shape), self.observation.dtype),
            Field("reward", (self.number,), "float32"),
            Field("terminated", (self.number,), "bool"),
            Field("truncated", (self.number,), "bool"),
            Field("seed", (self.number,), "int64"),
            Field("busy", (self.number,), "int64"),
        ]
        self._memory = SharedMemory(create=True, size=sum(f.bytes for f in fields))
        self.shared = arrays(self._memory, fields)
        # Not a fork: a process with JAX's threads must not be forked.
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes, self._mine = [], [], []
        ends = np.linspace(0, self.number, count + 1).round().astype(int).tolist()
        for start, stop in pairwise(ends):
            here, there = context.Pipe()
            arguments = (there, self._memory.name, fields, range(start, stop), self.maker)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)
            self._mine.append(range(start, stop))
        try:
            self._answers("making its environments", max(self.patience, PATIENCE))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        for pipe in self._pipes:
            with suppress(OSError):  # it may have gone before
                pipe.send_bytes(QUIT)
            pipe.close()
        for process in self._processes:
            process.join(timeout=2)
            if process.is_alive():
                process.kill()
                process.join()
        self.shared = {}
        self._memory.close()
        self._memory.unlink()

    def reset(self, levels: dict[str, np.ndarray], seeds: np.ndarray) -> np.ndarray:
        """Start an episode everywhere; every environment has its level and its seed. Returns the observations."""
        for name, value in levels.items():
            self.shared[f"level/{name}"][...] = value
        self.shared["seed"][...] = seeds
        self._order(RESET, "starting an episode")
        return self.shared["obs"].copy()

    def step(self, actions: np.ndarray) -> dict[str, np.ndarray]:
        """Play one action everywhere. Who is done starts again on its level at once: ``obs`` is of the new episode,
        ``next_obs`` the true successor.
        """
        self.shared["action"][...] = actions
        self._order(STEP, "playing a step")
        names = ("obs", "next_obs", "reward", "terminated", "truncated")
        return {name: self.shared[name].copy() for name in names}

    def _order(self, order: bytes, doing: str) -> None:
        for index, pipe in enumerate(self._pipes):
            try:
                pipe.send_bytes(order)
            except OSError:
                raise self._trouble(index, doing, "has died") from None
        self._answers(doing, self.patience)

    def _answers(self, doing: str, patience: float) -> None:
        pending = {pipe: index for index, pipe in enumerate(self._pipes)}
        deadline = time.monotonic() + patience
        while pending:
            ready = wait(list(pending), max(0.0, deadline - time.monotonic()))
            if not ready:
                index = next(iter(pending.values()))
                raise self._trouble(index, doing, f"has not answered for {patience:.0f} s")
            for pipe in ready:
                index = pending.pop(pipe)  # pyright: ignore[reportArgumentType]
                try:
                    said = self._pipes[index].recv_bytes()
                except (EOFError, OSError):
                    raise self._trouble(index, doing, "has died") from None
                if said != DONE:
                    answer = json.loads(said)
                    raise self._trouble(index, doing, f"failed with {answer['error']}", answer["at"], answer["trace"])

    def _trouble(self, index: int, doing: str, what: str, at: int | None = None, trace: str = "") -> UserError:
        """A sentence that names the worker, what it was doing and the level it was doing it on."""
        at = int(self.shared["busy"][self._mine[index].start]) if at is None else at
        level = {name: value[at].tolist() for name, value in self.shared.items() if name.startswith("level/")}
        shown = ", ".join(f"{name.removeprefix('level/') or 'level'} = {value}" for name, value in level.items())
        process = self._processes[index]
        process.join(timeout=0.5)
        code = "" if process.exitcode is None else f" (exit code {process.exitcode})"
        kind = f" Its level: {shown[:500]}." if doing != "making its environments" else ""
        more = f"\n{trace}" if trace else ""
        return UserError(f"Worker {index} {what}{code} while {doing} in environment {at}.{kind}{more}")
