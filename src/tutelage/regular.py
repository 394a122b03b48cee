"""Reading files that somebody else may have put there. No JAX here."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path | str) -> bytes:
    """The bytes of a file that is one. A pipe would be waited for, and a device such as ``/dev/zero`` never ends."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as stream:
        kind = os.fstat(file).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        return stream.read()
