"""What files of a run may hold. They are data that anybody may have edited, cut or sent: what is read is checked here.

A check takes a value as JSON has it and returns it as the program uses it, or raises ``Wrong`` with a phrase that ends
a sentence such as "Line 3 of metrics.jsonl ...". No JAX here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

Check = Callable[[Any], Any]

LARGEST = 3.5e38
"""Figures are computed in 32 bits, whose largest number this is. Sums and squares of it are finite in 64."""
LONGEST = 1000
"""Letters of a name."""
DEEPEST = 32
"""Levels of nesting in a document."""


_INSIDE = "is wrong:"


class Wrong(ValueError):
    """A value is not what it should be."""


def document(content: bytes) -> Any:
    """What JSON says: one value, of finite numbers, with or without a byte-order mark."""
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_constant=_no_number)
    except Wrong:
        raise
    except RecursionError:
        raise Wrong("is nested too deep") from None
    except ValueError as problem:
        raise Wrong("is not JSON") from problem
    if too_deep(value):
        raise Wrong("is nested too deep")
    return value


def too_deep(value: Any) -> bool:
    """Is a document nested deeper than anybody would write it? Looks without recursion."""
    layer = [value]
    for _ in range(DEEPEST):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
        ]
        if not layer:
            return False
    return True


def _no_number(name: str) -> NoReturn:
    raise Wrong(f"has the number {name}, which JSON does not know")


# --- values


def count(value: Any) -> int:
    """A whole number of 0 or more."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise Wrong(f"is {_shown(value)}, and not a whole number of 0 or more")
    return value


def whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**63:
        raise Wrong(f"is {_shown(value)}, and not a whole number")
    return value


def number(value: Any) -> float | int:
    """A finite number."""
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > LARGEST:
        raise Wrong(f"is {_shown(value)}, and not a finite number")
    return value


def share(value: Any) -> float:
    if not 0 <= number(value) <= 1:
        raise Wrong(f"is {_shown(value)}, and not a number from 0 to 1")
    return float(value)


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Wrong(f"is {_shown(value)}, and not true or false")
    return value


def text(value: Any) -> str:
    if type(value) is not str or not 0 < len(value) <= LONGEST:
        raise Wrong(f"is {_shown(value)}, and not a text of 1 to {LONGEST:,} letters")
    return value


def one_or_more(value: Any) -> int:
    if count(value) < 1:
        raise Wrong("is 0, and not at least 1")
    return value


def folder(value: Any) -> str:
    """A name of a directory within another."""
    if "/" in text(value) or value in (".", "..") or "\0" in value:
        raise Wrong(f"is {_shown(value)}, and not the name of a directory in this one")
    return value


def listed(check: Check) -> Check:
    """A list whose entries all pass."""

    def of(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Wrong(f"is {_shown(value)}, and not a list")
        return [_at(f"entry {index}", check, entry) for index, entry in enumerate(value)]

    return of


def named(
    required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, rest: Check | None = None
) -> Check:
    """A mapping with some entries. Nothing else is looked at, unless ``rest`` is to look at it; null is no entry."""

    def of(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise Wrong(f"is {_shown(value)}, and not a record with names")
        for name in required:
            if value.get(name) is None:
                raise Wrong(f"has no '{name}'")
        checks = {**required, **(optional or {})}
        found = {}
        for name, inner in value.items():
            check = checks.get(name, rest)
            if check is not None and inner is not None:
                found[text(name)] = _at(f"'{name}'", check, inner)
        return found

    return of


def _at(place: str, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except Wrong as problem:
        inner = str(problem)
        raise Wrong(inner if inner.startswith(_INSIDE) else f"{_INSIDE} {place[:80]} {inner}") from None


def _shown(value: Any) -> str:
    """Short enough to stand in a sentence, and without anything that a terminal would obey."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    try:
        said = json.dumps(value)
    except (TypeError, ValueError):  # a whole number too long to be written
        said = type(value).__name__
    return said if len(said) <= 40 else said[:37] + "..."


# --- the files of a run


def metrics(value: Any) -> dict[str, Any]:
    """A line of ``metrics.jsonl``: figures by name. One that is null was not defined, and is left out."""
    return _METRICS(value)


_METRICS = named({"iteration": count, "steps": count}, {"learned_steps": count}, rest=number)

_TASK = named(
    {"solved": share, "return": number, "episodes": one_or_more},
    {"solved-error": number, "return-error": number, "return-min": number, "normalised": number},
)
_EVALUATION = named(
    {"iteration": count, "steps": count, "suite": text, "tasks": named({}, rest=_TASK)},
    {"seed": whole, "student": count, "greedy": flag, "solved": share, "return": number},
)


def evaluation(value: Any) -> dict[str, Any]:
    """A line of ``evaluations.jsonl``, complete: what may be left out has its usual value."""
    record = _EVALUATION(value)
    tasks = record["tasks"].values()
    if not tasks:
        raise Wrong(f"{_INSIDE} 'tasks' has no task")
    means = {name: sum(task[name] for task in tasks) / len(tasks) for name in ("solved", "return")}
    return {"seed": 0, "student": 0, "greedy": False, **means, **record}


group = named({"runs": listed(folder)})
"""``seeds.json``."""

about = named(
    {},
    {
        "version": text,
        "created": text,
        "from": named({"run": text}, rest=lambda value: value),
        "extended": listed(lambda value: value),
    },
    rest=lambda value: value,
)
"""``run.json``, a note for people."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


def _digest(value: Any) -> str:
    if type(value) is not str or not _DIGEST.fullmatch(value):
        raise Wrong(f"is {_shown(value)}, and not a SHA-256 digest")
    return value


def _path(value: Any) -> str:
    if type(value) is not str:
        raise Wrong(f"is {_shown(value)}, and not a path")
    return value


_LEAF = named({"path": _path, "dtype": text, "shape": listed(count), "key": _path})

_META = named({}, {"iteration": count, "learned_steps": count}, rest=lambda value: value)

manifest = named({"format": whole, "digest": _digest, "meta": _META, "leaves": listed(_LEAF)})
"""Of a checkpoint of a run."""
