"""The curriculum that emerges from replay: the share of each difficulty among replayed levels, over training.

usage: python curriculum.py RUN PICTURE.png

Reads a run's metrics.jsonl (of `minigrid`, whose level metrics have a share for each difficulty) and draws what the
thesis draws in its figure of emergent curricula: shares of replay by difficulty, smoothed by an exponential mean.
Replayed levels are drawn with their replay probability, so their shares estimate it.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from studied import pyplot

import tutelage
from tutelage.runs.directory import read_settings

SMOOTHING = 0.1
PREFIX = "replayed/level/"


def shares(run: Path) -> tuple[list[float], dict[str, list[float]]]:
    """Steps in millions, and for each difficulty, from the easiest on, its smoothed share at these steps."""
    suites = tutelage.build_domain(read_settings(run / "config.toml")).suites
    difficulties = [task.name for task in suites["difficulties"].tasks]
    steps: list[float] = []
    smooth: dict[str, list[float]] = {name: [] for name in difficulties}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if PREFIX + difficulties[0] not in record:
            continue
        steps.append(record["steps"] / 1e6)
        for name, values in smooth.items():
            new = record[PREFIX + name]
            values.append(new if not values else (1 - SMOOTHING) * values[-1] + SMOOTHING * new)
    return steps, smooth


def stack(axes: Any, steps: list[float], smooth: dict[str, list[float]]) -> None:
    """Shares on top of each other, the hardest difficulty darkest and uppermost."""
    tints = [pyplot().get_cmap("viridis_r")(0.1 + 0.85 * i / max(len(smooth) - 1, 1)) for i in range(len(smooth))]
    axes.stackplot(steps, *smooth.values(), labels=list(smooth), colors=tints)
    axes.set(xlabel="steps, millions", ylim=(0, 1), xlim=(steps[0], steps[-1]))


def draw(run: Path, picture: Path) -> None:
    steps, smooth = shares(run)
    if not steps:
        raise SystemExit(f"{run} has replayed nothing yet, or its levels have no difficulties.")
    figure, axes = pyplot().subplots(figsize=(6.4, 3.6), layout="constrained")
    stack(axes, steps, smooth)
    axes.set_ylabel("share of replay")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True, frameon=False)
    axes.set_title(f"Replayed levels by difficulty: {run.name}")
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    draw(options.run, options.picture)
