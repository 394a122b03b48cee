"""Levels in a text file, to be tested on: ``tutelage eval RUN --suite mine.txt``.

    // A line like this is a comment.
    == Crossroads
    // A comment below a name belongs to that level.
    #######
    #>....#
    #.###G#
    #######

    == Corridor
    ...

What stands between two names is a level as ``tutelage levels`` prints it. A file without names is a single level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..envs.base import Domain, Suite, Task, as_brought
from ..envs.texts import from_text
from ..errors import UserError, require
from ..regular import read_regular
from ..types import Level

NAME, COMMENT = "==", "//"
SUFFIX = ".txt"
LARGEST = 4_000_000
"""Bytes of a file."""
LONGEST_NAME = 80


class Entry(NamedTuple):
    """A level of a file, before anybody has read it as one."""

    name: str
    text: str
    comment: str = ""
    line: int = 0
    """Where it begins."""


@dataclass(frozen=True, eq=False)
class FixedLevel:
    """The same level in every episode."""

    level: Level

    def __call__(self, key: PRNGKeyArray) -> Level:
        del key
        return jax.tree.map(jnp.asarray, self.level)


def is_file(name: str) -> bool:
    """Is a suite given as a path of a file, rather than as a name?"""
    return name.endswith(SUFFIX)


def find_suite(domain: Domain, name: str) -> Suite:
    """A suite of an environment by its name, or of a file by its path."""
    return read_suite(domain, Path(name)) if is_file(name) else domain.suites[name]


def read_suite(domain: Domain, path: Path | str) -> Suite:
    """The levels of a file as a suite, a task for each."""
    return Suite(Path(path).name, tuple(task(domain, name, level) for name, level in read_levels(domain, path)))


def read_levels(domain: Domain, path: Path | str) -> list[tuple[str, Level]]:
    """The levels of a file with their names. A level that is none is refused, with the line where it begins."""
    levels = []
    for entry in read_entries(path):
        try:
            levels.append((entry.name, from_text(domain, entry.text)))
        except UserError as problem:
            raise UserError(f"{path}, line {entry.line}, '{entry.name}': {problem}") from problem
    return levels


def task(domain: Domain, name: str, level: Level) -> Task:
    """A level that somebody brought, to be tested on."""
    env, level, longest = as_brought(domain, level)
    return Task(name, env, FixedLevel(level), longest)


def read_entries(path: Path | str) -> list[Entry]:
    """What a file holds, as text."""
    path = Path(path)
    try:
        require(
            path.stat().st_size <= LARGEST, f"{path} has more than {LARGEST:,} bytes; give a smaller file of levels."
        )
        text = read_regular(path).decode("utf-8-sig")
    except OSError as problem:
        raise UserError(f"The levels of {path} could not be read: {problem.strerror or problem}.") from problem
    except UnicodeDecodeError as problem:
        raise UserError(f"{path} is not text ({problem.reason}); give a file of levels in UTF-8.") from problem
    return parse_entries(text, str(path))


def parse_entries(text: str, source: str) -> list[Entry]:
    """What a text holds; ``source`` is what sentences call it."""
    names: list[tuple[str, int, list[str], list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(NAME):
            name = line.removeprefix(NAME).strip()
            _check_name(name, f"{source}, line {number}")
            names.append((name, number, [], []))
        elif line.startswith(COMMENT):
            if names:
                names[-1][3].append(line.removeprefix(COMMENT).strip())
        elif line.strip():
            if not names:
                names.append((Path(source).stem or "level", number, [], []))
            names[-1][2].append(line)
    require(len(names) > 0, f"{source} has no levels; write a line '{NAME} NAME' and the level below it.")
    seen: dict[str, int] = {}
    for name, number, lines, _ in names:
        require(bool(lines), f"{source}, line {number}: there is no level below the name '{name}'; write one there.")
        require(
            name not in seen,
            f"{source}, line {number}: the name '{name}' was given in line {seen.get(name)} already; give each once.",
        )
        seen[name] = number
    return [Entry(name, "\n".join(lines), "\n".join(comment), number) for name, number, lines, comment in names]


def format_entries(entries: Iterable[Entry]) -> str:
    """What ``parse_entries`` reads back."""
    blocks = []
    for entry in entries:
        _check_name(entry.name, "A level to be written")
        lines = [line for line in entry.text.splitlines() if line.strip()]
        require(
            bool(lines) and not any(line.startswith((NAME, COMMENT)) for line in lines),
            f"The level '{entry.name}' cannot be written to a file: it is empty, or a line of it begins like a name "
            f"({NAME}) or a comment ({COMMENT}).",
        )
        comment = [f"{COMMENT} {line.strip()}".rstrip() for line in entry.comment.splitlines()]
        blocks.append("\n".join([f"{NAME} {entry.name}", *comment, *lines]) + "\n")
    return "\n".join(blocks)


def _check_name(name: str, where: str) -> None:
    require(
        0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip(),
        f"{where}: the name of a level is {name[:LONGEST_NAME]!r}; give 1 to {LONGEST_NAME} printable characters.",
    )
