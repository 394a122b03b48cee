"""A study file, and the runs that it asks for: methods x variants x seeds. No JAX here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from .. import config
from ..compose import iterations, preset
from ..envs.registry import environment
from ..errors import UserError, require, unknown
from ..plugins import absolute, is_file, label
from ..settings import Settings
from ..trusted import Untrusted, require_trusted

Changes = Mapping[str, str]
"""Settings by dotted name, as `config.override` takes them."""
Choices = Mapping[str, str | tuple[str, ...]]
"""The same, where a setting may have several values: a variant for each."""

KEYS = ("environment", "preset", "methods", "seeds", "steps", "settings", "method", "variant")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NO_FOLDER = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study."""

    group: str
    """The method and, where there is one, the variant: what a comparison tells apart."""
    settings: Settings

    @property
    def seed(self) -> int:
        return self.settings.train.seed

    @property
    def name(self) -> str:
        """Where the run lies in the study's directory."""
        return f"{self.group}/s{self.seed}"

    @property
    def iterations(self) -> int:
        return iterations(self.settings)


@dataclass(frozen=True)
class Study:
    """All runs that a file asks for, seed by seed, so that every method has a first result soon."""

    source: str
    text: str
    plans: tuple[PlannedRun, ...]


def read(path: Path | str) -> Study:
    """The study that a file describes. ``studies/NAME.toml`` is one that comes with Tutelage, wherever one is."""
    path = Path(path)
    if not path.exists() and path.parent == Path("studies"):
        shipped = Path(__file__).parents[1] / path
        path = shipped if shipped.is_file() else path
    return parse(config.read_text(path, "study"), str(path))


def parse(text: str, source: str) -> Study:
    """The study that a text describes. Every run's settings are built, so that what is wrong is known before any."""
    document = config.parse_toml(text, source)
    for key in document:
        if key not in KEYS:
            raise _at(source, unknown("key of a study", key, KEYS))
    name = _text(document, "environment", source, 'as in environment = "maze"')
    chosen = document.get("preset", "")
    require(isinstance(chosen, str), f"preset is {chosen!r} in {source}; give a name in quotes.")
    methods = _list(document, "methods", str, source, 'as in methods = ["...", "..."]')
    seeds = _list(document, "seeds", int, source, "as in seeds = [0, 1, 2]")
    try:
        for file in filter(is_file, (name, *methods)):
            require_trusted(absolute(file), source)
        environment(name)
        base = {which: preset(name, which, chosen) for which in methods}
    except Untrusted:
        raise
    except UserError as problem:
        raise _at(source, problem) from problem
    common = _changes(document.get("settings", {}), "settings", source)
    if "steps" in document:
        require("train.steps" not in common, f"{source} gives both steps and train.steps; give one of them.")
        common["train.steps"] = _value(document["steps"], "steps", source)
    own = _tables(document, "method", source)
    for which in own:
        if which not in map(label, methods):
            raise _at(source, unknown("method of this study", which, map(label, methods)))
    variants = _tables(document, "variant", source)
    groups: list[tuple[str, str, Choices, list[int]]] = []
    for which in methods:
        rest = dict(own.get(label(which), {}))
        mine = _own_seeds(rest, f"[method.{label(which)}] of {source}", seeds)
        changes = common | _changes(rest, f"method.{label(which)}", source)
        groups.append((label(which), which, changes, mine))
        for group, more, theirs in _variants(variants, label(which), methods, mine, source):
            groups.append((group, which, {**changes, **more}, theirs))
    known = {which: _names(settings) for which, settings in base.items()}
    plans = tuple(
        PlannedRun(group + suffix, _settings(base[which], known, which, changes, group + suffix, seed, source))
        for seed in [*seeds, *dict.fromkeys(seed for *_, own in groups for seed in own if seed not in seeds)]
        for group, which, choices, chosen in groups
        if seed in chosen
        for suffix, changes in _each(choices)
    )
    _require_different(plans, source)
    return Study(source, text, plans)


def select(study: Study, only: Sequence[str]) -> list[PlannedRun]:
    """The runs whose name is one of ``only``, or matches it as a shell's pattern; all of them without any."""
    for pattern in only:
        require(
            any(fnmatchcase(plan.name, pattern) for plan in study.plans),
            f"No run of {study.source} is called '{pattern}'; it has {', '.join(plan.name for plan in study.plans)}. "
            "A pattern such as 'accel/*' names several.",
        )
    return [plan for plan in study.plans if not only or any(fnmatchcase(plan.name, pattern) for pattern in only)]


def difference(old: Settings, new: Settings) -> str:
    """The first setting in which two differ, as ``name (then, now)``; empty if there is none."""
    before = {name: value for name, _, value, _ in config.describe(old)}
    after = {name: value for name, _, value, _ in config.describe(new)}
    for name in before | after:
        if before.get(name) != after.get(name):
            return f"{config.short(name)} ({before.get(name, 'absent')} then, {after.get(name, 'absent')} now)"
    return ""


