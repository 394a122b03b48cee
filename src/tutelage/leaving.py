"""Ending the process at once, without leaving behind what nobody else would remove. No JAX here."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

_exit = os._exit  # the real one: while a user's code runs, another stands in its place (guard.py)
_removers: dict[str, Callable[[], object]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_removers.clear)  # what the parent made is the parent's to remove


def remember(name: str, remove: Callable[[], object]) -> None:
    """Something to be removed if the process ends at once."""
    _removers[name] = remove


def forget(name: str) -> None:
    """It was removed in good order."""
    _removers.pop(name, None)


def leave(code: int) -> NoReturn:
    """End the process now: nothing is waited for, and no destructor runs."""
    _remove()
    _exit(code)


def die(number: int, frame: FrameType | None = None) -> None:
    """A handler for signals that end a process: it still dies of the signal, and leaves nothing behind."""
    _remove()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove() -> None:
    for remove in list(_removers.values()):
        with suppress(Exception):
            remove()


def is_unheard(frame: FrameType | None) -> bool:
    """Is this a callback of the garbage collector? What is raised in one is printed and forgotten."""
    return frame is not None and any(frame.f_code is getattr(each, "__code__", None) for each in gc.callbacks)
