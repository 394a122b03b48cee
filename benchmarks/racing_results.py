"""What racing's runs look like: curves, a lap, the hardest tracks and the ice that was met, as pages of docs/results.

usage: python racing_results.py [--dry runs/racing-fast] [--ice runs/racing-ice-fast] [--out docs/results]

Reads the directories of the studies `racing-fast` and `racing-ice-fast`; the page of a study that is not there stays as
it is, and runs that are missing are left out. Tests that a run's last student has not taken yet are played first.
Tables of returns are made by `results.py`.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import numpy as np
from studied import Runs, found_in, pyplot, records, smoothed, tested

import tutelage
from tutelage.envs.racing.suites import SHARES, TRUE
from tutelage.evaluation.record import Episode, record
from tutelage.pictures import gif, png, sheet, write
from tutelage.reproduce.catalogue import exhibit
from tutelage.runs.levels import top_levels

DRY = {"dr": "DR", "robust-plr": "robust PLR"}
ICY = {"dr": "DR", "robust-plr": "robust PLR", "robust-plr-naive": "naive grounding", "samplr": "SAMPLR"}
F1_EPISODES, FRESH_EPISODES = exhibit("f1").episodes, 100
HARDEST = 12
ROWS = (TRUE, *SHARES)
LAP = "Hungary"
"""Where the moving picture is taken."""


def length(run: Path) -> str:
    """How far a run came, and in how long."""
    logged = records(run, "metrics.jsonl")
    settings, last = tutelage.read_settings(run / "config.toml"), logged[-1]
    minutes = sum(each["seconds"] for each in logged) / 60
    return (
        f"{last['steps'] / 1e6:.2f}M of {settings.train.steps / 1e6:g}M decisions "
        f"({last['learned_steps'] / 1e6:.2f}M learned from) in {minutes:.0f} minutes"
    )


def mean_of(evaluation: dict[str, Any], names: list[str]) -> float:
    return float(np.mean([evaluation["tasks"][name]["return"] for name in names]))


# --- without ice


def dry_table(runs: Runs) -> list[str]:
    """How long each run was trained, and its returns on circuits, on new tracks and on ice, which it has never met."""
    lines = [
        "| | seed | trained for | f1 (solved) | fresh tracks (solved) | "
        + " | ".join(f"ice, {label(q)}" for q in ROWS)
        + " |",
        "|---" * (5 + len(ROWS)) + "|",
    ]
    for name, seeds in runs.items():
        for run in seeds:
            f1, fresh = tested(run, "f1", F1_EPISODES), tested(run, "fresh", FRESH_EPISODES)
            ice = " | ".join(f"{value:.0f}" for value in by_share(run))
            error = fresh["tasks"]["Fresh"]["return-error"]
            lines.append(
                f"| {DRY[name]} | {run.name[1:]} | {length(run)} | {f1['return']:.0f} ({f1['solved']:.2f}) | "
                f"{fresh['return']:.0f} ± {error:.0f} ({fresh['solved']:.2f}) | {ice} |"
            )
    return lines


def draw_dry(runs: Runs, path: Path) -> None:
    """Returns on the validation circuits and in training, against decisions."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for i, (name, seeds) in enumerate(runs.items()):
        for number, run in enumerate(seeds):
            look: dict[str, Any] = {"color": f"C{i}", "label": DRY[name] if number == 0 else None, "linewidth": 1.2}
            held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "f1-validation"]
            left.plot([r["steps"] / 1e6 for r in held], [r["return"] for r in held], "-o", markersize=3, **look)
            right.plot(*smoothed(records(run, "metrics.jsonl"), "return"), **look)
    left.set_title("f1-validation: Italy, Singapore, Germany", fontsize=9)
    right.set_title("training levels, mean of twenty iterations", fontsize=9)
    finish(figure, (left, right), ("return", "return"), path)


def lap(run: Path, path: Path) -> str:
    """A moving picture of the best of a few episodes on a circuit."""
    loaded = tutelage.load(run)
    (task,) = loaded.domain.suites[LAP].tasks
    episodes = [record(loaded.agent, loaded.student(), task, 0, number) for number in range(5)]
    best: Episode = max(episodes, key=lambda episode: episode.total)
    viewer = loaded.domain.viewer
    assert viewer is not None
    assert viewer.frames is not None
    frames = list(viewer.frames(best.level, jax.tree.map(lambda x: x, best.states)))
    write(path, gif([frame[::2, ::2] for frame in frames[::2]], 2 * viewer.pace))
    return f"{LAP}, {best.length} decisions, return {best.total:.0f}"


def hardest(run: Path, path: Path) -> None:
    """The tracks with the highest scores in the buffer."""
    loaded = tutelage.load(run)
    cards = top_levels(loaded, HARDEST)
    viewer = loaded.domain.viewer
    assert viewer is not None
    assert viewer.picture is not None
    pictures = [viewer.picture(card.level) for card in cards]
    captions = [f"score {card.title.split('score ')[1].split(',')[0]}" for card in cards]
    write(path, png(sheet(pictures, captions), 64))


# --- with ice


def label(q: float | str) -> str:
    return "q ~ Beta(1, 15)" if q == TRUE else f"q = {q:g}"


def by_share(run: Path) -> np.ndarray:
    """Mean returns over all circuits, for each share of ice."""
    evaluation = tested(run, "icy-f1", exhibit("icy-f1").episodes)
    row = exhibit("icy-f1").at("laptop")[0].row
    rows = {q: "q~Beta(1,15)" if q == TRUE else f"q={q:g}" for q in ROWS}
    return np.array([mean_of(evaluation, [task for task in evaluation["tasks"] if row(task) == rows[q]]) for q in ROWS])


