"""Files that are there whole or not at all, and files that say who may write."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import UserError

POLL = 0.05
"""Seconds between two looks at a lock that another process has."""


class Busy(UserError):
    """Another process has the lock."""


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Replace a file by a whole new one, on the disk before this returns. On failure the old one is untouched."""
    unfinished = path.with_name(path.name + ".tmp")
    try:
        try:
            with unfinished.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        # The new name is an entry of the directory, which has to reach the disk as well.
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as problem:
        raise UserError(
            f"{path} could not be written: {problem.strerror or problem}. What was saved before is untouched; "
            "make room or give write permission there, then resume the run."
        ) from problem


@contextmanager
def locked(path: Path, busy: str, patience: float = 0.0) -> Iterator[None]:
    """Be the only process within. The system lets go of the lock however this process ends.

    ``busy`` begins the sentence by which all others are refused, once they have waited for ``patience`` seconds.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise UserError(f"{path} could not be opened: {problem.strerror}. Make it writable.") from problem
    try:
        try:
            _take(file, patience)
            os.truncate(file, 0)
            os.write(file, f"{os.getpid()}\n".encode())
        except BlockingIOError as problem:
            holder = os.read(file, 32).decode(errors="replace").strip() or "unknown"
            raise Busy(
                f"{busy} by another process (pid {holder}); wait until it ends or stop it, then try again."
            ) from problem
        except OSError as problem:
            raise UserError(
                f"{path} could not be locked: {problem.strerror or problem}. "
                "Choose a directory with room on a file system that has locks."
            ) from problem
        yield
    finally:
        os.close(file)


def _take(file: int, patience: float) -> None:
    until = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        time.sleep(POLL)


def is_locked(path: Path) -> bool:
    """Is some process within? Only who may start such processes should ask: for a moment it holds the lock itself."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)
