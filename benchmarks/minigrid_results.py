"""What the study of MiniGrid's rooms came to: curves, steps to a return and curricula, as a page of docs/results.

usage: python minigrid_results.py [--runs runs/minigrid-fast] [--out docs/results]

Reads the directory of the study `minigrid-fast`. Runs that are missing are left out. Tests that a run's last student
has not taken yet are played first.
"""

import argparse
from pathlib import Path
from typing import Any

from curriculum import shares
from studied import Runs, found_in, pyplot, records, tested

from tutelage.pictures import write

GROUPS = {
    "dr": "uniform",
    "plr": "PLR",
    "plr-sharp": "PLR, the thesis's replay",
    "tscl": "TSCL",
    "dr-grid": "uniform, sees the grid",
    "plr-grid": "PLR, sees the grid",
}
MARKS = (0.3, 0.5, 0.7, 0.8)
EPISODES = 500
MADE = """Made by

    tutelage study studies/minigrid-fast.toml
    python benchmarks/minigrid_results.py --runs runs/minigrid-fast
"""
EXPLAINED = f"""*Return*: of the last student on {EPISODES} new levels. *Reaches*: millions of steps until the mean
return on new levels is first so high. The best possible mean return is 0.85. [MiniGrid](../minigrid.md#results) says
what this shows and what it does not."""


def curve(run: Path) -> tuple[list[float], list[float]]:
    """Millions of steps, and the return on new levels."""
    held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "fresh"]
    return [r["steps"] / 1e6 for r in held], [r["return"] for r in held]


def reaches(run: Path, mark: float) -> str:
    steps, returns = curve(run)
    return next((f"{at:.1f}" for at, value in zip(steps, returns, strict=True) if value >= mark), "never")


def table(runs: Runs) -> list[str]:
    lines = [
        "| | seed | steps | return | solved | " + " | ".join(f"reaches {mark}" for mark in MARKS) + " |",
        "|---" * (5 + len(MARKS)) + "|",
    ]
    for group, seeds in runs.items():
        for run in seeds:
            last, steps = tested(run, "fresh", EPISODES), records(run, "metrics.jsonl")[-1]["steps"]
            error = last["tasks"]["Fresh"]["return-error"]
            lines.append(
                f"| {GROUPS[group]} | {run.name[1:]} | {steps / 1e6:.0f}M | {last['return']:.2f} ± {error:.2f} | "
                f"{last['solved']:.2f} | " + " | ".join(reaches(run, mark) for mark in MARKS) + " |"
            )
    return lines


def draw(runs: Runs, path: Path) -> None:
    """Returns on new levels, and the difficulties that were replayed by the first run of each kind of PLR."""
    plt = pyplot()
    curricula = {group: seeds[0] for group, seeds in runs.items() if shares(seeds[0])[0]}
    figure, panels = plt.subplots(1, 2 + len(curricula), figsize=(4 * (2 + len(curricula)), 3.4), layout="constrained")
    for i, (group, seeds) in enumerate(runs.items()):
        axes = panels["grid" in group]
        for number, run in enumerate(seeds):
            look: dict[str, Any] = {"color": f"C{i}", "linewidth": 1, "label": GROUPS[group] if not number else None}
            axes.plot(*curve(run), **look)
    for axes, title in zip(panels, ("sees what is near", "sees the grid"), strict=False):
        axes.set(title=title, xlabel="steps, millions", ylabel="return on new levels", ylim=(0, 0.9))
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.legend(frameon=False, fontsize=8)
    for axes, (group, run) in zip(panels[2:], curricula.items(), strict=True):
        steps, smooth = shares(run)
        tints = [plt.get_cmap("viridis_r")(0.1 + 0.28 * i) for i in range(len(smooth))]
        axes.stackplot(steps, *smooth.values(), labels=list(smooth), colors=tints)
        axes.set(
            title=f"replayed by {GROUPS[group]}", xlabel="steps, millions", ylim=(0, 1), xlim=(steps[0], steps[-1])
        )
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True, frameon=False, fontsize=8)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/minigrid-fast"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    runs = found_in(options.runs, GROUPS)
    draw(runs, options.out / "minigrid.png")
    lines = ["# MiniGrid's rooms under `fast`", "", MADE, *table(runs), "", EXPLAINED, ""]
    lines += ["![Returns over training, and replayed levels by difficulty](minigrid.png)", ""]
    write(options.out / "minigrid.md", "\n".join(lines).encode())


if __name__ == "__main__":
    main()
