"""What the study of two games of Procgen came to: returns, gaps and curves, as a page of docs/results.

usage: python procgen_results.py [--runs runs/procgen-fast] [--out docs/results]

Adds the finished runs of the study `procgen-fast` to procgen.json and writes the page anew. Tests that a run's last
student has not taken yet are played first.
"""

from pathlib import Path
from typing import Any

import numpy as np
from studied import Kept, Page, Summary, curve, pyplot, records, save, smoothed, tested, watched

GAMES = ("bigfish", "leaper")
METHODS = {
    "dr": "uniform",
    "plr": "PLR",
    "dr-ucb-drac": "UCB-DrAC",
    "plr-ucb-drac": "UCB-DrAC+PLR",
    "plr-sharp": "PLR, temperature 0.1",
}
GROUPS = {f"{method}-game-{game}": (game, method) for game in GAMES for method in METHODS}
"""The study's groups: the game and the method of each."""
SUITE = "gap-200"
EPISODES = 200
EXPLAINED = f"""*Unseen*, *trained on*: mean return of the last student, with its standard error, over {EPISODES}
episodes on new levels and as many on the 200 levels of the training set. *Gap*: the second minus the first. *Learned
from*: the mean return of the training episodes in the last tenth of the run, on the levels that the method chose. In
the picture every run is a line; a point of the first two columns is of 20 episodes, averaged with the points beside it.
[Procgen](../procgen.md#results) says what this shows and what it does not."""


def summary(run: Path) -> Summary:
    held, logged = watched(run, SUITE), records(run, "metrics.jsonl")
    steps = [r["steps"] / 1e6 for r in held]
    returns = [[task["return"] for task in r["tasks"].values()] for r in held]
    last = tested(run, SUITE, EPISODES)
    unseen, trained = last["tasks"].values()
    late = [r["return"] for r in logged[-max(1, len(logged) // 10) :]]
    pulled = {name.removeprefix("ppo/pulled/"): x for name, x in logged[-1].items() if name.startswith("ppo/pulled/")}
    return {
        "steps": steps[-1],
        "unseen": [unseen["return"], unseen["return-error"]],
        "trained": [trained["return"], trained["return-error"]],
        "learned from": float(np.mean(late)),
        "augmentations": pulled,
        "curves": {
            "unseen levels": curve(steps, _eased([test for test, _ in returns])),
            "levels of the training set": curve(steps, _eased([train for _, train in returns])),
            "levels learned from": curve(*smoothed(logged, "return")),
        },
    }


def _eased(values: list[float]) -> list[float]:
    """Means over each value and those beside it."""
    return [float(np.mean(values[max(0, i - 1) : i + 2])) for i in range(len(values))]


def table(kept: Kept) -> list[str]:
    head = ("game", "method", "seed", "steps", "unseen", "trained on", "gap", "learned from")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for group, seeds in kept.items():
        game, method = GROUPS[group]
        for seed, run in seeds.items():
            (test, test_error), (train, train_error) = run["unseen"], run["trained"]
            gap = f"{train - test:.2f} ± {np.hypot(test_error, train_error):.2f}"
            cells = [game, METHODS[method], seed, f"{run['steps']:.1f}M", f"{test:.2f} ± {test_error:.2f}"]
            cells += [f"{train:.2f} ± {train_error:.2f}", gap, f"{run['learned from']:.2f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def augmentations(kept: Kept) -> list[str]:
    """Which ones the bandit chose most often."""
    lines = ["The bandit's most frequent augmentations:", ""]
    for group, seeds in kept.items():
        game, method = GROUPS[group]
        for seed, run in seeds.items():
            most = sorted(run["augmentations"].items(), key=lambda item: -item[1])[:3]
            if most:
                said = ", ".join(f"{name} {share:.0%}" for name, share in most)
                lines.append(f"- {game}, {METHODS[method]}, seed {seed}: {said}")
    return [*lines, ""]


def draw(kept: Kept, path: Path) -> None:
    """For each game: returns on unseen levels, on the training set, and on what was learned from, over training."""
    games = [game for game in GAMES if any(GROUPS[group][0] == game for group in kept)]
    figure, panels = pyplot().subplots(
        len(games), 3, figsize=(11, 2.8 * len(games)), layout="constrained", squeeze=False, sharey="row"
    )
    for group, seeds in kept.items():
        game, method = GROUPS[group]
        row, i = panels[games.index(game)], list(METHODS).index(method)
        for number, run in enumerate(seeds.values()):
            look: dict[str, Any] = {"color": f"C{i}", "linewidth": 1, "label": None if number else METHODS[method]}
            for axes, (title, line) in zip(row, run["curves"].items(), strict=True):
                axes.plot(line["steps"], line["values"], **look)
                axes.set_title(f"{game}: {title}", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("steps, millions")
    for row in panels:
        row[0].set_ylabel("return")
    panels[0, 0].legend(frameon=False, fontsize=8)
    save(figure, path)


PAGE = Page(
    name="procgen",
    title="Two games of Procgen under `fast`",
    study="procgen-fast",
    program="procgen_results",
    groups=GROUPS,
    summary=summary,
    table=table,
    draw=draw,
    explained=EXPLAINED,
    caption="Returns over training",
    more=augmentations,
)


if __name__ == "__main__":
    PAGE.main()
