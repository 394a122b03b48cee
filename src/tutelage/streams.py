"""Where output goes. A stream that is closed, full or gone never ends what a command does; ``main`` says it later."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .visible import visible


class Stream:
    """A stream that drops what it cannot write, and remembers why."""

    def __init__(self, stream: Any, shown: Callable[[str], str] = str) -> None:
        self._stream, self._shown = stream, shown
        self.failure: OSError | None = None
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # letters that this terminal does not have

    def write(self, text: str) -> int:
        self._try(self._stream.write, self._shown(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, act: Any, *arguments: Any) -> None:
        if self.failure is not None:
            return
        try:
            act(*arguments)
        except OSError as problem:
            self.failure = problem
            # Or Python tries once more when it ends, and complains.
            with suppress(AttributeError, ValueError, OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Iterator[Stream]:
    """Within, output can be written whatever becomes of the streams. Yields the one for results, on which everything
    is visible; what is no result may move a cursor, and whoever writes it takes care of names.
    """
    _reserve()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, errors = Stream(sys.stdout, visible), Stream(sys.stderr)
    try:
        yield out
    finally:
        out.flush()
        errors.flush()
        sys.stdout, sys.stderr = before


def _reserve() -> None:
    """Of streams that are closed, put one to nowhere in the place: files opened later would get its number, and what
    libraries print would go into them.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
