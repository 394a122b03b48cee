"""What pages of results are made of: the runs of a study's directory, their records and their tests."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.cli import main as main_of_cli

Runs = dict[str, list[Path]]
"""The runs of each method, by seed."""


def records(run: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / file).read_text().splitlines()]


def tested(run: Path, suite: str, episodes: int) -> dict[str, Any]:
    """The newest evaluation of a run's last student on a suite; played now where there is none."""
    steps = records(run, "metrics.jsonl")[-1]["steps"]
    kept = [r for r in records(run, "evaluations.jsonl") if r["suite"] == suite and r["steps"] == steps]
    good = [r for r in kept if all(task["episodes"] >= episodes for task in r["tasks"].values())]
    if good:
        return good[-1]
    main_of_cli(["eval", str(run), "--suite", suite, "--episodes", str(episodes)])
    return next(r for r in reversed(records(run, "evaluations.jsonl")) if r["suite"] == suite)


def found_in(directory: Path, names: dict[str, str]) -> Runs:
    """The runs of a study that were begun."""
    runs = {name: sorted(path.parent for path in directory.glob(f"{name}/s*/metrics.jsonl")) for name in names}
    return {name: seeds for name, seeds in runs.items() if seeds}


def smoothed(logged: list[dict[str, Any]], figure: str, width: int = 20) -> tuple[list[float], np.ndarray]:
    """Millions of decisions, and the mean of a figure over some iterations before each."""
    logged = [r for r in logged if r.get(figure) is not None]
    width = max(1, min(width, len(logged)))
    mean = np.convolve([r[figure] for r in logged], np.ones(width) / width, "valid")
    return [r["steps"] / 1e6 for r in logged][width - 1 :], mean


def pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt
