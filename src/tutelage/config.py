"""Settings as a file that a person can read and edit, and as dotted overrides. No JAX here.

Settings are nested frozen dataclasses whose leaves are text, numbers, booleans and choices. Everything below goes
through one flat view of them, from dotted name to `Setting`, so that a file and a command line obey the same rules.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from .errors import UserError, unknown

T = TypeVar("T")

_OPTIONAL_PREFIX = "curriculum."
_CHOSEN_FIRST = ("environment", "method")
_MAGNITUDES = {"k": 10**3, "m": 10**6, "b": 10**9}
RENAMED = {
    "network.filters": "encoder.filters",
    "network.direction": "encoder.direction",
    "train.coins": "train.shared_seed",
    "curriculum.teacher.filters": "curriculum.teacher.encoder.filters",
    "curriculum.teacher.time": "curriculum.teacher.encoder.time",
    "teacher.filters": "curriculum.teacher.encoder.filters",
    "teacher.time": "curriculum.teacher.encoder.time",
}
"""What settings are called now that runs of earlier versions have under another name."""
RENAMED_VALUES = {("curriculum.evolve.start", "empty"): "easy"}
BEFORE = {"regulariser.memory": ("regulariser.window", 0)}
"""What runs of earlier versions did where there is a setting now: a setting that stands beside it in every run's file,
and the value that does the same."""
_NUMBER = re.compile(r"[+-]?([0-9]+(_[0-9]+)*)?(\.([0-9]+(_[0-9]+)*)?)?(e[+-]?[0-9]{1,4})?", re.ASCII | re.IGNORECASE)
_DEEPEST = 32
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
MOST = 10_000_000
"""No whole number is larger unless its setting says so: far beyond what anybody uses, and far within 32 bits."""
_EXPECTED = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "text in quotes",
}


class Setting(NamedTuple):
    """One setting."""

    name: str
    kind: Any
    """``str``, ``int``, ``float``, ``bool`` or a ``Literal`` of strings."""
    value: Any
    help: str
    most: int = MOST
    """Of a whole number: what it is at most."""


def to_toml(settings: Any) -> str:
    """The settings as TOML, each with its help as a comment."""
    sections: dict[str, list[Setting]] = {}
    for setting in settings_of(settings):
        sections.setdefault(short(_section(setting.name), settings), []).append(setting)
    return "\n".join(_write_section(name, known) for name, known in sections.items())


def from_toml(text: str, template: T, source: str = "config.toml") -> T:
    """Read what `to_toml` wrote or a person edited. The template gives the types, and the value of a missing key."""
    known = {setting.name: setting for setting in settings_of(template)}
    values: dict[str, Any] = {}
    for name, value in _flatten(parse_toml(text, source), known, set(_sections(template)), source):
        if name in values:
            raise UserError(f"{short(name)} is given twice in {source}; give it once.")
        values[name] = _accept(known[name], value, source)
    for name, (beside, value) in BEFORE.items():
        if beside in values and beside in known:
            values.setdefault(name, value)
    return rebuilt(template, values)


def short(name: str, settings: Any = None) -> str:
    """A setting's name as people write it everywhere: without ``curriculum.``, unless another section has that name."""
    rest = name.removeprefix(_OPTIONAL_PREFIX)
    taken = {field.name for field in fields(settings)} if settings is not None else ()
    return name if rest.partition(".")[0] in taken else rest


def names(text: str, source: str = "config.toml") -> tuple[str, str]:
    """The environment and the method that a file is for: what must be known to build the template to read it with."""
    document = parse_toml(text, source)
    for name in _CHOSEN_FIRST:
        if not isinstance(document.get(name), str):
            raise UserError(f'{source} does not give its {name}; add a line like {name} = "..." at the top.')
    return document["environment"], document["method"]


def override(settings: T, changes: Mapping[str, str]) -> T:
    """Change settings by dotted name, from text. Hyphens equal underscores, and ``curriculum.`` may be left out."""
    known = {setting.name: setting for setting in settings_of(settings)}
    values: dict[str, Any] = {}
    for given, text in changes.items():
        name = given.replace("-", "_")
        name = RENAMED.get(name, name)
        if name not in known and _OPTIONAL_PREFIX + name in known:
            name = _OPTIONAL_PREFIX + name
        if name not in known:
            raise _unknown(name, known)
        # They decide which settings exist, so changing them here would leave a mixture of two methods.
        if name in _CHOSEN_FIRST:
            raise UserError(f"'{name}' cannot be overridden with {text!r}: start from the settings of that {name}.")
        if name in values:
            raise UserError(f"{short(name)} is given twice (once as {given}={text}); give it once.")
        values[name] = _parse(known[name], RENAMED_VALUES.get((name, text), text))
    changed = rebuilt(settings, values)
    for name, reason in idle(changed).items():
        if name in values:
            raise UserError(f"{name.removeprefix(_OPTIONAL_PREFIX)} is not read, because {reason}; leave it out.")
    return changed


