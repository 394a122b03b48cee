"""Files of records: a line of JSON each. They only grow, and whoever writes may be killed at any byte."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import UserError
from ..regular import read_regular
from .schema import Check, Wrong, document

MOST_NAMED = 3
"""Wrong lines of a file that are named one by one; of more it is said how many there are."""


class Line(NamedTuple):
    """A line of a file, and what it says."""

    number: int
    raw: bytes
    """With its end."""
    record: dict[str, Any] | None
    problem: str = ""
    """Why there is no record, as the end of a sentence."""


def read(path: Path, check: Check) -> Iterator[Line]:
    """The lines of a file; none if it is not there. A last one that was cut off is left out."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise UserError(
            f"{path} could not be read: {problem.strerror or problem}. Move away what is in its place, or give read "
            "permission."
        ) from problem
    lines = content.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            value = document(line)
        except Wrong as problem:
            if number < len(lines):  # else the process was killed while it wrote
                yield Line(number, line + b"\n", None, str(problem))
            continue
        try:
            yield Line(number, line + b"\n", check(value))
        except Wrong as problem:
            if number < len(lines) or isinstance(value, dict):
                yield Line(number, line + b"\n", None, str(problem))


def records(path: Path, check: Check, warn: Callable[[str], None]) -> list[dict[str, Any]]:
    """What is right in a file. What is wrong is named and left out: nobody's state depends on it."""
    try:
        found = list(read(path, check))
    except UserError as problem:
        warn(str(problem))
        return []
    wrong = [line for line in found if line.record is None]
    for line in wrong[:MOST_NAMED]:
        warn(f"Line {line.number} of {path} {line.problem}; it is left out.")
    if len(wrong) > MOST_NAMED:
        warn(f"{len(wrong) - MOST_NAMED} more lines of {path} are wrong; they are left out.")
    return [line.record for line in found if line.record is not None]


def last(path: Path, check: Check, size: int = 1 << 16) -> dict[str, Any]:
    """The last whole record of a file that somebody may be writing; empty if there is none. Reads only its end."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - size))
            lines = stream.read().split(b"\n")[:-1]  # what follows the last newline is being written
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            return check(document(line))
        except Wrong:
            continue
    return {}


def append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add lines. Numbers that are not finite become null: JSON has no others."""
    lines = "".join(json.dumps(_plain(record), allow_nan=False) + "\n" for record in records)
    with path.open("ab+") as stream:
        _drop_torn_line(stream)
        stream.write(lines.encode())


def _plain(value: Any) -> Any:
    """A record of numbers and arrays as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # arrays and scalars of numpy and JAX
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _drop_torn_line(stream: BinaryIO) -> None:
    """Forget a last line that a killed process did not finish, so that nothing is written onto it."""
    size = stream.seek(0, os.SEEK_END)
    if size == 0:
        return
    stream.seek(size - 1)
    if stream.read() == b"\n":
        return
    stream.seek(0)
    stream.truncate(stream.read().rfind(b"\n") + 1)
