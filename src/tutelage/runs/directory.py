"""The directory of a run: its settings, its records and its checkpoints.

Reading needs neither a lock nor JAX, so a run can be watched and reported on while it trains.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .. import config
from ..compose import preset
from ..errors import UserError
from ..plugins import absolute, is_file
from ..regular import read_regular
from ..settings import Settings
from ..trusted import require_trusted, trust
from . import lines, schema
from .files import Busy, locked, write_atomically
from .outline import Outline, read_outline

CONFIG = "config.toml"
METRICS = "metrics.jsonl"
EVALUATIONS = "evaluations.jsonl"
ABOUT = "run.json"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"
GROUP = "seeds.json"
"""In a directory that holds the runs of one program (``group.py``)."""
RECORDS = {METRICS: schema.metrics, EVALUATIONS: schema.evaluation}
"""Files of records, and what a line of each may say."""
PATIENCE = 1.0
"""Seconds to wait for a lock: who adds a record has it for a moment, who trains has it for long."""


_STUDENTS = "students/"
"""What the paths of the students' arrays begin with in a checkpoint; their first axis is the student's."""

T = TypeVar("T")


class Standing(NamedTuple):
    """Where a run stands, as its newest checkpoint has it."""

    iteration: int
    students: int
    digest: str


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk."""

    path: Path

    @classmethod
    def create(cls, path: Path | str, settings: Any) -> RunDirectory:
        """Start a directory for a new run. An existing one has to be empty."""
        path = new_directory(path, [CHECKPOINTS])
        for name in filter(is_file, (settings.environment, settings.method)):
            trust(name)  # who trains with a file has chosen to run it
        about = {
            "version": package_version(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": shlex.join(sys.argv),
        }
        write_atomically(path / ABOUT, (json.dumps(about, indent=2) + "\n").encode())
        # Last, because it is what makes the directory a run.
        write_atomically(path / CONFIG, config.to_toml(settings).encode())
        return cls(path)

    @classmethod
    def open(cls, path: Path | str) -> RunDirectory:
        """An existing run, to read or to resume."""
        path = Path(path)
        if not path.is_dir():
            raise UserError(f"There is no run directory {path}; give one that `tutelage train` made.")
        if (path / GROUP).is_file():
            raise UserError(
                f"The directory {path} holds several runs, one for each seed; give one of them, such as "
                f"{next(path.glob('seed-*'), path / 'seed-0')}."
            )
        if not (path / CONFIG).is_file():
            raise UserError(
                f"The directory {path} is not a run: it has no {CONFIG}. Give one that `tutelage train` made."
            )
        return cls(path)

    def about(self) -> dict[str, Any]:
        """What is noted of the run; nothing of an old one, or where the note is damaged."""
        try:
            return schema.about(schema.document(read_regular(self.path / ABOUT)))
        except (OSError, schema.Wrong):
            return {}

    def settings(self) -> Settings:
        """What the run was asked to do."""
        return read_settings(self.path / CONFIG)

    def outline(self) -> Outline:
        """The same as data, for who runs no code of its environment and method."""
        return read_outline(self.path / CONFIG)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only process that writes here. The system lets go of the lock however this process ends."""
        with locked(self.path / LOCK, f"The run {self.path} is being trained", PATIENCE):
            yield

    def append(self, file: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add lines of JSON. Numbers that are not finite become null: JSON has no others."""
        try:
            lines.append(self.path / file, records)
        except OSError as problem:
            raise UserError(
                f"{self.path / file} could not be written: {problem.strerror or problem}. "
                f"Make room or give write permission there, then continue with `tutelage resume {self.path}`."
            ) from problem

    def append_unless_trained(self, file: str, records: Iterable[Mapping[str, Any]]) -> bool:
        """Add lines from outside of training, which nothing may write beside; whether they were added."""
        try:
            with self.lock():
                self.append(file, records)
        except Busy:
            return False
        return True

    def read(self, file: str, warn: Callable[[str], None] = lambda sentence: None) -> list[dict[str, Any]]:
        """All records of a file, none if it is not there yet. A last line that was cut off is left out, and so are
        wrong ones, each with a sentence.
        """
        return lines.records(self.path / file, RECORDS[file], warn)

    def rewind(self, iteration: int) -> None:
        """Forget what came after an iteration: records, a last line that was cut off, checkpoints (damaged ones).
        Lines that say nothing stay as they are.
        """
        for file, check in RECORDS.items():
            path = self.path / file
            kept = b"".join(
                line.raw
                for line in lines.read(path, check)
                if line.record is None or line.record["iteration"] <= iteration
            )
            if path.exists() and read_regular(path) != kept:
                write_atomically(path, kept)
        for path in self.checkpoints():
            if int(path.stem) > iteration:
                _remove(path)

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        found = [
            path for path in (self.path / CHECKPOINTS).glob("*.npz") if path.stem.isdigit() and path.stem.isascii()
        ]
        return sorted((path for path in found if path.is_file()), key=lambda path: int(path.stem))

    def save_checkpoint(self, iteration: int, tree: Any, meta: Mapping[str, Any]) -> Path:
        """Write a checkpoint, then drop all but the newest two. The records go to the disk ahead of it."""
        from . import checkpoint

        for file in RECORDS:
            if (self.path / file).exists():
                _sync(self.path / file)
        path = self.path / CHECKPOINTS / f"{iteration:09d}.npz"
        checkpoint.save(path, tree, {**meta, "iteration": iteration})
        # What a killed process did not finish is of no use to anybody.
        for useless in [*self.checkpoints()[:-2], *path.parent.glob("*.tmp")]:
            with suppress(OSError):  # there will be another time
                useless.unlink()
        return path

    def load_latest(
        self, like: Any, warn: Callable[[str], None], until: float = math.inf
    ) -> tuple[Any, dict[str, Any], int] | None:
        """Tree, meta and iteration of the newest checkpoint that is whole; None if the run has to start again.

        Those after iteration ``until`` do not count.
        """
        from . import checkpoint

        found = self._newest(
            lambda path: checkpoint.load(path, like), lambda pair: pair[1].get("iteration", -1), warn, until
        )
        return None if found is None else (*found, found[1]["iteration"])

    def inspect_latest(self, warn: Callable[[str], None]) -> Standing | None:
        """The same without its tree, for who knows nothing of its structure."""
        from . import archive

        found = self._newest(archive.read, lambda found: found.meta.get("iteration", -1), warn)
        if found is None:
            return None
        students = next((spec.shape[0] for spec in found.specs if spec.path.startswith(_STUDENTS) and spec.shape), 1)
        return Standing(found.meta["iteration"], students, found.digest)

    def _newest(
        self,
        read: Callable[[Path], T],
        iteration: Callable[[T], int],
        warn: Callable[[str], None],
        until: float = math.inf,
    ) -> T | None:
        """The newest checkpoint that is whole, and is what its name says."""
        from .archive import DamagedCheckpoint

        newest_first = [path for path in self.checkpoints()[::-1] if int(path.stem) <= until]
        for path, older in zip_longest(newest_first, newest_first[1:]):
            try:
                found = read(path)
                if iteration(found) != int(path.stem):
                    raise DamagedCheckpoint(path, "it is not of that iteration")
                return found
            except DamagedCheckpoint as problem:
                way_out = f"falling back to {older.name}" if older else "starting again from the beginning"
                warn(f"Checkpoint {path.name} is damaged ({problem.reason}); {way_out}.")
        return None


def new_directory(path: Path | str, inside: Iterable[str]) -> Path:
    """Make a directory with some in it. One that exists has to be empty."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
        for name in () if taken else inside:
            (path / name).mkdir()
    except OSError as problem:
        raise UserError(
            f"The run directory {path} cannot be made: {problem.strerror or problem}. Choose another with --run."
        ) from problem
    if taken:
        there = "a run" if (path / CONFIG).exists() else "the runs of several seeds" if (path / GROUP).exists() else ""
        what = f"already holds {there}" if there else "exists and is not empty"
        way_out = f"continue it with `tutelage resume {path}`, or " if there else ""
        raise UserError(f"The directory {path} {what}; {way_out}choose another with --run.")
    return path


def read_settings(path: Path | str) -> Settings:
    """Settings from a config file, such as one that a run has left."""
    return settings_from(config.read_text(path), str(path))


def settings_from(text: str, source: str) -> Settings:
    """Settings from the text of a config file. Python files that it names have to be trusted."""
    names = config.names(text, source)
    for name in filter(is_file, names):
        require_trusted(absolute(name), source)
    return config.from_toml(text, preset(*names), source)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as problem:
        raise UserError(
            f"{path} is of a later iteration and could not be removed: {problem.strerror or problem}. Remove it, or "
            "give write permission there."
        ) from problem


def _sync(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    except OSError as problem:
        raise UserError(f"{path} could not be written to the disk: {problem.strerror or problem}.") from problem


def package_version() -> str:
    """The version of tutelage that is running."""
    try:
        return version("tutelage")
    except PackageNotFoundError:  # run from a source tree that was not installed
        return "unknown"