def idle(settings: Any, prefix: str = "") -> dict[str, str]:
    """Settings that are not read as the others are, by dotted name, each with the reason."""
    found: dict[str, str] = {}
    own = settings.idle() if hasattr(settings, "idle") else {}
    for field in fields(settings):
        name, value = prefix + field.name, getattr(settings, field.name)
        if is_dataclass(value):
            inside = idle(value, name + ".")
            found |= (
                {each.name: own[field.name] for each in settings_of(value, name + ".")} if field.name in own else inside
            )
        elif field.name in own:
            found[name] = own[field.name]
    return found


def describe(settings: Any, unread: bool = True) -> list[tuple[str, str, str, str]]:
    """Dotted name, type, default and help of every setting, as text. The default can be given to `override`.

    Without ``unread``, those are left out that are not read as the others are.
    """
    hidden = {} if unread else idle(settings)
    return [
        (name, " | ".join(get_args(kind)) or kind.__name__, written(value), text)
        for name, kind, value, text, _ in settings_of(settings)
        if name not in hidden
    ]


def settings_of(section: Any, prefix: str = "") -> Iterator[Setting]:
    """Every setting. Leaves before sections: a key after a TOML header would belong to that header."""
    kinds = _kinds(type(section))
    nested = []
    for field in fields(section):
        value = getattr(section, field.name)
        if is_dataclass(value):
            nested.append((value, f"{prefix}{field.name}."))
        else:
            help, most = field.metadata.get("help", ""), field.metadata.get("most", MOST)
            yield Setting(prefix + field.name, kinds[field.name], value, help, most)
    for value, name in nested:
        yield from settings_of(value, name)


# Hints are strings that have to be evaluated, which takes most of the time of reading a study of many runs.
_kinds = lru_cache(maxsize=256)(get_type_hints)


def _sections(section: Any, prefix: str = "") -> Iterator[str]:
    """Also the ones without a leaf, which a file may name all the same."""
    for field in fields(section):
        if is_dataclass(value := getattr(section, field.name)):
            yield prefix + field.name
            yield from _sections(value, f"{prefix}{field.name}.")


def rebuilt(section: T, values: Mapping[str, Any], prefix: str = "") -> T:
    """Settings with other values by dotted name. Put all values in at once, so that the checks of every dataclass see
    the final combination only.
    """
    changed = {}
    for field in fields(cast(Any, section)):
        name, value = prefix + field.name, getattr(section, field.name)
        changed[field.name] = rebuilt(value, values, name + ".") if is_dataclass(value) else values.get(name, value)
    try:
        return replace(cast(Any, section), **changed)
    except UserError:
        raise
    except ValueError as problem:  # a settings class of somebody else's environment
        raise UserError(str(problem)) from problem


def _section(name: str) -> str:
    return name.rpartition(".")[0]


def _unknown(name: str, known: Mapping[str, Any]) -> UserError:
    """Offer the settings of the same section or the same last name, all of them only where there are none."""
    name, names = short(name), [short(other) for other in known]
    section, _, last = name.rpartition(".")
    near = [other for other in names if (section and _section(other) == section) or other.rpartition(".")[2] == last]
    return unknown("setting", name, near or names)


# Writing


def _write_section(name: str, known: list[Setting]) -> str:
    lines = [f"{setting.name.rpartition('.')[2]} = {_format(setting.value)}" for setting in known]
    width = max(map(len, lines))
    lines = [
        f"{line:<{width}}  # {note}" if (note := _note(setting)) else line
        for line, setting in zip(lines, known, strict=True)
    ]
    return "\n".join([f"[{name}]"] * bool(name) + lines) + "\n"


def _note(setting: Setting) -> str:
    choices = f"({', '.join(get_args(setting.kind))})" if get_args(setting.kind) else ""
    return " ".join(f"{setting.help} {choices}".split())


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


