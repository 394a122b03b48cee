"""A directory of runs that train as one program: one for each seed, and each an ordinary run directory.

A file beside them says which they are. Everything that reads a run is given one of them and needs no special case.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UserError, require
from ..regular import read_regular
from ..settings import OWN, Settings
from . import schema
from .directory import CONFIG, GROUP, RunDirectory, new_directory
from .files import write_atomically


@dataclass(frozen=True)
class RunGroup:
    """The runs of one program on disk."""

    path: Path
    names: tuple[str, ...]

    @classmethod
    def create(cls, path: Path | str, each: Sequence[Settings]) -> RunGroup:
        """Start a directory with one for each of some settings, which differ in the seed only."""
        names = tuple(f"seed-{settings.train.seed}" for settings in each)
        path = new_directory(path, names)
        for name, settings in zip(names, each, strict=True):
            RunDirectory.create(path / name, settings)
        # Last, because it is what makes the directory a group.
        write_atomically(path / GROUP, (json.dumps({"runs": names}, indent=2) + "\n").encode())
        return cls(path, names)

    @classmethod
    def open(cls, path: Path | str) -> RunGroup:
        """An existing group, all of whose runs are there."""
        path = Path(path)
        names = _names(path)
        for name in names:
            require(
                (path / name / CONFIG).is_file(),
                f"The run {path / name} is missing, and the seeds of {path} go on together or not at all; put it back. "
                "A copy of another seed's directory, outside of this one, can go on alone.",
            )
        return cls(path, names)

    def runs(self) -> list[RunDirectory]:
        """In the order of their seeds."""
        return [RunDirectory.open(self.path / name) for name in self.names]

    def settings(self) -> list[Settings]:
        """What each run was asked to do: the same, but for the seed."""
        each = [run.settings() for run in self.runs()]
        require(
            len({replace(settings, train=replace(settings.train, seed=0)) for settings in each}) == 1
            and each[0].train.shared_seed != OWN,
            f"The runs in {self.path} are one program, so their settings may differ in train.seed only and share one "
            f"train.shared_seed; make each {CONFIG} say the same again.",
        )
        return each


def seeds_of(settings: Settings, seeds: int) -> list[Settings]:
    """The settings of several runs: seeds that follow each other, and one for the decisions that they share."""
    first = settings.train.seed
    shared = first if settings.train.shared_seed == OWN else settings.train.shared_seed
    return [replace(settings, train=replace(settings.train, seed=first + i, shared_seed=shared)) for i in range(seeds)]


def is_group(path: Path | str) -> bool:
    """Does a directory hold the runs of one program, rather than a run?"""
    return (Path(path) / GROUP).is_file()


def settings_at(path: Path | str) -> Settings:
    """The settings of a run, or of the first of a program's runs."""
    return RunGroup.open(path).settings()[0] if is_group(path) else RunDirectory.open(path).settings()


def require_alone(path: Path | str) -> None:
    """Refuse to go on with one seed of a program: alone it might round differently, and leave the others behind."""
    path = Path(path)
    parent = path.resolve().parent
    require(
        not is_group(parent) or path.resolve().name not in _names(parent),
        f"The run {path} trains as one program with the other seeds in {path.parent}; resume all of them: "
        f"`tutelage resume {path.parent}`. A copy of it outside that directory can be resumed alone.",
    )


def _names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(schema.group(schema.document(read_regular(path / GROUP)))["runs"])
    except (OSError, schema.Wrong) as problem:
        raise UserError(
            f'{path / GROUP} could not be read: it {problem}; it should say {{"runs": ["seed-0", ...]}}.'
        ) from problem