def ice_met(run: Path) -> tuple[float, float]:
    """Of all tiles that were met in training, and of those in batches that were learned from; the last half of it."""
    logged = records(run, "metrics.jsonl")
    logged = logged[len(logged) // 2 :]
    every = [r["ice-met"] for r in logged if r.get("ice-met") is not None]
    learned = [r["ice-met"] for r in logged if r.get("ice-met") is not None and r["learned"] > 0]
    return float(np.mean(every)), float(np.mean(learned))


def ice_table(runs: Runs) -> list[str]:
    lines = [
        f"| icy-f1, mean return | seed | {' | '.join(map(label, ROWS))} | trained for | ice met | where it learned |",
        "|---" * (5 + len(ROWS)) + "|",
    ]
    for name, seeds in runs.items():
        for run in seeds:
            every, learned = ice_met(run)
            returns = " | ".join(f"{value:.0f}" for value in by_share(run))
            lines.append(f"| {ICY[name]} | {run.name[1:]} | {returns} | {length(run)} | {every:.3f} | {learned:.3f} |")
    return lines


def draw_ice(runs: Runs, path: Path) -> None:
    """Ice met while training, and returns by the share of ice."""
    plt = pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.3), layout="constrained")
    for i, (name, seeds) in enumerate(runs.items()):
        for number, run in enumerate(seeds):
            look: dict[str, Any] = {"color": f"C{i}", "label": ICY[name] if number == 0 else None, "linewidth": 1}
            left.plot(*smoothed([r for r in records(run, "metrics.jsonl") if r["learned"] > 0], "ice-met", 50), **look)
            held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "icy-validation"]
            x, y = [r["steps"] / 1e6 for r in held], [r["return"] for r in held]
            middle.plot(x, y, "-o", markersize=2.5, **look)
        spread = np.array([by_share(run)[1:] for run in seeds])
        right.plot(SHARES, spread.mean(axis=0), "-o", color=f"C{i}", markersize=3, label=ICY[name])
        right.fill_between(SHARES, spread.min(axis=0), spread.max(axis=0), color=f"C{i}", alpha=0.15)
    left.set_title("ice met, in batches that were learned from (mean of fifty)", fontsize=9)
    middle.set_title("icy-validation (q = 0.2)", fontsize=9)
    right.set_title("icy-f1 at the end, mean and range of seeds", fontsize=9)
    finish(figure, (left, middle, right), ("share of tiles met", "return", "return"), path, last="share of ice q")


def finish(figure: Any, panels: tuple[Any, ...], units: tuple[str, ...], path: Path, last: str = "") -> None:
    for axes, unit in zip(panels, units, strict=True):
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.set_xlabel("decisions, millions")
        axes.set_ylabel(unit)
        axes.legend(frameon=False, fontsize=8)
    if last:
        panels[-1].set_xlabel(last)
    figure.savefig(path, dpi=100)


# --- the pages


def heading(title: str, study: str, option: str, more: str) -> list[str]:
    """What a page begins with: how it was made, and where the rest is."""
    return [
        f"# {title}",
        "",
        "Made by",
        "",
        f"    tutelage study studies/{study}.toml",
        f"    python benchmarks/racing_results.py --{option} runs/{study}",
        "",
        f"Returns are means over {F1_EPISODES} episodes a circuit (and share of ice) and {FRESH_EPISODES} fresh "
        f"tracks. [Racing](../racing.md) says what they show and what they do not. {more}",
        "",
    ]


def dry_page(runs: Runs, out: Path) -> list[str]:
    """Draw the pictures of runs without ice, and say what they show."""
    draw_dry(runs, out / "racing-curves.png")
    seeds = [run for group in runs.values() for run in group]
    best = max(seeds, key=lambda run: tested(run, "f1", F1_EPISODES)["return"])
    said = lap(best, out / "racing-lap.gif")
    lines = heading(
        "Racing under `fast`",
        "racing-fast",
        "dry",
        "Beside the published figures: [circuits](f1.racing-fast.md). With black ice: [another page](racing-ice.md).",
    )
    lines += [*dry_table(runs), "", "![Returns against decisions](racing-curves.png)", ""]
    lines += [f"What the student of {DRY[best.parent.name]} sees and where it drives ({said}):", ""]
    lines += ["![A lap](racing-lap.gif)"]
    if "robust-plr" in runs:
        hardest(runs["robust-plr"][0], out / "racing-hardest.png")
        lines += ["", f"The {HARDEST} tracks with the highest scores in robust PLR's buffer at the end:", ""]
        lines += ["![The hardest tracks](racing-hardest.png)"]
    return lines


def ice_page(runs: Runs, out: Path) -> list[str]:
    """Draw the pictures of runs with ice, and say what they show."""
    draw_ice(runs, out / "racing-ice.png")
    lines = heading(
        "Racing with black ice under `fast`",
        "racing-ice-fast",
        "ice",
        "Beside the published figures: [ice](icy-f1.racing-ice-fast.md). Without ice: [another page](racing.md).",
    )
    lines += [*ice_table(runs), ""]
    lines += ["Ice met: icy tiles among those that were touched, in the second half of training.", ""]
    lines += ["![Ice met, and returns by the share of ice](racing-ice.png)"]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dry", type=Path, default=Path("runs/racing-fast"))
    parser.add_argument("--ice", type=Path, default=Path("runs/racing-ice-fast"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if dry := found_in(options.dry, DRY):
        write(options.out / "racing.md", "\n".join([*dry_page(dry, options.out), ""]).encode())
    if icy := found_in(options.ice, ICY):
        write(options.out / "racing-ice.md", "\n".join([*ice_page(icy, options.out), ""]).encode())


if __name__ == "__main__":
    main()