def read_text(path: Path | str, what: str = "config") -> str:
    """A file's text. Editors of some systems put a byte-order mark first."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UserError(f"The {what} file {path} could not be read: {problem}.") from problem


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """A document; what is wrong with one that is none, and in which line."""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{source} is nested too deeply to be read; sections are {_DEEPEST} deep at most.") from None
    except ValueError as problem:
        raise UserError(f"{source} is not valid TOML: {problem}. Correct it there.") from problem
    layer: list[Any] = [document]
    for _ in range(_DEEPEST):
        layer = [x for outer in layer if isinstance(outer, dict | list) for x in _inside(outer)]
    if layer:
        raise UserError(f"{source} is nested too deeply to be read; sections are {_DEEPEST} deep at most.")
    return document


def _inside(outer: dict[str, Any] | list[Any]) -> Any:
    return outer.values() if isinstance(outer, dict) else outer


def flat(document: Mapping[str, Any], source: str, prefix: str = "") -> dict[str, Any]:
    """A document's values by dotted name, whatever they are called: text, numbers and booleans."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        name = RENAMED.get(prefix + key, prefix + key)
        if isinstance(value, dict):
            found |= flat(value, source, prefix + key + ".")
        elif isinstance(value, str | int | float):
            found[name] = RENAMED_VALUES.get((name, value), value) if isinstance(value, str) else value
        else:
            raise UserError(f"{name} is {value!r:.60} in {source}; give text, a number, true or false.")
    return found


def from_values(template: T, values: Mapping[str, Any], prefix: str, source: str) -> T:
    """One section by itself, from the values of a whole document."""
    known = {setting.name: setting for setting in settings_of(template, prefix)}
    given = {name: value for name, value in values.items() if name.startswith(prefix)}
    for name in given:
        if name not in known:
            raise _unknown(name, known)
    return rebuilt(template, {name: _accept(known[name], value, source) for name, value in given.items()}, prefix)


def written(value: Any) -> str:
    """A value as `describe` shows it."""
    return value if isinstance(value, str) else _format(value)


def _flatten(
    table: Mapping[str, Any], known: Mapping[str, Setting], sections: set[str], source: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """The document's values by dotted name, every name known."""
    for key, value in table.items():
        name = RENAMED.get(prefix + key, prefix + key)
        if name not in sections and name not in known and _OPTIONAL_PREFIX + name in sections:
            name = _OPTIONAL_PREFIX + name
        if name in sections:
            if not isinstance(value, dict):
                raise UserError(f"{name} is {_format(value)} in {source}, but it is a section; write [{name}] instead.")
            yield from _flatten(value, known, sections, source, name + ".")
        elif name in known:
            yield name, RENAMED_VALUES.get((name, value), value) if isinstance(value, str) else value
        else:
            raise unknown("section", name, sections) if isinstance(value, dict) else _unknown(name, known)


def _accept(setting: Setting, value: Any, source: str = "") -> Any:
    """A value of the right type; a number may change its type where that loses nothing."""
    kind = setting.kind
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
    elif kind is int and type(value) in (int, float) and abs(value) < 2**63 and value == int(value):
        if abs(value) > setting.most:
            where = f" in {source}" if source else ""
            raise UserError(f"{setting.name} is {int(value):,}{where}; give at most {setting.most:,}.")
        return int(value)
    elif kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    elif kind in (bool, str) and type(value) is kind:
        return value
    raise _refusal(setting, _format(value), source)


def _parse(setting: Setting, text: str) -> Any:
    """A value from the command line, where everything is text."""
    readers = {int: whole, float: _real, bool: lambda word: _BOOLEANS[word.strip().lower()]}
    try:
        value = readers.get(setting.kind, str)(text)
    except (ValueError, KeyError, ArithmeticError):
        raise _refusal(setting, f"'{text}'") from None
    return _accept(setting, value)


def whole(text: str) -> int:
    """2000, 2_000, 1e6, 1.5k, 20M; a ``ValueError`` for what is none. Decimal, because 0.29M is not whole in binary."""
    digits, scale = text.strip(), 1
    if digits[-1:].lower() in _MAGNITUDES:
        digits, scale = digits[:-1], _MAGNITUDES[digits[-1].lower()]
    number = Decimal(_plain_number(digits)) * scale
    # The bound comes first: writing out 1e999999999 would take all memory.
    if not abs(number) < 2**63 or number != int(number):
        raise ValueError
    return int(number)


def _real(text: str) -> float:
    return float(_plain_number(text.strip()))


def _plain_number(text: str) -> str:
    """Refuse what Python would take for a number and nobody else: 1__0, the digits of other scripts, 'infinity'."""
    if not text or len(text) > 400 or not _NUMBER.fullmatch(text) or not re.search("[0-9]", text):
        raise ValueError(text)
    return text


def check_bounds(settings: Any) -> None:
    """Refuse whole numbers that are too large, also where no text was read: settings can be made in Python."""
    for setting in settings_of(settings):
        if setting.kind is int:
            _accept(setting, setting.value)


def _refusal(setting: Setting, given: str, source: str = "") -> UserError:
    choices = get_args(setting.kind)
    expected = f"one of {', '.join(choices)}" if choices else _EXPECTED[setting.kind]
    if setting.kind is int and not source:
        expected += ", such as 5000, 20k or 1.5M"
    return UserError(f"{short(setting.name)} is {given}{f' in {source}' if source else ''}; give {expected}.")
