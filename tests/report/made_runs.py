"""Directories of runs that nobody trained, with records made up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tutelage
from tutelage.errors import UserError
from tutelage.runs.directory import EVALUATIONS, METRICS, RunDirectory

TASKS = ("SixteenRooms", "Labyrinth", "Maze")


def settings(method: str, seed: int = 0, environment: str = "maze", **changes: str) -> tutelage.Settings:
    return tutelage.override(tutelage.preset(environment, method), {"train.seed": str(seed), **changes})


def evaluation(
    solved: Sequence[float], steps: int = 2000, suite: str = "validation-3", tasks: Sequence[str] = TASKS, **more: Any
) -> dict[str, Any]:
    rows = {
        task: {"solved": rate, "return": rate / 2, "episodes": more.get("episodes", 10)}
        for task, rate in zip(tasks, solved, strict=True)
    }
    return {"iteration": steps // 100, "steps": steps, "suite": suite, "seed": 0, "student": 0, "tasks": rows} | {
        name: value for name, value in more.items() if name != "episodes"
    }


def metric(steps: int, sources: Sequence[str], blocks: float = 20.0) -> dict[str, Any]:
    record: dict[str, Any] = {"iteration": steps // 100, "steps": steps}
    for source in sources:
        record |= {f"{source}/share": 1.0, f"{source}/level/blocks": blocks, f"{source}/solved": 0.5}
    return record


def write(
    path: Path, settings: tutelage.Settings, evaluations: Sequence[Any] = (), metrics: Sequence[Any] = ()
) -> Path:
    directory = RunDirectory.create(path, settings)
    directory.append(EVALUATIONS, evaluations)
    directory.append(METRICS, metrics)
    return path


def seeds(path: Path, method: str, rates: Sequence[Sequence[float]], **changes: str) -> list[Path]:
    sources = ("generated",) if method == "dr" else ("generated", "replayed", "edited")
    return [
        write(
            path / f"{method}-{seed}",
            settings(method, seed, **changes),
            [evaluation([0.0] * 3, 0), evaluation(rate, 2000)],
            [metric(steps, sources, 20 + seed) for steps in range(100, 2001, 100)],
        )
        for seed, rate in enumerate(rates)
    ]


ACCEL = [[0.9, 0.8, 0.5], [1.0, 0.7, 0.6], [0.95, 0.9, 0.4]]
DR = [[0.5, 0.1, 0.0], [0.6, 0.2, 0.1], [0.4, 0.1, 0.0]]


def refused(*sentence: str) -> Any:
    return pytest.raises(UserError, match=".*".join(map(re.escape, sentence)))
