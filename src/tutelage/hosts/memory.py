"""Shared memory with a name that says whose it is, so that what a dead process left can be told from what is in use.

A process that is killed together with its whole group leaves its segments behind: nobody is left to remove them. The
next who starts a fleet does.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from ..leaving import forget, remember

FOLDER = Path("/dev/shm")
"""Where Linux shows shared memory as files. Elsewhere nothing can be found, and nothing is cleaned."""
_NAME = re.compile(r"tutelage-([0-9]+)-[0-9a-f]{12}")


def create(size: int) -> SharedMemory:
    """A new segment of this process. Those of dead ones are removed first."""
    clean()
    memory = SharedMemory(f"tutelage-{os.getpid()}-{secrets.token_hex(6)}", create=True, size=size)
    with suppress(OSError, AttributeError):
        # A sign of life that ends with us however we end. It also holds where others see other process numbers.
        fcntl.flock(memory._fd, fcntl.LOCK_SH)  # pyright: ignore[reportAttributeAccessIssue]
    remember(memory.name, lambda: remove(memory))
    return memory


def remove(memory: SharedMemory) -> None:
    """Remove a segment of this process. Somebody may have removed it by hand, or a worker whose code we do not know."""
    forget(memory.name)
    try:
        memory.unlink()
    except FileNotFoundError:
        resource_tracker.unregister(memory._name, "shared_memory")  # pyright: ignore[reportAttributeAccessIssue]


def clean(folder: Path = FOLDER) -> list[str]:
    """Remove segments of processes that are no more; returns their names."""
    removed = []
    for path in folder.glob("tutelage-*") if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match and not _alive(int(match[1])) and _unlocked(path):
            with suppress(OSError):  # somebody else's, or just removed by another
                path.unlink()
                removed.append(path.name)
    return removed


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _unlocked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
