"""Commands called in this process or in one of their own, and the verdict on how they ended."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tutelage.cli import main

ENDINGS = (0, 1, 2, 130)
"""How a command may end: well, with something that failed, refused, stopped."""
COMPLAINTS = ("Traceback (most recent call last)", "Exception ignored", "Fatal Python error", "Segmentation fault")
LONGEST = 120.0
"""Seconds of computing after which a command counts as hung. None of those tried here takes a tenth of it."""
WAITING = 600.0
"""Seconds on the clock after which it does, whatever it computes: others may need the machine meanwhile."""


class Hung(BaseException):
    """A call has not ended in time."""


class Outcome(NamedTuple):
    code: int | None
    """None for one that hung."""
    out: str
    err: str

    def problem(self, endings: Sequence[int] = ENDINGS) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.code is None:
            return f"hung: {self.err[-1500:]}"
        text = self.out + self.err
        # A worker's sentence may be followed by where the user's own code failed.
        said = text.partition("tutelage: ")[0] if self.code == 2 and "tutelage: Worker" in text else text
        for complaint in COMPLAINTS:
            if complaint in said:
                return f"{complaint}: {text[-1500:]}"
        if self.code not in endings:
            return f"ended with {self.code}: {text[-500:]}"
        if self.code in (1, 2) and not self.err.strip():
            return f"ended with {self.code} and said nothing"
        return ""


@contextmanager
def time_limit() -> Any:
    """Raise ``Hung`` in here after too much computing, or waiting."""

    def ring(number: int, frame: Any) -> None:
        raise Hung("computes" if number == signal.SIGPROF else "waits")

    limits = (
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING),
        (signal.SIGPROF, signal.ITIMER_PROF, LONGEST),
    )
    before = [signal.signal(number, ring) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def call(arguments: Sequence[str]) -> Outcome:
    """A command in this process: thousands of them take no longer than a few in processes of their own."""
    out, err = io.StringIO(), io.StringIO()
    code: int | None = None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            with time_limit():
                code = main(list(arguments))
        except Hung as problem:
            return Outcome(None, out.getvalue(), f"{problem} {err.getvalue()} {traceback.format_exc()}")
        except BaseException:
            return Outcome(1, out.getvalue(), err.getvalue() + traceback.format_exc())
    return Outcome(code, out.getvalue(), err.getvalue())


def start(arguments: Sequence[str], env: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
    """A command as a process, in a group of its own."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **more}
    command = [sys.executable, "-m", "tutelage.cli", *arguments]
    environment = {**os.environ, **(env or {})}
    return subprocess.Popen(command, env=environment, text=True, errors="replace", start_new_session=True, **more)


def finish(process: subprocess.Popen[str], seconds: float = WAITING) -> Outcome:
    """Wait for a process; one that hangs is ended."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Outcome(None, out or "", err or "")
    return Outcome(process.returncode, out or "", err or "")


def run(arguments: Sequence[str], env: Mapping[str, str] | None = None, **more: Any) -> Outcome:
    """A command as a process, to its end."""
    return finish(start(arguments, env, **more))


def digest(run: Path | str) -> str:
    """Of a run's state, as `show` says it."""
    outcome = call(["show", str(run)])
    found = [line.split()[-1] for line in outcome.out.splitlines() if line.startswith("digest")]
    return found[0] if outcome.code == 0 and found else f"none: {outcome}"
