"""Runs in training, as their own records tell. No lock is taken, and nothing is read twice."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..runs.directory import EVALUATIONS, METRICS, RunDirectory

MOST_HISTORY = 600
"""Records of a run that a page gets when it starts to look."""
MOST_BYTES = 64_000_000
"""Of a file that are read at once: the end of a longer one."""
RECENT = 90.0
"""Seconds after its last record in which a run counts as one in training."""


@dataclass
class Tail:
    """The end of a file of records, that grows."""

    path: Path
    _at: int = 0

    def new(self) -> list[dict[str, Any]]:
        """Whole records that were added since the last look. Of a file that was rewound, all of them."""
        try:
            size = self.path.stat().st_size
            if size < self._at:
                self._at = 0
            with self.path.open("rb") as stream:
                stream.seek(max(self._at, size - MOST_BYTES))
                data = stream.read(MOST_BYTES)
                end = data.rfind(b"\n") + 1
                self._at = stream.tell() - len(data) + end
        except OSError:
            return []
        found = []
        for line in data[:end].splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # the first of a long file may have been cut
                continue
            if isinstance(record, dict):
                found.append(record)
        return found


@dataclass(eq=False)
class Follower:
    """One who looks at some runs."""

    runs: list[RunDirectory]
    _tails: dict[tuple[int, str], Tail] = field(default_factory=dict)
    _checkpoints: dict[int, int] = field(default_factory=dict)

    def news(self) -> list[dict[str, Any]]:
        """What has changed since the last look, run by run; at the first look everything, thinned out."""
        found = []
        for index, run in enumerate(self.runs):
            first = (index, METRICS) not in self._tails
            news: dict[str, Any] = {"run": index}
            for name in (METRICS, EVALUATIONS):
                tail = self._tails.setdefault((index, name), Tail(run.path / name))
                records = [_numbers(record) for record in tail.new()]
                news[name.removesuffix(".jsonl")] = _thinned(records)
            checkpoints = [int(path.stem) for path in run.checkpoints()]
            newest = checkpoints[-1] if checkpoints else 0
            moved = newest != self._checkpoints.get(index)
            self._checkpoints[index] = newest
            if first or moved or news["metrics"] or news["evaluations"]:
                found.append(news | {"checkpoint": newest, "training": in_training(run)})
        return found


def in_training(run: RunDirectory) -> bool:
    """Was the run's last record written just now? Nobody asks for its lock."""
    try:
        return time.time() - (run.path / METRICS).stat().st_mtime < RECENT
    except OSError:
        return False


def _thinned(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many, evenly, the last among them."""
    if len(records) <= MOST_HISTORY:
        return records
    every = -(-len(records) // MOST_HISTORY)
    return records[::-1][::every][::-1]


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    """Figures, the suite and its tasks' rates; nothing else of a file leaves the machine's records."""
    kept = {name: value for name, value in record.items() if isinstance(value, int | float) and len(name) < 80}
    if isinstance(record.get("suite"), str):
        kept["suite"] = record["suite"][:80]
    return kept
