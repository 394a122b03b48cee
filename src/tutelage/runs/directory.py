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
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from .. import config
from ..compose import preset
from ..errors import UserError
from ..settings import Settings
from .files import Busy, locked, write_atomically

CONFIG = "config.toml"
METRICS = "metrics.jsonl"
EVALUATIONS = "evaluations.jsonl"
ABOUT = "run.json"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"
GROUP = "seeds.json"
"""In a directory that holds the runs of one program (``group.py``)."""
RECORDS = (METRICS, EVALUATIONS)
PATIENCE = 1.0
"""Seconds to wait for a lock: who adds a record has it for a moment, who trains has it for long."""


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk."""

    path: Path

    @classmethod
    def create(cls, path: Path | str, settings: Any) -> RunDirectory:
        """Start a directory for a new run. An existing one has to be empty."""
        path = new_directory(path, [CHECKPOINTS])
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
            raise UserError(f"The directory {path} is no run: it has no {CONFIG}. Give one that `tutelage train` made.")
        return cls(path)

    def settings(self) -> Settings:
        """What the run was asked to do."""
        return read_settings(self.path / CONFIG)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only process that writes here. The system lets go of the lock however this process ends."""
        with locked(self.path / LOCK, f"The run {self.path} is being trained", PATIENCE):
            yield

    def append(self, file: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add lines of JSON. Numbers that are not finite become null: JSON has no others."""
        lines = "".join(json.dumps(_plain(record), allow_nan=False) + "\n" for record in records)
        try:
            with (self.path / file).open("ab+") as stream:
                _drop_torn_line(stream)
                stream.write(lines.encode())
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

    def read(self, file: str) -> list[dict[str, Any]]:
        """All records of a file, none if it is not there yet. A last line that was cut off is left out."""
        return [record for record, _ in self._lines(file)]

    def rewind(self, iteration: int) -> None:
        """Forget what came after an iteration: records, a last line that was cut off, checkpoints (damaged ones)."""
        for file in RECORDS:
            path = self.path / file
            kept = b"".join(line for record, line in self._lines(file) if record.get("iteration", 0) <= iteration)
            if path.exists() and path.read_bytes() != kept:
                write_atomically(path, kept)
        for path in self.checkpoints():
            if int(path.stem) > iteration:
                path.unlink()

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return sorted(path for path in (self.path / CHECKPOINTS).glob("*.npz") if path.stem.isdigit())

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
            useless.unlink()
        return path

    def load_latest(
        self, like: Any, warn: Callable[[str], None], until: float = math.inf
    ) -> tuple[Any, dict[str, Any], int] | None:
        """Tree, meta and iteration of the newest checkpoint that is whole; None if the run has to start again.

        Those after iteration ``until`` do not count.
        """
        from . import checkpoint

        newest_first = [path for path in self.checkpoints()[::-1] if int(path.stem) <= until]
        for path, older in zip_longest(newest_first, newest_first[1:]):
            try:
                tree, meta = checkpoint.load(path, like)
                return tree, meta, meta["iteration"]
            except checkpoint.DamagedCheckpoint as problem:
                way_out = f"falling back to {older.name}" if older else "starting again from the beginning"
                warn(f"Checkpoint {path.name} is damaged ({problem.reason}); {way_out}.")
        return None

    def _lines(self, file: str) -> Iterator[tuple[dict[str, Any], bytes]]:
        path = self.path / file
        lines = path.read_bytes().splitlines() if path.exists() else []
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError
            except ValueError as problem:
                if number == len(lines):  # the process was killed while it wrote
                    return
                raise UserError(f"Line {number} of {path} is not a JSON record; mend or delete that line.") from problem
            yield record, line + b"\n"


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
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"The config file {path} could not be read: {problem}.") from problem
    return config.from_toml(text, preset(*config.names(text, str(path))), str(path))


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
