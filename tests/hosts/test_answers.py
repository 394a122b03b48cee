"""What a worker may write into its pipe, and what is made of it."""

from __future__ import annotations

import os
import struct
import time
from multiprocessing import Pipe

import pytest

from tutelage.hosts.answers import Garbled, read_answer

NOW = time.monotonic()


def test_messages_are_read_one_by_one() -> None:
    here, there = Pipe()
    said = [b"d", b"", b"x" * 40_000]
    for message in said:
        there.send_bytes(message)
    assert [read_answer(here, NOW + 3600) for _ in said] == said


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (b"\xff\xff\xff\xff" + b"\x7f" * 8, Garbled),  # how a message of more than 2 GB begins
        (b"\x7f\xff\xff\xff", Garbled),
        (struct.pack("!i", 100) + b"only this", TimeoutError),
        (b"\0\0", TimeoutError),
    ],
)
def test_what_never_becomes_a_message_is_not_waited_for(written: bytes, problem: type[Exception]) -> None:
    here, there = Pipe()
    os.write(there.fileno(), written)
    with pytest.raises(problem):
        read_answer(here, NOW)


def test_a_pipe_that_is_closed_in_the_middle_of_a_message() -> None:
    here, there = Pipe()
    os.write(there.fileno(), struct.pack("!i", 100) + b"only this")
    there.close()
    with pytest.raises(EOFError):
        read_answer(here, NOW + 3600)
