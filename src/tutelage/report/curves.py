"""From the records of a method's seeds to one curve with a band."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .records import Measure, Method, Study

MOST_POINTS = 100
"""A longer curve is averaged over neighbours: nobody can see more on a page."""


class Curve(NamedTuple):
    """A mean over ``n`` seeds against environment steps."""

    label: str
    n: int
    steps: np.ndarray
    mean: np.ndarray
    error: np.ndarray | None
    """The standard error; None for a single seed."""


class Panel(NamedTuple):
    """Curves of one figure, by the number of their method."""

    title: str
    unit: str
    curves: dict[int, Curve]


UNITS = {
    "blocks": "blocks per level",
    "path": "shortest path (moves)",
    "solvable": "share of levels solvable",
    "solved": "share of levels solved",
    "generation": "edits since generated",
}
"""What the axis says of a figure; of others it says the name."""

SHARES = {UNITS["solvable"], UNITS["solved"], "solved rate"}
"""These lie between 0 and 1."""


def curve(label: str, seeds: Sequence[Mapping[int, float]]) -> Curve | None:
    """The mean of seeds, each a mapping from steps to values, where all of them have one. None if nowhere."""
    steps = sorted(set().union(*seeds))
    size = -(-len(steps) // MOST_POINTS) or 1  # the same everywhere, or one end would look smoother than the other
    points = []
    for part in (steps[start : start + size] for start in range(0, len(steps), size)):
        values = [[seed[step] for step in part if step in seed] for seed in seeds]
        if all(values):
            points.append((float(np.mean(part)), [float(np.mean(mine)) for mine in values]))
    if not points:
        return None
    values = np.array([each for _, each in points])
    n = len(seeds)
    error = values.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else None
    return Curve(label, n, np.array([step for step, _ in points]), values.mean(axis=1), error)


def held_out(study: Study, measure: Measure) -> Panel:
    """How a suite's mean grows while training."""
    unit = "solved rate" if measure == "solved" else "mean return"

    def of(method: Method) -> Curve | None:
        return curve(
            method.label,
            [{steps: record.mean(measure) for steps, record in run.on(study.suite).items()} for run in method.runs],
        )

    return Panel(f"{study.suite}, mean of {len(study.tasks)} tasks", unit, _present(study, of))


def complexity(study: Study) -> list[list[Panel]]:
    """What levels were like while training: a row for each figure, in it a panel for each source that has it."""
    logged = dict.fromkeys(name for run in study.runs for record in run.metrics for name in record)
    # Every source of levels that a record speaks of has a share in it.
    sources = [name.removesuffix("/share") for name in logged if name.endswith("/share")]
    split = [name.split("/", 1) for name in logged if "/" in name]
    names = dict.fromkeys(rest for source, rest in split if source in sources and _worth_a_figure(rest))
    rows = []
    for name in sorted(names, key=lambda name: not name.startswith("level/")):
        short = name.removeprefix("level/")
        panels = [
            Panel(f"{source} levels: {short}", UNITS.get(short, short), _present(study, _metric(f"{source}/{name}")))
            for source in sources
        ]
        rows.append([panel for panel in panels if panel.curves])
    return [row for row in rows if row]


def _worth_a_figure(name: str) -> bool:
    return name.startswith("level/") or name == "solved"


def _metric(name: str) -> Callable[[Method], Curve | None]:
    def of(method: Method) -> Curve | None:
        return curve(
            method.label,
            [
                {int(record["steps"]): float(record[name]) for record in run.metrics if record.get(name) is not None}
                for run in method.runs
            ],
        )

    return of


def _present(study: Study, of: Callable[[Method], Curve | None]) -> dict[int, Curve]:
    found = {number: of(method) for number, method in enumerate(study.methods)}
    return {number: curve for number, curve in found.items() if curve is not None}
