"""Stopping when asked to, at a moment that loses nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C or a polite kill only asks to stop; a second one stops at once. Needs the main thread."""
    asked = False
    signals = (signal.SIGINT, signal.SIGTERM)

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        restore()

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
