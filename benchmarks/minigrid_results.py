"""What the study of MiniGrid's rooms came to: curves, steps to a return and curricula, as a page of docs/results.

usage: python minigrid_results.py [--runs runs/minigrid-fast] [--out docs/results]

Adds the finished runs of the study `minigrid-fast` to minigrid.json and writes the page anew. Tests that a run's last
student has not taken yet are played first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curriculum import shares, stack
from studied import Kept, Page, Summary, curve, pyplot, save, tested, watched

GROUPS = {
    "dr": "uniform",
    "plr": "PLR, temperature 0.3",
    "plr-sharp": "PLR, the thesis's replay",
    "plr-flat": "PLR, temperature 1",
    "tscl": "TSCL",
    "dr-grid": "uniform, sees the grid",
    "plr-grid": "PLR, sees the grid",
}
MARKS = (0.3, 0.5, 0.7, 0.8)
EPISODES = 500
EXPLAINED = f"""*Return*: of the last student on {EPISODES} new levels. *Reaches*: millions of steps until the mean
return on new levels is first so high. The best possible mean return is 0.85. *The thesis's replay* has a temperature of
0.1, and replays in proportion to the share of the training set that was seen. *Sees the grid*: a student
with convolutions over the whole grid, as the thesis's. [MiniGrid](../minigrid.md#results) says what this shows and what
it does not."""


def summary(run: Path, marks: Sequence[float] = MARKS) -> Summary:
    held = watched(run, "fresh")
    steps, returns = [r["steps"] / 1e6 for r in held], [r["return"] for r in held]
    last = tested(run, "fresh", EPISODES)
    replayed_at, replayed = shares(run)
    reached = {mark: [at for at, value in zip(steps, returns, strict=True) if value >= mark] for mark in marks}
    return {
        "steps": steps[-1],
        "return": [last["return"], last["tasks"]["Fresh"]["return-error"]],
        "solved": last["solved"],
        "reaches": [at[0] if at else None for at in reached.values()],
        "curve": curve(steps, returns),
        "replayed": {name: curve(replayed_at, values) for name, values in replayed.items()} if replayed_at else {},
    }


def table(kept: Kept, marks: Sequence[float] = MARKS) -> list[str]:
    head = ("steps", "return", "solved", *(f"reaches {mark}" for mark in marks))
    lines = ["| | seed | " + " | ".join(head) + " |", "|---" * (2 + len(head)) + "|"]
    for group, seeds in kept.items():
        for seed, run in seeds.items():
            mean, error = run["return"]
            cells = [f"{run['steps']:.0f}M", f"{mean:.2f} ± {error:.2f}", f"{run['solved']:.2f}"]
            cells += ["never" if at is None else f"{at:.1f}" for at in run["reaches"]]
            lines.append(f"| {GROUPS[group]} | {seed} | " + " | ".join(cells) + " |")
    return lines


def draw(kept: Kept, path: Path) -> None:
    """Returns on new levels by kind of student, and the difficulties that the first run of each PLR replayed."""
    students = sorted({"grid" in group for group in kept})
    firsts = {group: next(iter(seeds.values()))["replayed"] for group, seeds in kept.items()}
    curricula = {group: replayed for group, replayed in firsts.items() if replayed}
    wide = len(students) + len(curricula)
    figure, (panels,) = pyplot().subplots(1, wide, figsize=(4 * wide, 3.4), layout="constrained", squeeze=False)
    for i, (group, seeds) in enumerate(kept.items()):
        for number, run in enumerate(seeds.values()):
            look: dict[str, Any] = {"color": f"C{i}", "linewidth": 1, "label": None if number else GROUPS[group]}
            panels[students.index("grid" in group)].plot(run["curve"]["steps"], run["curve"]["values"], **look)
    for axes, grid in zip(panels, students, strict=False):
        title = "sees the grid" if grid else "sees what is near"
        axes.set(title=title, xlabel="steps, millions", ylabel="return on new levels", ylim=(0, 0.95))
        axes.legend(frameon=False, fontsize=8)
    for axes, (group, replayed) in zip(panels[len(students) :], curricula.items(), strict=True):
        steps = next(iter(replayed.values()))["steps"]
        stack(axes, steps, {name: line["values"] for name, line in replayed.items()})
        axes.set_title(f"replayed by {GROUPS[group]}")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True, frameon=False, fontsize=8)
    save(figure, path)


PAGE = Page(
    name="minigrid",
    title="MiniGrid's rooms under `fast`",
    study="minigrid-fast",
    program="minigrid_results",
    groups=GROUPS,
    summary=summary,
    table=table,
    draw=draw,
    explained=EXPLAINED,
    caption="Returns over training, and replayed levels by difficulty",
)


if __name__ == "__main__":
    PAGE.main()
