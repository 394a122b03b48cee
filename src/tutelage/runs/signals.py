"""Stopping when asked to, at a moment that loses nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..leaving import die


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C, a polite kill or a terminal that is closed only asks to stop; a second one stops at once, and
    takes with it what would be left behind. Needs the main thread.
    """
    asked = False
    # Who was started with nohup does not mind a terminal that is closed.
    closing = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    signals = (signal.SIGINT, signal.SIGTERM, *closing)

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        restore()
        for polite in signals:
            if before[polite] is signal.SIG_DFL:
                signal.signal(polite, die)

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


@contextmanager
def heard(number: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Within, processes are started that can be interrupted, though we ourselves may have been told to ignore that.

    A shell without job control starts what ends in ``&`` with Ctrl-C ignored, and children inherit it. Needs the main
    thread.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(number) is not signal.SIG_IGN:
        yield
        return
    signal.signal(number, lambda got, frame: None)  # still ignored here; a new program begins with the default
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_IGN)
