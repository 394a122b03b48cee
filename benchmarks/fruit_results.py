"""What the study of fruit came to: returns, choices, rooms and the levels that were met, as a page of docs/results.

usage: python fruit_results.py [--runs runs/fruit-fast] [--out docs/results]

Adds the finished runs of the study `fruit-fast` to fruit.json and writes the page anew. Tests that a run's last student
has not taken yet are played first.
"""

from pathlib import Path
from typing import Any

import numpy as np
from studied import Kept, Page, Summary, curve, pyplot, records, save, smoothed, tested, watched

from tutelage.envs.fruit.env import APPLE_PAYS, BANANA_PAYS

METHODS = {"dr": "DR", "robust-plr": "robust PLR", "robust-plr-naive": "naive grounding"}
GROUPS = {
    "dr-mostly": ("dr", 0.9),
    "robust-plr-mostly": ("robust-plr", 0.9),
    "robust-plr-mostly-naive": ("robust-plr-naive", 0.9),
    "dr": ("dr", 0.7),
    "robust-plr": ("robust-plr", 0.7),
    "robust-plr-naive": ("robust-plr-naive", 0.7),
    "dr-half": ("dr", 0.5),
    "robust-plr-half": ("robust-plr", 0.5),
    "robust-plr-half-naive": ("robust-plr-naive", 0.5),
    "dr-third": ("dr", 0.3),
    "robust-plr-third": ("robust-plr", 0.3),
    "robust-plr-third-naive": ("robust-plr-naive", 0.3),
}
"""Of each group of the study, the method and the probability that the apple pays."""
EPISODES = 500
EXPLAINED = f"""Last students, {EPISODES} episodes a test.

- *Return*: on the true distribution.
- *Apple*, *banana*: share of episodes in which each is eaten, on levels where it pays (a student cannot tell which).
- *By rooms*: mean return on levels of one, two, three and four rooms.
- *Apples met*: share of levels on which the apple pays among those learned from, in the second half of training.

[Fruit](../fruit.md#results) says what this shows and what it does not."""


def summary(run: Path) -> Summary:
    method, q = GROUPS[run.parent.name]
    held = watched(run, "choices")
    logged = records(run, "metrics.jsonl")
    steps = [r["steps"] / 1e6 for r in held]
    apple, banana = ([r["tasks"][fruit] for r in held] for fruit in ("Apple", "Banana"))
    pairs = list(zip(apple, banana, strict=True))
    met = "level/apple" if method == "dr" else "replayed/level/apple"  # robust PLR learns from replay alone
    late = [r[met] for r in logged[len(logged) // 2 :] if r.get(met) is not None]
    truth, choices = tested(run, "true", EPISODES), tested(run, "choices", EPISODES)["tasks"]
    return {
        "return": [truth["return"], truth["tasks"]["True"]["return-error"]],
        "eaten": [choices[fruit]["solved"] for fruit in ("Apple", "Banana")],
        "rooms": [task["return"] for task in tested(run, "rooms", EPISODES)["tasks"].values()],
        "apples": float(np.mean(late)),
        "curves": {
            "return": curve(steps, [q * a["return"] + (1 - q) * b["return"] for a, b in pairs]),
            "bananas minus apples eaten": curve(steps, [b["solved"] - a["solved"] for a, b in pairs]),
            "share of apple levels learned from": curve(*smoothed(logged, met)),
            "rooms of solved levels": curve(*smoothed(logged, "solved-level/rooms")),
        },
    }


def table(kept: Kept) -> list[str]:
    lines = ["| q | method | seed | return | apple | banana | by rooms | apples met |", "|---" * 8 + "|"]
    for group, seeds in kept.items():
        method, q = GROUPS[group]
        if method == "dr":
            lines.append(f"| {q:g} | *always the banana* | exact | {BANANA_PAYS * (1 - q):.1f} | 0 | 1 | | |")
            lines.append(f"| {q:g} | *always the apple* | exact | {APPLE_PAYS * q:.1f} | 1 | 0 | | |")
        for seed, run in seeds.items():
            mean, error = run["return"]
            eaten, rooms = " | ".join(f"{x:.2f}" for x in run["eaten"]), " ".join(f"{x:.1f}" for x in run["rooms"])
            met = "redrawn" if method == "robust-plr-naive" else f"{run['apples']:.2f}"
            lines.append(
                f"| {q:g} | {METHODS[method]} | {seed} | {mean:.2f} ± {error:.2f} | {eaten} | {rooms} | {met} |"
            )
    return lines


def draw(kept: Kept, path: Path) -> None:
    """For each q: returns, choices, the share of apple levels and the rooms of solved levels, over training."""
    chances = sorted({GROUPS[group][1] for group in kept}, reverse=True)
    figure, panels = pyplot().subplots(
        len(chances), 4, figsize=(13, 2.7 * len(chances)), layout="constrained", squeeze=False
    )
    for group, seeds in kept.items():
        method, q = GROUPS[group]
        row, colour = panels[chances.index(q)], f"C{list(METHODS).index(method)}"
        look: dict[str, Any] = {"color": colour, "linewidth": 1}
        for run in seeds.values():
            for axes, (title, line) in zip(row, run["curves"].items(), strict=True):
                if method != "robust-plr-naive" or "apple levels" not in title:  # there levels' own fruit means nothing
                    axes.plot(line["steps"], line["values"], **look)
                if q == chances[0]:
                    axes.set_title(title, fontsize=9)
    for q, row in zip(chances, panels, strict=True):
        row[0].set_ylabel(f"q = {q:g}")
        row[0].axhline(max(BANANA_PAYS * (1 - q), APPLE_PAYS * q), color="grey", linewidth=0.8, linestyle="--")
        row[2].axhline(q, color="grey", linewidth=0.8, linestyle="--")
        row[2].set_ylim(0, 1)
    for axes in panels[-1]:
        axes.set_xlabel("steps, millions")
    for i, name in enumerate(METHODS.values()):
        panels[0, 0].plot([], [], color=f"C{i}", label=name)
    panels[0, 0].legend(frameon=False, fontsize=8)
    save(figure, path)


PAGE = Page(
    name="fruit",
    title="Fruit under `fast`",
    study="fruit-fast",
    program="fruit_results",
    groups=GROUPS,
    summary=summary,
    table=table,
    draw=draw,
    explained=EXPLAINED,
    caption="Over training",
)


if __name__ == "__main__":
    PAGE.main()
