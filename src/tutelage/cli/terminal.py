"""What a person sees of a command at work."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..leaving import die, leave
from ..visible import visible

if TYPE_CHECKING:
    from ..runs.session import Progress, Run


def warn(message: str) -> None:
    """Say something that is no result."""
    print(visible(f"tutelage: {message}"), file=sys.stderr)


def agreed(question: str) -> bool:
    """Ask somebody, if somebody is there."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(visible(f"tutelage: {question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _interrupt(number: int, frame: Any) -> None:
    """Ctrl-C ends what is done now; another does not wait for that."""
    signal.signal(signal.SIGINT, lambda number, frame: leave(130))
    raise KeyboardInterrupt


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Within, Ctrl-C ends the program once; another does not wait for that. (Training has its own rules, within.)"""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_quietly() -> None:
    """From now on, signals end the program without a complaint, and without leaving shared memory behind.

    The first Ctrl-C is a ``KeyboardInterrupt``, the next ends it at once; so do a polite kill and a closed terminal.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    shown = sys.unraisablehook

    def unheard(problem: Any) -> None:
        # In a destructor, or a callback of the garbage collector, what is raised is only shown, and forgotten.
        if issubclass(problem.exc_type, KeyboardInterrupt):
            leave(130)
        shown(problem)

    sys.unraisablehook = unheard
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, die)


def watch(start: Callable[[Progress], list[Run]], path: str, quiet: bool) -> int:
    """Train with a line of progress, unless ``quiet``, and say how it ended; returns the exit code."""
    from ..runs.processes import is_main_process
    from ..runs.progress import ProgressLine
    from ..runs.session import Silent

    if quiet or not is_main_process():
        runs = start(Silent())
    else:
        with ProgressLine() as progress:
            runs = start(progress)
    run = runs[0]
    if is_main_process():
        what, one = ("run is", "it") if len(runs) == 1 else (f"runs of {len(runs)} seeds are", "one")
        print(
            f"Finished. The {what} in {path}; see {one} with: tutelage show {run.directory.path}"
            if run.finished
            else f"Stopped at iteration {run.iteration} of {run.trainer.iterations}. Go on with: tutelage resume {path}"
        )
    return 0 if run.finished else 130
