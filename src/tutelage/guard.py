"""A guard around code that users bring: whatever it does, we go on, and say in a sentence what it did. No JAX here."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from . import machine
from .errors import UserError
from .leaving import is_unheard

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a user's code may take to be imported, to make an environment or to start an episode."""


class _TooLong(BaseException):
    """Not an ``Exception``, so that code which swallows those does not swallow it."""


class _Leaves(BaseException):
    """Code wanted to end the program."""


class Failed(UserError):
    """What a user's code did, after where it was and what it was to do."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject} {reason}")
        self.reason: str = reason


def guarded(where: str, what: str, act: Callable[[], T], patience: float = PATIENCE) -> T:
    """What ``act`` returns. ``where`` is the file and ``what`` the part of it that is tried, for the sentence; without
    a part it is the whole file.
    """
    subject = f"{what} in {where}" if what else where
    try:
        with _in_time(patience), _nobody_leaves():
            return act()
    except UserError:
        raise
    except _TooLong:
        reason = f"has not ended after {patience:g} s; correct it there, or do elsewhere what takes long."
        raise Failed(subject, reason) from None
    except (_Leaves, SystemExit) as problem:
        how = f"exit {problem.code!r:.60}" if isinstance(problem, SystemExit) else str(problem)
        raise Failed(subject, f"wants to end the program ({how}); leave that to who runs it.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        happened = "failed" if what else "could not be run"
        reason = f"{happened}: {described(problem)} Correct it there."
        raise Failed(subject + line_of(problem, where), reason) from problem


def described(problem: BaseException) -> str:
    """An error in a few words."""
    try:
        first = (str(problem).strip().splitlines() or [""])[0]
    except Exception:  # an error of theirs that cannot even be said
        first = ""
    return f"{type(problem).__name__}: {first[:300]}".rstrip(": ") + ("" if first.endswith((".", "!")) else ".")


def line_of(problem: BaseException, path: str) -> str:
    """Where in a file an error came from, if it did."""
    if isinstance(problem, SyntaxError) and problem.filename == path:
        return f", line {problem.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == path]
    return f", line {lines[-1]}" if lines else ""


@contextmanager
def _nobody_leaves() -> Iterator[None]:
    """Within, the ways by which Python code ends a process at once raise instead."""

    def leave(name: str) -> Callable[..., NoReturn]:
        def refuse(*arguments: Any) -> NoReturn:
            raise _Leaves(f"os.{name}")

        return refuse

    before = {name: getattr(os, name) for name in ("_exit", "abort")}
    try:
        for name in before:
            setattr(os, name, leave(name))
        yield
    finally:
        for name, function in before.items():
            setattr(os, name, function)


@contextmanager
def _in_time(patience: float) -> Iterator[None]:
    """Interrupt what takes longer. Only the main thread can be; elsewhere nothing is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    began, before = time.monotonic(), machine.waited()

    def ring(number: int, frame: Any) -> None:
        nonlocal outer
        if is_unheard(frame):
            signal.setitimer(signal.ITIMER_REAL, 0.01, 1.0)
            return
        elapsed = time.monotonic() - began
        if 0 < outer <= elapsed:  # somebody else's alarm, theirs to answer
            signal.setitimer(signal.ITIMER_REAL, 0)
            if callable(handler):
                handler(number, frame)
            again = signal.getitimer(signal.ITIMER_REAL)[0] or interval
            outer = elapsed + again if again else 0.0
        # A machine that others need does not make the code slow: only what it had a core for counts, or slept.
        left = patience - elapsed + (machine.waited() - before)
        if left < 0.01:
            raise _TooLong
        signal.setitimer(signal.ITIMER_REAL, min(left, outer - elapsed) if outer else left, 1.0)

    (outer, interval), handler = signal.getitimer(signal.ITIMER_REAL), signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(patience, outer or patience), 1.0)  # again, should it be swallowed
    try:
        yield
    finally:
        left = max(outer - (time.monotonic() - began), 0.001) if outer else 0.0
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, handler)
