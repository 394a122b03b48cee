"""What the study of fruit came to: returns, choices, rooms and the levels that were met, as a page of docs/results.

usage: python fruit_results.py [--runs runs/fruit-fast] [--out docs/results]

Reads the directory of the study `fruit-fast`. Runs that are missing are left out. Tests that a run's last student has
not taken yet are played first.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from studied import Runs, found_in, pyplot, records, smoothed, tested

from tutelage.envs.fruit.env import APPLE_PAYS, BANANA_PAYS
from tutelage.pictures import write

METHODS = {"dr": "DR", "robust-plr": "robust PLR", "robust-plr-naive": "naive grounding"}
GROUPS = {
    0.7: {"dr": "dr", "robust-plr": "robust-plr", "robust-plr-naive": "robust-plr-naive"},
    0.5: {"dr-half": "dr", "robust-plr-half": "robust-plr", "robust-plr-half-naive": "robust-plr-naive"},
    0.3: {"dr-third": "dr", "robust-plr-third": "robust-plr", "robust-plr-third-naive": "robust-plr-naive"},
}
"""By the probability that the apple pays: which method each group of the study is."""
EPISODES = 500
MADE = """Made by

    tutelage study studies/fruit-fast.toml
    python benchmarks/fruit_results.py --runs runs/fruit-fast
"""
EXPLAINED = f"""Last students, {EPISODES} episodes a test.

- *Return*: on the true distribution.
- *Apple*, *banana*: share of episodes in which each is eaten, on levels where it pays (a student cannot tell which).
- *By rooms*: mean return on levels of one, two, three and four rooms.
- *Apples met*: share of levels on which the apple pays among those learned from, in the second half of training.

[Fruit](../fruit.md#results) says what this shows and what it does not."""


def apples(method: str) -> str:
    """The share of apple levels among those learned from, as runs log it. Robust PLR learns from replay alone."""
    return "level/apple" if method == "dr" else "replayed/level/apple"


def share_of_apples(run: Path, method: str) -> float:
    logged = records(run, "metrics.jsonl")
    shares = [r.get(apples(method)) for r in logged[len(logged) // 2 :]]
    return float(np.mean([share for share in shares if share is not None]))


def row(q: float, method: str, run: Path) -> str:
    truth, choices = tested(run, "true", EPISODES), tested(run, "choices", EPISODES)
    rooms = tested(run, "rooms", EPISODES)["tasks"]
    by_rooms = " ".join(f"{task['return']:.1f}" for task in rooms.values())
    apple, banana = (choices["tasks"][fruit]["solved"] for fruit in ("Apple", "Banana"))
    met = f"{q:g} by grounding" if method == "robust-plr-naive" else f"{share_of_apples(run, method):.2f}"
    error = truth["tasks"]["True"]["return-error"]
    return (
        f"| {q:g} | {METHODS[method]} | {run.name[1:]} | {truth['return']:.2f} ± {error:.2f} | {apple:.2f} | "
        f"{banana:.2f} | {by_rooms} | {met} |"
    )


def table(studied: dict[float, Runs]) -> list[str]:
    lines = ["| q | method | seed | return | apple | banana | by rooms | apples met |", "|---" * 8 + "|"]
    for q, runs in studied.items():
        best, worse = BANANA_PAYS * (1 - q), APPLE_PAYS * q
        lines.append(f"| {q:g} | *always the banana* | exact | {best:.1f} | 0 | 1 | | |")
        lines.append(f"| {q:g} | *always the apple* | exact | {worse:.1f} | 1 | 0 | | |")
        for group, seeds in runs.items():
            lines += [row(q, GROUPS[q][group], run) for run in seeds]
    return lines


def draw(studied: dict[float, Runs], path: Path) -> None:
    """For each q: returns, choices, the share of apple levels and the rooms of solved levels, over training."""
    figure, panels = pyplot().subplots(len(studied), 4, figsize=(13, 2.7 * len(studied)), layout="constrained")
    for (q, runs), (returns, choices, met, rooms) in zip(studied.items(), np.atleast_2d(panels), strict=True):
        for group, seeds in runs.items():
            method = GROUPS[q][group]
            for number, run in enumerate(seeds):
                colour = f"C{list(METHODS).index(method)}"
                look: dict[str, Any] = {
                    "color": colour,
                    "linewidth": 1,
                    "label": METHODS[method] if not number else None,
                }
                held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "choices"]
                steps = [r["steps"] / 1e6 for r in held]
                apple, banana = (
                    {part: np.array([r["tasks"][fruit][part] for r in held]) for part in ("return", "solved")}
                    for fruit in ("Apple", "Banana")
                )
                returns.plot(steps, q * apple["return"] + (1 - q) * banana["return"], **look)
                choices.plot(steps, banana["solved"] - apple["solved"], **look)
                logged = records(run, "metrics.jsonl")
                if method != "robust-plr-naive":
                    met.plot(*smoothed(logged, apples(method)), **look)
                rooms.plot(*smoothed(logged, "solved-level/rooms"), **look)
        returns.axhline(10 * (1 - q), color="grey", linewidth=0.8, linestyle="--")
        met.axhline(q, color="grey", linewidth=0.8, linestyle="--")
        returns.set_ylabel(f"q = {q:g}")
    titles = ("return", "bananas minus apples eaten", "share of apple levels learned from", "rooms of solved levels")
    for axes, title in zip(np.atleast_2d(panels)[0], titles, strict=True):
        axes.set_title(title, fontsize=9)
    for axes in panels.flat:
        axes.grid(alpha=0.3, linewidth=0.5)
    for axes in np.atleast_2d(panels)[-1]:
        axes.set_xlabel("steps, millions")
    np.atleast_2d(panels)[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/fruit-fast"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    studied = {q: found_in(options.runs, groups) for q, groups in GROUPS.items()}
    draw(studied, options.out / "fruit.png")
    lines = ["# Fruit under `fast`", "", MADE, *table(studied), "", EXPLAINED, "", "![Over training](fruit.png)", ""]
    write(options.out / "fruit.md", "\n".join(lines).encode())


if __name__ == "__main__":
    main()
