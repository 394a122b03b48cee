"""What the study of mazes came to beyond its table: the aim of `fast`, worst cases, complexity. A page in docs.

usage: python maze_results.py [--runs runs/maze-fast] [--out docs/results]

Adds the finished runs of the study `maze-fast` to maze-fast.json and writes the page anew. The table of the twelve
mazes is made by `results.py`. Worst cases take half a minute a run, and are kept beside it, in worst-case.json.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from studied import Kept, Page, Summary, curve, pyplot, records, save, smoothed, tested, watched

import tutelage
from tutelage.pictures import write

GROUPS = {
    "dr": "DR",
    "plr": "PLR",
    "robust-plr": "robust PLR",
    "accel": "ACCEL",
    "accel-easy-start": "ACCEL from empty rooms",
    "sfl": "SFL",
    "paired": "PAIRED",
    "repaired": "REPAIRED",
    "minimax": "minimax",
}
SUITE, EPISODES = "thesis-12", 100
LEVELS, ATTEMPTS = 10_000, 10
SHARES = (0.1, 0.01)
COMPLEXITY = {"solved-level/blocks": "blocks of solved levels", "solved-level/path": "path of solved levels"}
EXPLAINED = f"""Only finished runs are listed.

- *{SUITE}*: solved rate of the last student, {EPISODES} episodes a maze.
- *Last third*: mean and least of the evaluations in the last third of a run, 20 episodes a maze.
- *New levels*, *worst 10%*, *worst 1%*: solved rate on {LEVELS:,} new levels that can be solved, and on the worst of
  them. Levels are ranked on {ATTEMPTS} episodes each and scored on {ATTEMPTS} others.

Beside the published figures: [the table](maze-60.maze-fast.md)."""


def worst(run: Path) -> dict[str, float]:
    """Solved rates on new levels and on the worst of them; kept, since they take a while."""
    kept = run / "worst-case.json"
    if not kept.exists():
        played = tutelage.load(run).worst_case(levels=LEVELS, episodes=ATTEMPTS)
        found = {"mean": played.mean().solved} | {f"{share:g}": played.cvar(share).solved for share in SHARES}
        write(kept, json.dumps(found).encode())
    return json.loads(kept.read_text())


def summary(run: Path) -> Summary:
    held, logged = watched(run, SUITE), records(run, "metrics.jsonl")
    late = [r["solved"] for r in held if r["steps"] >= 2 / 3 * held[-1]["steps"]]
    return {
        "solved": tested(run, SUITE, EPISODES)["solved"],
        "late": [float(np.mean(late)), min(late)],
        "worst": list(worst(run).values()),
        "curve": curve([r["steps"] / 1e6 for r in held], [r["solved"] for r in held]),
        "complexity": {measure: curve(*smoothed(logged, measure)) for measure in COMPLEXITY},
    }


def table(kept: Kept) -> list[str]:
    head = (SUITE, "last third, mean", "least", "new levels", "worst 10%", "worst 1%")
    lines = ["| | seed | " + " | ".join(head) + " |", "|---" * (2 + len(head)) + "|"]
    for name, seeds in kept.items():
        for seed, run in seeds.items():
            cells = [run["solved"], *run["late"], *run["worst"]]
            lines.append(f"| {GROUPS[name]} | {seed} | " + " | ".join(f"{x:.2f}" for x in cells) + " |")
    return lines


def draw(kept: Kept, path: Path) -> None:
    """Solved rates and the complexity of levels over training."""
    figure, panels = pyplot().subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    for i, (name, seeds) in enumerate(kept.items()):
        for number, run in enumerate(seeds.values()):
            look: dict[str, Any] = {"color": f"C{i}", "linewidth": 1, "label": None if number else GROUPS[name]}
            for axes, line in zip(panels, (run["curve"], *run["complexity"].values()), strict=True):
                axes.plot(line["steps"], line["values"], **look)
    for axes, title in zip(panels, (f"{SUITE}, solved", *COMPLEXITY.values()), strict=True):
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("steps, millions")
    panels[0].legend(frameon=False, fontsize=8)
    save(figure, path)


PAGE = Page(
    name="maze-fast",
    title="Mazes under `fast`",
    study="maze-fast",
    program="maze_results",
    groups=GROUPS,
    summary=summary,
    table=table,
    draw=draw,
    explained=EXPLAINED,
    caption="Solved rates and the complexity of levels over training",
)


if __name__ == "__main__":
    PAGE.main()
