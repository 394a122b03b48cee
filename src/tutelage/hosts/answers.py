"""Reading what a worker says, without trusting that it says all of it.

``Connection.recv_bytes`` waits forever for the rest of a message. The code in a worker is a user's, and can write
anything into the pipe.
"""

from __future__ import annotations

import os
import select
import struct
import time
from multiprocessing.connection import Connection

LONGEST = 2**24
"""Bytes of a message. What workers really send is a byte, or an error with its trace."""


class Garbled(Exception):
    """No message that a worker of ours would send."""


def read_answer(pipe: Connection, until: float) -> bytes:
    """One message, of which something has arrived. The rest must come before ``until`` (``time.monotonic``).

    Raises ``TimeoutError`` if it does not, ``EOFError`` if the pipe is closed, and ``Garbled``.
    """
    arriving = select.poll()
    arriving.register(pipe.fileno(), select.POLLIN)
    (size,) = struct.unpack("!i", _read(pipe.fileno(), 4, arriving, until))  # as ``send_bytes`` begins a message
    if not 0 <= size <= LONGEST:
        raise Garbled(f"a message of {size} bytes")
    return _read(pipe.fileno(), size, arriving, until)


def _read(file: int, size: int, arriving: select.poll, until: float) -> bytes:
    parts = b""
    while len(parts) < size:
        left = max(0.0, until - time.monotonic())
        if not arriving.poll(1000 * left):
            raise TimeoutError
        part = os.read(file, size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return parts
