"""Settings as a file that a person can read and edit, and as dotted overrides. No JAX here.

Settings are nested frozen dataclasses whose leaves are text, numbers, booleans and choices. Everything below goes
through one flat view of them, from dotted name to `Entry`, so that a file and a command line obey the same rules.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from .errors import UserError, unknown

T = TypeVar("T")

_OPTIONAL_PREFIX = "curriculum."
_CHOSEN_FIRST = ("environment", "method")
_MAGNITUDES = {"k": 10**3, "m": 10**6, "b": 10**9}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXPECTED = {
    int: "a whole number between -2^63 and 2^63",
    float: "a finite number",
    bool: "true or false",
    str: "text in quotes",
}


class Entry(NamedTuple):
    """One setting."""

    name: str
    kind: Any
    """``str``, ``int``, ``float``, ``bool`` or a ``Literal`` of strings."""
    value: Any
    help: str


def to_toml(settings: Any) -> str:
    """The settings as TOML, each with its help as a comment."""
    sections: dict[str, list[Entry]] = {}
    for entry in _entries(settings):
        sections.setdefault(_section(entry.name), []).append(entry)
    return "\n".join(_write_section(name, entries) for name, entries in sections.items())


def from_toml(text: str, template: T, source: str = "config.toml") -> T:
    """Read what `to_toml` wrote or a person edited. The template gives the types, and the value of a missing key."""
    entries = {entry.name: entry for entry in _entries(template)}
    given = _flatten(parse_toml(text, source), entries, set(_sections(template)), source)
    return _rebuild(template, {name: _accept(entries[name], value, source) for name, value in given})


def names(text: str, source: str = "config.toml") -> tuple[str, str]:
    """The environment and the method that a file is for: what must be known to build the template to read it with."""
    document = parse_toml(text, source)
    for name in _CHOSEN_FIRST:
        if not isinstance(document.get(name), str):
            raise UserError(f'{source} does not say its {name}; add a line like {name} = "..." at the top.')
    return document["environment"], document["method"]


def override(settings: T, changes: Mapping[str, str]) -> T:
    """Change settings by dotted name, from text. Hyphens equal underscores, and ``curriculum.`` may be left out."""
    entries = {entry.name: entry for entry in _entries(settings)}
    values: dict[str, Any] = {}
    for given, text in changes.items():
        name = given.replace("-", "_")
        if name not in entries and _OPTIONAL_PREFIX + name in entries:
            name = _OPTIONAL_PREFIX + name
        if name not in entries:
            raise _unknown(name, entries)
        # They decide which settings exist, so changing them here would leave a mixture of two methods.
        if name in _CHOSEN_FIRST:
            raise UserError(f"'{name}' cannot be overridden with {text!r}: start from the settings of that {name}.")
        if name in values:
            raise UserError(f"{name} is given twice (once as {given}={text}); give it once.")
        values[name] = _parse(entries[name], text)
    return _rebuild(settings, values)


def describe(settings: Any) -> list[tuple[str, str, str, str]]:
    """Dotted name, type, default and help of every setting, as text. The default can be given to `override`."""
    return [
        (name, " | ".join(get_args(kind)) or kind.__name__, value if isinstance(value, str) else _format(value), text)
        for name, kind, value, text in _entries(settings)
    ]


def _entries(section: Any, prefix: str = "") -> Iterator[Entry]:
    """Leaves before sections: a key after a TOML header would belong to that header."""
    kinds = get_type_hints(type(section))
    nested = []
    for field in fields(section):
        value = getattr(section, field.name)
        if is_dataclass(value):
            nested.append((value, f"{prefix}{field.name}."))
        else:
            yield Entry(prefix + field.name, kinds[field.name], value, field.metadata.get("help", ""))
    for value, name in nested:
        yield from _entries(value, name)


def _sections(section: Any, prefix: str = "") -> Iterator[str]:
    """Also the ones without a leaf, which a file may name all the same."""
    for field in fields(section):
        if is_dataclass(value := getattr(section, field.name)):
            yield prefix + field.name
            yield from _sections(value, f"{prefix}{field.name}.")


def _rebuild(section: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    """Put all values in at once, so that the checks of every dataclass see the final combination only."""
    changed = {}
    for field in fields(section):
        name, value = prefix + field.name, getattr(section, field.name)
        changed[field.name] = _rebuild(value, values, name + ".") if is_dataclass(value) else values.get(name, value)
    try:
        return replace(section, **changed)
    except UserError:
        raise
    except ValueError as problem:  # a settings class of somebody else's environment
        raise UserError(str(problem)) from problem


def _section(name: str) -> str:
    return name.rpartition(".")[0]


def _unknown(name: str, known: Mapping[str, Any]) -> UserError:
    """Offer the settings of the same section or the same last name, all of them only where there are none."""
    section, _, last = name.rpartition(".")
    near = [other for other in known if (section and _section(other) == section) or other.rpartition(".")[2] == last]
    return unknown("setting", name, near or known)


# Writing


def _write_section(name: str, entries: list[Entry]) -> str:
    lines = [f"{entry.name.rpartition('.')[2]} = {_format(entry.value)}" for entry in entries]
    width = max(map(len, lines))
    lines = [
        f"{line:<{width}}  # {note}" if (note := _note(entry)) else line
        for line, entry in zip(lines, entries, strict=True)
    ]
    return "\n".join([f"[{name}]"] * bool(name) + lines) + "\n"


def _note(entry: Entry) -> str:
    choices = f"({', '.join(get_args(entry.kind))})" if get_args(entry.kind) else ""
    return " ".join(f"{entry.help} {choices}".split())


def _format(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for surrogate pairs (not asked for) and the delete character (left out).
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


# Reading


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """A document; what is wrong with one that is none, and in which line."""
    try:
        return tomllib.loads(text)
    except ValueError as problem:
        raise UserError(f"{source} is not valid TOML: {problem}. Correct it there.") from problem


def _flatten(
    table: Mapping[str, Any], entries: Mapping[str, Entry], sections: set[str], source: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """The document's values by dotted name, every name known."""
    for key, value in table.items():
        name = prefix + key
        if name in sections:
            if not isinstance(value, dict):
                raise UserError(f"{name} is {_format(value)} in {source}, but it is a section; write [{name}] instead.")
            yield from _flatten(value, entries, sections, source, name + ".")
        elif name in entries:
            yield name, value
        else:
            raise unknown("section", name, sections) if isinstance(value, dict) else _unknown(name, entries)


