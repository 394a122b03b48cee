"""What pages of results are made of: the runs of a study's directory, their records and their tests."""

import argparse
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tutelage
from tutelage.cli import main as main_of_cli
from tutelage.pictures import write

Runs = dict[str, list[Path]]
"""The runs of each method, by seed."""
Summary = dict[str, Any]
"""What a page needs of a run, as JSON."""
Kept = dict[str, dict[str, Summary]]
"""Summaries by group of a study and by seed."""

POINTS = 60
"""Of a curve that is kept."""


def records(run: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / file).read_text().splitlines()]


def watched(run: Path, suite: str) -> list[dict[str, Any]]:
    """The evaluations that a run made while training; not those of its last student afterwards."""
    held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == suite]
    return [r for i, r in enumerate(held) if i == 0 or r["steps"] > held[i - 1]["steps"]]


def tested(run: Path, suite: str, episodes: int) -> dict[str, Any]:
    """The newest evaluation of a run's last student on a suite; played now where there is none."""
    steps = records(run, "metrics.jsonl")[-1]["steps"]
    kept = [r for r in records(run, "evaluations.jsonl") if r["suite"] == suite and r["steps"] == steps]
    good = [r for r in kept if all(task["episodes"] >= episodes for task in r["tasks"].values())]
    if good:
        return good[-1]
    main_of_cli(["eval", str(run), "--suite", suite, "--episodes", str(episodes)])
    return next(r for r in reversed(records(run, "evaluations.jsonl")) if r["suite"] == suite)


def found_in(directory: Path, names: Collection[str]) -> Runs:
    """The runs of a study that were begun."""
    runs = {name: sorted(path.parent for path in directory.glob(f"{name}/s*/metrics.jsonl")) for name in names}
    return {name: seeds for name, seeds in runs.items() if seeds}


def smoothed(logged: list[dict[str, Any]], figure: str, width: int = 20) -> tuple[list[float], np.ndarray]:
    """Millions of decisions, and the mean of a figure over some iterations before each."""
    logged = [r for r in logged if r.get(figure) is not None]
    width = max(1, min(width, len(logged)))
    mean = np.convolve([r[figure] for r in logged], np.ones(width) / width, "valid")
    return [r["steps"] / 1e6 for r in logged][width - 1 :], mean


def curve(steps: list[float], values: Any) -> dict[str, list[float]]:
    """A curve as it is kept: its last point and some before it, with few digits."""
    every = -(-len(steps) // POINTS)
    chosen = list(range(len(steps) - 1, -1, -every))[::-1]
    return {"steps": [round(steps[i], 3) for i in chosen], "values": [round(float(values[i]), 4) for i in chosen]}


def keep(path: Path, directory: Path, groups: Collection[str], summary: Callable[[Path], Summary]) -> Kept:
    """Add a study's finished runs to the summaries kept in a file, so that days and machines can share a study."""
    before: Kept = json.loads(path.read_text()) if path.exists() else {}
    for group, runs in found_in(directory, groups).items():
        for run in filter(finished, runs):
            before.setdefault(group, {})[run.name[1:]] = summary(run)
    kept = {
        group: dict(sorted(before[group].items(), key=lambda item: int(item[0]))) for group in groups if group in before
    }
    write(path, (json.dumps(kept) + "\n").encode())
    return kept


def finished(run: Path) -> bool:
    """Has it come to its end?"""
    return records(run, "metrics.jsonl")[-1]["steps"] >= tutelage.read_settings(run / "config.toml").train.steps


@dataclass(frozen=True)
class Page:
    """A page of docs/results about a study, with the data it shows and a picture of the same name."""

    name: str
    title: str
    study: str
    program: str
    groups: Collection[str]
    summary: Callable[[Path], Summary]
    table: Callable[[Kept], list[str]]
    draw: Callable[[Kept, Path], None]
    explained: str
    caption: str
    more: Callable[[Kept], list[str]] = lambda kept: []
    """Lines below the picture."""

    def text(self, kept: Kept) -> str:
        """The page."""
        train = f"    tutelage study studies/{self.study}.toml"
        collect = f"    python benchmarks/{self.program}.py --runs runs/{self.study}"
        lines = [f"# {self.title}", "", "Made by", "", train, collect, "", *self.table(kept), "", self.explained, ""]
        return "\n".join([*lines, f"![{self.caption}]({self.name}.png)", "", *self.more(kept)])

    def main(self) -> None:
        """Add the finished runs of a directory to what was kept, and write the page anew."""
        parser = argparse.ArgumentParser(description=f"Write docs/results/{self.name}.md.")
        parser.add_argument("--runs", type=Path, default=Path("runs") / self.study)
        parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
        options = parser.parse_args()
        kept = keep(options.out / f"{self.name}.json", options.runs, self.groups, self.summary)
        self.draw(kept, options.out / f"{self.name}.png")
        write(options.out / f"{self.name}.md", self.text(kept).encode())


def save(figure: Any, path: Path) -> None:
    """A picture of curves, with a grid in every panel."""
    for axes in figure.axes:
        axes.grid(alpha=0.3, linewidth=0.5)
    figure.savefig(path, dpi=90)


def pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt
