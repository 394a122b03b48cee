"""Many environments in worker processes, played in step. A worker that dies, hangs or errs is named, with its level.

There is one fleet for an environment at a time: who trains and who evaluates take turns with it. It starts when it is
first needed and ends with the program, or when something went wrong with it.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from multiprocessing.connection import wait
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import UserError
from ..machine import cores, waited
from . import memory
from .answers import Garbled, read_answer
from .environment import HostEnvironment
from .fields import Field, arrays, nested
from .settings import PATIENCE
from .worker import ALL, DONE, FINAL, OBS, PARTS, QUIT, RESET, STEP, STOPPING, work

_open: dict[HostEnvironment, Fleet] = {}

EACH = 8
"""Environments of a worker, where nobody needs a certain number of them."""

MOST = 2
"""Fleets that are kept at once: who plays a dozen environments in turn should not have the workers of all."""


def get_fleet(env: HostEnvironment, level: Mapping[str, np.ndarray], number: int | None = None) -> Fleet:
    """The fleet of an environment. ``level`` is one level, or a batch of some other number of them.

    With a ``number`` it has exactly so many; without one, as many as the fleet has that is there.
    """
    fields = tuple(Field(f"level/{name}", value.shape[1:], str(value.dtype)) for name, value in level.items())
    there = _open.get(env)
    if there is not None and there.level == fields and number in (None, there.number):
        _open[env] = _open.pop(env)  # the one that was asked for last
        return there
    if there is not None:
        there.close()
    while len(_open) >= MOST:
        next(iter(_open.values())).close()
    workers = env.workers or len(cores())
    return Fleet(env, fields, number or EACH * workers, workers)


@contextmanager
def _unguarded() -> Iterator[None]:
    """A spawned process runs the main script again, to find what it was given there. Ours is given nothing from there,
    so that a script which trains needs no ``if __name__ == "__main__"``.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def _blocked() -> Iterator[None]:
    """Within, processes start with the signals blocked that ask a run to stop, until they have said how they take
    them: one that is sent to everybody must not end a worker, or the tracker of shared memory, that is just starting.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@atexit.register
def close_all() -> None:
    """End all workers."""
    for fleet in list(_open.values()):
        fleet.close()


class Fleet:
    """``number`` environments, shared equally by some workers."""

    def __init__(self, env: HostEnvironment, level: Sequence[Field], number: int, workers: int) -> None:
        self.env, self.level, self.number = env, tuple(level), number
        seen = [Field(kind + name, shape, dtype) for kind in (OBS, FINAL) for name, shape, dtype in env.observation]
        fields = [
            *(Field(name, (number, *shape), dtype) for name, shape, dtype in (*seen, env.action, *level)),
            Field("reward", (number,), "float32"),
            Field("terminated", (number,), "bool"),
            Field("truncated", (number,), "bool"),
            Field("active", (number,), "bool"),
            Field("seed", (number,), "int64"),
            Field("busy", (number,), "int64"),
        ]
        with _blocked():
            self._memory = memory.create(sum(f.bytes for f in fields))
        self.shared = arrays(self._memory, fields)
        # Not a fork: a process with JAX's threads must not be forked.
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes, self._mine = [], [], []
        _open[env] = self
        ends = np.linspace(0, number, min(workers, number) + 1).round().astype(int).tolist()
        try:
            for start, stop in pairwise(ends):
                here, there = context.Pipe()
                arguments = (there, self._memory.name, fields, range(start, stop), env.maker)
                process = context.Process(target=work, args=arguments, daemon=True)
                with _unguarded(), _blocked():
                    process.start()
                there.close()
                self._pipes.append(here)
                self._processes.append(process)
                self._mine.append(range(start, stop))
            self._answers("making its environments", max(env.patience, PATIENCE))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the workers, whatever they do."""
        _open.pop(self.env, None)
        for pipe in self._pipes:
            with suppress(OSError):  # it may have gone before
                pipe.send_bytes(QUIT)
            pipe.close()
        for process in self._processes:
            process.join(timeout=2)
            if process.is_alive():
                process.kill()
                process.join()
        self._pipes, self._processes, self.shared = [], [], {}
        self._memory.close()
        memory.remove(self._memory)

    def reset(self, levels: Mapping[str, np.ndarray], seeds: np.ndarray) -> Any:
        """Start an episode everywhere; every environment has its level and its seed. Returns the observations, a tree
        of arrays.
        """
        for name, value in levels.items():
            self.shared[f"level/{name}"][...] = value
        self.shared["seed"][...] = seeds
        self.shared["active"][...] = True
        self._order(RESET + ALL, "starting an episode")
        self._receive("starting an episode")
        return self._seen(OBS, ALL)

    def send(self, actions: np.ndarray, active: np.ndarray | bool = True, part: bytes = ALL) -> None:
        """Let one action be played everywhere, or where somebody is still ``active``.

        While one ``part`` of the environments plays, actions can be chosen for and sent to the other.
        """
        self.shared["action"][PARTS[part]] = actions
        self.shared["active"][PARTS[part]] = active
        self._order(STEP + part, "playing a step")

    def receive(self, part: bytes = ALL) -> dict[str, Any]:
        """What followed: ``obs``, ``final_obs``, ``reward``, ``terminated``, ``truncated``. Parts answer in the order
        in which they were sent to.

        Where an episode has ended, the next has been started on the same level. ``obs`` is what the policy sees next:
        there, the first observation of the new episode. ``final_obs`` is what the action has led to: there, the last
        observation of the episode that has ended. Everywhere else the two are the same.
        """
        self._receive("playing a step")
        found = {name: self.shared[name][PARTS[part]].view(np.uint8) != 0 for name in ("terminated", "truncated")}
        found["reward"] = self.shared["reward"][PARTS[part]].copy()
        obs = final = self._seen(OBS, part)
        # An observation may be large. (To count is many times as fast as to ask for any.)
        if np.count_nonzero(found["terminated"]) or np.count_nonzero(found["truncated"]):
            final = self._seen(FINAL, part)
        return {"obs": obs, "final_obs": final, **found}

    def _seen(self, kind: str, part: bytes) -> Any:
        return nested({name: self.shared[kind + name][PARTS[part]].copy() for name, _, _ in self.env.observation})

    def _receive(self, doing: str) -> None:
        try:
            self._answers(doing, self.env.patience)
        except BaseException:
            self.close()  # whatever has happened, the workers are no longer in step
            raise

    def _order(self, order: bytes, doing: str) -> None:
        for index, pipe in enumerate(self._pipes):
            try:
                pipe.send_bytes(order)
            except OSError:
                trouble = self._trouble(index, doing, "has died")
                self.close()
                raise trouble from None

    def _answers(self, doing: str, patience: float) -> None:
        pending = {pipe: index for index, pipe in enumerate(self._pipes)}
        began, until = time.monotonic(), patience
        before: dict[int, float] = {}
        while pending:
            ready: list[Any] = wait(list(pending), max(0.0, began + until - time.monotonic()))
            if not ready:
                index = next(iter(pending.values()))
                # Time in which others had its core does not count. What it had to wait before this order is not known
                # at first: to ask at every step would take longer than the step.
                now = waited(self._processes[index].pid)
                lost = now - before.setdefault(index, now - min(now, patience))
                if lost > until - patience + 0.01:
                    until = patience + lost
                    continue
                raise self._trouble(index, doing, f"has not answered for {patience:g} s")
            for pipe in ready:
                index = pending.pop(pipe)
                try:
                    said = read_answer(pipe, time.monotonic() + patience)
                except TimeoutError:
                    raise self._trouble(index, doing, f"has begun an answer, and no more for {patience:g} s") from None
                except Garbled as problem:
                    raise self._trouble(index, doing, f"answered what no worker answers ({problem})") from None
                except (EOFError, OSError):
                    raise self._trouble(index, doing, "has died") from None
                if said != DONE:
                    raise self._trouble(index, doing, *_complaint(said))

    def _trouble(self, index: int, doing: str, what: str, trace: str = "") -> UserError:
        """A sentence that names the worker, what it was doing and the level it was doing it on."""
        mine = self._mine[index]
        at = int(self.shared["busy"][mine.start])
        at = at if at in mine else mine.start  # what a simulator writes beside its own arrays can be anything
        level = {name: value[at].tolist() for name, value in self.shared.items() if name.startswith("level/")}
        shown = ", ".join(f"{name.removeprefix('level/') or 'level'} = {value}" for name, value in level.items())
        process = self._processes[index]
        process.join(timeout=0.5)
        code = "" if process.exitcode is None else f" (exit code {process.exitcode})"
        kind = f" Its level: {shown[:2000]}." if doing != "making its environments" else ""
        more = f"\n{trace}" if trace else ""
        return UserError(f"Worker {index} {what}{code} while {doing} in environment {at}.{kind}{more}")


def _complaint(said: bytes) -> tuple[str, str]:
    """What a worker says went wrong, and where."""
    try:
        answer = json.loads(said)
        return f"failed with {answer['error']}", str(answer["trace"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return f"answered what no worker answers ({said[:40]!r})", ""
