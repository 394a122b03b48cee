"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import UserError


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
