"""What the thesis shows, as data: `catalogue.toml` says which study makes each table and figure. No JAX here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from ..errors import UserError, require, unknown
from ..methods.registry import find
from ..runs import grid
from ..settings import Settings

PACKAGE = "tutelage.reproduce"
Scale = Literal["laptop", "full"]
SCALES: tuple[Scale, ...] = ("laptop", "full")


@dataclass(frozen=True)
class Source:
    """A study that makes a table, or some of its rows."""

    study: str
    """The name of its file, without the suffix."""
    suite: str
    scale: str
    """``laptop`` and ``full`` can be asked for; others are what evidence was made with."""
    columns: Mapping[str, str]
    """From a group of the study (a method, perhaps with a variant) to the published column."""
    tasks: Mapping[str, str]
    """From a task of the suite, or a pattern as of a shell, to the published row; others have their own name there."""
    rate: float
    """Steps per second of all runs together, measured on two cores."""

    def row(self, task: str) -> str:
        """The published name of a task. Several tasks may share a row."""
        return next((row for pattern, row in self.tasks.items() if fnmatchcase(task, pattern)), task)


@dataclass(frozen=True)
class Play:
    """A method on a matrix game."""

    method: str
    changes: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return " ".join([self.method, *(f"{name} {value}" for name, value in self.changes.items())])


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the thesis."""

    name: str
    kind: Literal["table", "figure", "game"]
    title: str
    chapter: int
    measure: Literal["solved", "return"] = "solved"
    episodes: int = 100
    """Of each test, with the last student of each run."""
    says: str = ""
    """What the thesis says of it in words, where it has no figures."""
    sources: tuple[Source, ...] = ()
    environment: str = ""
    """Of an exhibit that is a matrix game; so are the next three."""
    game: str = ""
    iterations: int = 0
    plays: tuple[Play, ...] = ()
    shows: str = ""
    """Of a figure: the table whose study it is drawn from."""
    command: str = ""
    """Of a figure: what draws it, with STUDY for the study's directory."""
    missing: str = ""
    """Why it cannot be made, if it cannot."""

    def at(self, scale: str) -> tuple[Source, ...]:
        """The studies of a scale."""
        return tuple(source for source in self.sources if source.scale == scale)


@dataclass(frozen=True)
class Cost:
    """What studies take."""

    runs: int
    steps: int
    """Of all students of all runs."""
    hours: float
    """On two cores."""


@cache
def catalogue() -> dict[str, Exhibit]:
    """All exhibits by name, in the order of the thesis."""
    document = tomllib.loads(files(PACKAGE).joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return {name: _exhibit(name, entry) for name, entry in document.items()}


def exhibit(name: str) -> Exhibit:
    """One of them."""
    if name not in catalogue():
        raise unknown("table or figure", name, catalogue())
    return catalogue()[name]


def table_of(chosen: Exhibit) -> Exhibit:
    """What has the studies: the exhibit itself, or the table that a figure is drawn from."""
    return catalogue()[chosen.shows] if chosen.shows else chosen


def sources_at(chosen: Exhibit, scale: str) -> tuple[Source, ...]:
    """The studies that make an exhibit at a scale; refuses where there is none."""
    require(not chosen.missing, f"{chosen.name} cannot be made: {chosen.missing}")
    found = table_of(chosen).at(scale)
    if not found:
        there = sorted({source.scale for source in table_of(chosen).sources})
        raise UserError(f"There is no study of {chosen.name} at the scale '{scale}'; there is {', '.join(there)}.")
    return found


def study_file(name: str) -> Path:
    """The file of a study that comes with Tutelage."""
    path = Path(str(files("tutelage").joinpath("studies"))) / f"{name}.toml"
    require(path.is_file(), f"The study {name} is not part of this installation: {path} is missing.")
    return path


def cost(sources: tuple[Source, ...]) -> Cost:
    """From the settings of every planned run, and measured rates."""
    planned = [(*_planned(source.study), source.rate) for source in sources]
    return Cost(
        runs=sum(runs for runs, _, _ in planned),
        steps=sum(steps for _, steps, _ in planned),
        hours=sum(steps / rate for _, steps, rate in planned) / 3600,
    )


@cache
def _planned(study: str) -> tuple[int, int]:
    """How many runs a study has, and the steps of all their students. Some studies have a thousand runs."""
    plans = grid.read(study_file(study)).plans
    return len(plans), sum(plan.settings.train.steps * _students(plan.settings) for plan in plans)


def _students(settings: Settings) -> int:
    return find(settings.method).students(settings.curriculum)


@dataclass(frozen=True)
class _Defaults:
    suite: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


def _exhibit(name: str, entry: Mapping[str, Any]) -> Exhibit:
    own = {key: value for key, value in entry.items() if key not in ("study", "plays", "suite", "tasks", "columns")}
    shared = _Defaults(entry.get("suite", ""), entry.get("tasks", {}), entry.get("columns", {}))
    sources = tuple(
        Source(
            study=source["file"],
            suite=source.get("suite", shared.suite),
            scale=source["scale"],
            columns=source.get("columns", shared.columns),
            tasks=source.get("tasks", shared.tasks),
            rate=source["rate"],
        )
        for source in entry.get("study", ())
    )
    plays = tuple(Play(**play) for play in entry.get("plays", ()))
    return Exhibit(name=name, sources=sources, plays=plays, **own)