def _settings(
    base: Settings, known: Mapping[str, set[str]], which: str, changes: Changes, group: str, seed: int, source: str
) -> Settings:
    for name in changes:
        others = [other for other in known if name in known[other]]
        require(
            name in known[which] or not others,
            f"{source} sets {name} for {group}, and {which} has no such setting; {others[0] if others else ''} has it, "
            f"so put it under [method.{others[0] if others else which}].",
        )
    try:
        return config.override(base, {**changes, "train.seed": str(seed)})
    except UserError as problem:
        raise _at(f"{source}, {group}", problem) from problem


def _each(choices: Choices) -> Iterator[tuple[str, Changes]]:
    """Every combination of the values of settings that have several, with what its name ends with."""
    several = {name: values for name, values in choices.items() if isinstance(values, tuple)}
    lasts = [name.rpartition(".")[2] for name in several]
    short = [last if lasts.count(last) == 1 else name for name, last in zip(several, lasts, strict=True)]
    fixed = {name: value for name, value in choices.items() if isinstance(value, str)}
    for values in product(*several.values()):
        suffix = "".join(f"-{name}-{_NO_FOLDER.sub('_', value)}" for name, value in zip(short, values, strict=True))
        yield suffix, fixed | dict(zip(several, values, strict=True))


def _own_seeds(table: dict[str, Any], where: str, otherwise: list[int]) -> list[int]:
    """Those that a section names for itself, taken out of it; without any, the study's."""
    if "seeds" not in table:
        return otherwise
    seeds = _list(table, "seeds", int, where, "as in seeds = [0, 1, 2]")
    del table["seeds"]
    return seeds


def _variants(
    tables: Mapping[str, Mapping[str, Any]], which: str, methods: Sequence[str], seeds: list[int], source: str
) -> Iterator[tuple[str, Choices, list[int]]]:
    """Those of one method, by its label. A variant is of all methods unless it names some."""
    for variant, table in tables.items():
        require(
            _FOLDER.fullmatch(variant) is not None,
            f"The variant '{variant}' in {source} names a folder; use letters, digits, '.', '_' and '-' only.",
        )
        rest = dict(table)
        known = [label(method) for method in methods]
        mine = known
        if "methods" in rest:
            mine = _list(rest, "methods", str, f"[variant.{variant}] of {source}", 'as in methods = ["..."]')
            del rest["methods"]
        for other in mine:
            if other not in known:
                raise _at(f"{source}, [variant.{variant}]", unknown("method of this study", other, known))
        if which in mine:
            own = _own_seeds(rest, f"[variant.{variant}] of {source}", seeds)
            yield f"{which}-{variant}", _changes(rest, f"variant.{variant}", source), own


def _tables(document: Mapping[str, Any], key: str, source: str) -> Mapping[str, Mapping[str, Any]]:
    tables = document.get(key, {})
    require(
        isinstance(tables, dict) and all(isinstance(table, dict) for table in tables.values()),
        f"{key} in {source} has to be sections with a name each; write [{key}.NAME].",
    )
    return tables


def _changes(table: Any, section: str, source: str) -> dict[str, str | tuple[str, ...]]:
    require(isinstance(table, dict), f"{section} in {source} has to be a section; write [{section}].")
    changes: dict[str, str | tuple[str, ...]] = {}
    for given, value in _leaves(table):
        name = given.replace("-", "_").removeprefix("curriculum.")
        require(name not in changes, f"[{section}] of {source} gives {name} twice; give it once.")
        require(name != "train.seed", f"[{section}] of {source} gives train.seed; seeds = [...] says which there are.")
        if isinstance(value, list):
            values = tuple(_value(one, given, source) for one in value)
            require(
                len(set(values)) == len(values) > 0,
                f"{given} is {value!r} in {source}; of a list every value is a variant, so give each once.",
            )
            changes[name] = values
        else:
            changes[name] = _value(value, given, source)
    return changes


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _value(value: Any, name: str, source: str) -> str:
    """As it would be written on the command line, so that ``20M`` works here as well."""
    require(
        isinstance(value, str | int | float),
        f"{name} is {value!r} in {source}; give text, a number, true or false, or a list of such.",
    )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(document: Mapping[str, Any], key: str, source: str, example: str) -> str:
    value = document.get(key)
    require(isinstance(value, str), f"{source} does not give its {key}; add a line, {example}.")
    assert isinstance(value, str)
    return value


def _list(document: Mapping[str, Any], key: str, kind: type, source: str, example: str) -> list[Any]:
    values = document.get(key)
    require(
        isinstance(values, list) and len(values) > 0 and all(type(value) is kind for value in values),
        f"{source} has no list of {key}; give at least one, {example}.",
    )
    assert isinstance(values, list)
    return values


def _names(settings: Settings) -> set[str]:
    return {name.removeprefix("curriculum.") for name, _, _, _ in config.describe(settings)}


def _require_different(plans: Iterable[PlannedRun], source: str) -> None:
    names: set[str] = set()
    same: dict[Settings, str] = {}
    for plan in plans:
        require(
            plan.name not in names, f"{source} asks for {plan.name} twice; name every method, variant and seed once."
        )
        require(
            plan.settings not in same,
            f"{plan.name} and {same.get(plan.settings)} are the same run in {source}; "
            "a variant has to change some setting, so change it or leave it out.",
        )
        names.add(plan.name)
        same[plan.settings] = plan.name


def _at(where: str, problem: UserError) -> UserError:
    return UserError(f"In {where}: {problem}")