def _accept(entry: Entry, value: Any, source: str = "") -> Any:
    """A value of the right type; a number may change its type where that loses nothing."""
    kind = entry.kind
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
    elif kind is int and type(value) in (int, float) and abs(value) < 2**63 and value == int(value):
        return int(value)
    elif kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    elif kind in (bool, str) and type(value) is kind:
        return value
    raise _refusal(entry, _format(value), source)


def _parse(entry: Entry, text: str) -> Any:
    """A value from the command line, where everything is text."""
    readers = {int: _whole, float: float, bool: lambda word: _BOOLEANS[word.strip().lower()]}
    try:
        value = readers.get(entry.kind, str)(text)
    except (ValueError, KeyError, ArithmeticError):
        raise _refusal(entry, f"'{text}'") from None
    return _accept(entry, value)


def _whole(text: str) -> int:
    """2000, 2_000, 1e6, 1.5k, 20M. Decimal, because 0.29M is not whole in binary."""
    digits, scale = text.strip(), 1
    if digits[-1:].lower() in _MAGNITUDES:
        digits, scale = digits[:-1], _MAGNITUDES[digits[-1].lower()]
    number = Decimal(digits) * scale
    # The bound comes first: writing out 1e999999999 would take all memory.
    if not abs(number) < 2**63 or number != int(number):
        raise ValueError
    return int(number)


def _refusal(entry: Entry, given: str, source: str = "") -> UserError:
    choices = get_args(entry.kind)
    expected = f"one of {', '.join(choices)}" if choices else _EXPECTED[entry.kind]
    return UserError(f"{entry.name} is {given}{f' in {source}' if source else ''}; give {expected}.")
