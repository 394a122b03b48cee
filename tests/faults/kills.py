"""Kill -9 at chosen moments. However often a run is killed and resumed, it ends in the undisturbed one's digest."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .calls import WAITING, digest
from .made import arguments, products
from .tally import Tally

MOMENTS = (
    "a temporary file is half written",
    "before a file is renamed",
    "after a file is renamed",
    "a file is synchronised",
    "a file is deleted",
    "a record is half written",
    "after a record",
    "between a record and a checkpoint",
    "in a step",
    "any time",
)


def die() -> None:
    """By itself, or with all its workers, if it is the first of a group."""
    if os.getpgrp() == os.getpid() and os.getpid() % 2:
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def trap(moment: str, number: int) -> None:
    """Make this process die when it comes to a moment for the ``number``-th time."""
    from tutelage.runs import checkpoint, lines, session

    left = [number]

    def now() -> bool:
        left[0] -= 1
        return left[0] == 0

    def before(place: Any, name: str) -> None:
        real = getattr(place, name)

        def dies(*args: Any, **more: Any) -> Any:
            if now():
                die()
            return real(*args, **more)

        setattr(place, name, dies)

    def after(place: Any, name: str) -> None:
        real = getattr(place, name)

        def dies(*args: Any, **more: Any) -> Any:
            result = real(*args, **more)
            if now():
                die()
            return result

        setattr(place, name, dies)

    if moment == "a temporary file is half written":
        real_open = Path.open

        def torn(self: Path, mode: str = "r", *args: Any, **more: Any) -> Any:
            file = real_open(self, mode, *args, **more)
            if self.suffix == ".tmp" and "w" in mode and now():
                write = file.write

                def half(data: Any) -> None:
                    write(memoryview(data)[: len(data) // 2])
                    file.flush()
                    die()

                return _Writes(file, half)
            return file

        Path.open = torn  # type: ignore[method-assign]
    elif moment == "a record is half written":
        real_append = lines.append

        def half_a_line(path: Path, records: Any) -> None:
            if now():
                with path.open("ab") as file:
                    file.write(b'{"iteration": 3, "st')
                die()
            real_append(path, records)

        lines.append = half_a_line
    elif moment == "any time":
        signal.signal(signal.SIGALRM, lambda *_: die())
        signal.setitimer(signal.ITIMER_REAL, 0.1 * number)
    else:
        {
            "before a file is renamed": lambda: before(os, "replace"),
            "after a file is renamed": lambda: after(os, "replace"),
            "a file is synchronised": lambda: before(os, "fsync"),
            "a file is deleted": lambda: before(Path, "unlink"),
            "after a record": lambda: after(lines, "append"),
            "between a record and a checkpoint": lambda: before(checkpoint, "save"),
            "in a step": lambda: before(session, "metrics_record"),
        }[moment]()


class _Writes:
    """A file with another ``write``."""

    def __init__(self, file: Any, write: Callable[[Any], None]) -> None:
        self._file, self.write = file, write

    def __enter__(self) -> _Writes:
        return self

    def __exit__(self, *problem: Any) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def forked(act: Callable[[], int], log: Path) -> int | None:
    """How a copy of this process ends that acts: its exit code, minus a signal's number, or None if it hangs.

    To copy a process that has imported everything is quicker than to start one. JAX must not have started in it.
    """
    child = os.fork()
    if child == 0:
        code = 70
        with suppress(BaseException):
            os.setsid()
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(output, 1)
            os.dup2(output, 2)
            try:
                code = act()
            except BaseException:
                import traceback

                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            from tutelage.hosts.fleet import close_all

            close_all()
        os._exit(code)
    until = time.monotonic() + WAITING
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def undisturbed(kind: str, folder: Path) -> list[str]:
    """The digests that a run of a kind ends in; of several seeds one each."""
    from tutelage.cli import main

    path = folder / f"{kind.replace(' ', '-')}-whole"
    log = folder / "whole.log"
    code = forked(lambda: main([*arguments(kind, folder), "--run", str(path)]), log)
    assert code == 0, log.read_text()[-2000:]
    return [digest(run) for run in products(path)]


def kill(kind: str, wanted: list[str], folder: Path, times: int, rng: random.Random, tally: Tally) -> None:
    """Train a run that is killed so many times on its way, and look at what it ends in."""
    from tutelage.cli import main

    path = folder / f"{kind.replace(' ', '-')}-{rng.randrange(10**9)}"
    log = path.with_suffix(".log")
    moments = []
    killed = 0
    for _ in range(4 * times):
        if killed == times:
            break
        moment, number = rng.choice(MOMENTS), rng.randrange(1, 7)
        begun = (path / "config.toml").exists() or (path / "seeds.json").exists()
        if not begun and path.exists():
            _clear(path)  # it died before it was a run, and a person would start it again
        words = ["resume", str(path), "--quiet"] if begun else [*arguments(kind, folder), "--run", str(path)]

        def act(words: list[str] = words, moment: str = moment, number: int = number) -> int:
            trap(moment, number)
            return main(words)

        code = forked(act, log)
        if code == -signal.SIGKILL:
            killed += 1
            moments.append(f"{moment} ({number})")
        elif code != 0:
            tally.note(f"kills, {kind}", f"{code} after {moments}: {log.read_text()[-1500:]}")
            return
    words = ["resume", str(path), "--quiet"]
    if not ((path / "config.toml").exists() or (path / "seeds.json").exists()):
        _clear(path)
        words = [*arguments(kind, folder), "--run", str(path)]
    code = forked(lambda: main(words), log)
    found = [digest(run) for run in products(path)] if code == 0 else [f"resume ended with {code}"]
    problem = "" if found == wanted else f"after {moments}: {found}, not {wanted}: {log.read_text()[-800:]}"
    for _ in range(killed):
        tally.note(f"kills, {kind}", problem)
        problem = ""
    _clear(path)


def _clear(path: Path) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)
