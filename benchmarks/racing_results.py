"""What racing's runs came to: tables, curves, a lap and the hardest tracks, as a page of docs/results.

usage: python racing_results.py [--runs runs/racing] [--out docs/results] [--date YYYY-MM-DD]

Reads `dr` and `robust-plr` (tracks without ice) and `ice-METHOD-sSEED` (with ice), each a run's directory. Suites that
a run was not tested on yet with its last student are played first. Runs that are missing are left out and named.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tutelage
from tutelage.cli import main as main_of_cli
from tutelage.envs.racing.published import PUBLISHED
from tutelage.envs.racing.suites import SHARES, TRUE
from tutelage.evaluation.record import Episode, record
from tutelage.pictures import gif, png, sheet, write
from tutelage.runs.levels import top_levels

DRY = {"dr": "DR", "robust-plr": "robust PLR"}
ICY = {"dr": "DR", "robust-plr": "robust PLR", "naive": "naive grounding", "samplr": "SAMPLR"}
SEEDS = (1, 2)
F1_EPISODES, FRESH_EPISODES, ICE_EPISODES = 10, 100, 3
HARDEST = 12
ROWS = (TRUE, *SHARES)
LAP = "Hungary"
"""Where the moving picture is taken."""


def records(run: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / file).read_text().splitlines()]


def tested(run: Path, suite: str, episodes: int) -> dict[str, Any]:
    """The newest evaluation of a run's last student on a suite; played now where there is none."""
    steps = records(run, "metrics.jsonl")[-1]["steps"]
    kept = [r for r in records(run, "evaluations.jsonl") if r["suite"] == suite and r["steps"] == steps]
    good = [r for r in kept if all(task["episodes"] >= episodes for task in r["tasks"].values())]
    if good:
        return good[-1]
    main_of_cli(["eval", str(run), "--suite", suite, "--episodes", str(episodes)])
    return next(r for r in reversed(records(run, "evaluations.jsonl")) if r["suite"] == suite)


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


def dry_tables(runs: dict[str, Path]) -> list[str]:
    """Returns on every circuit, published ones beside them, and on new tracks."""
    f1 = {name: tested(run, "f1", F1_EPISODES) for name, run in runs.items()}
    columns = [column for column in PUBLISHED if column.suite == "f1" and column.method in runs]
    head = [DRY[name] for name in runs] + [f"published {column.label}" for column in columns]
    lines = [f"| circuit | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for task in next(iter(f1.values()))["tasks"]:
        ours = [f"{each['tasks'][task]['return']:.0f}" for each in f1.values()]
        theirs = [f"{column.tasks[task].mean:.0f}" for column in columns]
        lines.append(f"| {task} | {' | '.join(ours + theirs)} |")
    ours = [f"**{each['return']:.0f}**" for each in f1.values()]
    theirs = [f"{column.mean.mean:.0f} ± {column.mean.error:.0f}" for column in columns]
    lines.append(f"| mean | {' | '.join(ours + theirs)} |")
    fresh = {name: tested(run, "fresh", FRESH_EPISODES) for name, run in runs.items()}
    lines += ["", "| | trained for | f1, mean return (solved) | fresh tracks, return (solved) |", "|---|---|---|---|"]
    lines += [
        f"| {DRY[name]} | {length(run)} | {f1[name]['return']:.0f} ({f1[name]['solved']:.2f}) | "
        f"{fresh[name]['return']:.0f} ± {fresh[name]['tasks']['Fresh']['return-error']:.0f} "
        f"({fresh[name]['solved']:.2f}) |"
        for name, run in runs.items()
    ]
    return lines


def dry_on_ice(runs: dict[str, Path]) -> list[str]:
    """The same students on icy circuits, which they have never met."""
    found = by_share({name: [run] for name, run in runs.items()})
    lines = [f"| icy-f1, mean return | {' | '.join(DRY[name] for name in runs)} |", "|---" * (len(runs) + 1) + "|"]
    for i, q in enumerate(ROWS):
        lines.append(f"| {label(q)} | {' | '.join(f'{found[name][0, i]:.0f}' for name in runs)} |")
    return lines


def draw_dry(runs: dict[str, Path], path: Path) -> None:
    """Returns on the validation circuits and in training, against decisions."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for (name, run), style in zip(runs.items(), ("-o", "--s"), strict=False):
        held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "f1-validation"]
        left.plot([r["steps"] / 1e6 for r in held], [r["return"] for r in held], style, label=DRY[name], markersize=3)
        logged = records(run, "metrics.jsonl")
        smooth = np.convolve([r["return"] for r in logged], np.ones(10) / 10, "valid")
        right.plot([r["steps"] / 1e6 for r in logged][9:], smooth, style[:-1], label=DRY[name], linewidth=1.2)
    left.set_title("f1-validation: Italy, Singapore, Germany", fontsize=9)
    right.set_title("training levels, mean of ten iterations", fontsize=9)
    finish(figure, (left, right), "return", path)


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


def suffix(q: float | str) -> str:
    return "Beta(1,15)" if q == TRUE else f"q={q:g}"


def by_share(runs: dict[str, list[Path]]) -> dict[str, np.ndarray]:
    """``[seeds, shares of ice]`` of each method: mean returns over all circuits."""
    found = {}
    for name, seeds in runs.items():
        evaluations = [tested(run, "icy-f1", ICE_EPISODES) for run in seeds]
        found[name] = np.array(
            [
                [mean_of(each, [task for task in each["tasks"] if task.endswith(suffix(q))]) for q in ROWS]
                for each in evaluations
            ]
        )
    return found


def ice_met(run: Path) -> tuple[float, float]:
    """Of all tiles that were met in training, and of those in batches that were learned from; the last half of it."""
    logged = records(run, "metrics.jsonl")
    logged = logged[len(logged) // 2 :]
    every = [r["ice-met"] for r in logged if r.get("ice-met") is not None]
    learned = [r["ice-met"] for r in logged if r.get("ice-met") is not None and r["learned"] > 0]
    return float(np.mean(every)), float(np.mean(learned))


def ice_tables(runs: dict[str, list[Path]]) -> list[str]:
    returns = by_share(runs)
    head = [ICY[name] for name in runs]
    published = [
        next(c for c in PUBLISHED if c.suite == "icy-f1-beta" and c.label == label_there(name)).label for name in runs
    ]
    lines = [
        f"| icy-f1, mean return | {' | '.join(head)} | {' | '.join(f'published {each}' for each in published)} |",
        "|---" * (2 * len(head) + 1) + "|",
    ]
    for i, q in enumerate(ROWS):
        ours = [" ".join(f"{seed[i]:.0f}" for seed in returns[name]) for name in runs]
        suite = f"icy-f1-{q if q == TRUE else f'{q:g}'}"
        there = {c.label: c.mean for c in PUBLISHED if c.suite == suite}
        theirs = [f"{there[each].mean:.0f} ± {there[each].error:.0f}" if there else "" for each in published]
        lines.append(f"| {label(q)} | {' | '.join(ours)} | {' | '.join(theirs)} |")
    lines += ["", "| | seed | trained for | ice met | ice met where it learned |", "|---|---|---|---|---|"]
    for name, seeds in runs.items():
        for run in seeds:
            every, learned = ice_met(run)
            lines.append(f"| {ICY[name]} | {run.name[-1]} | {length(run)} | {every:.3f} | {learned:.3f} |")
    return lines


def label_there(name: str) -> str:
    return {"robust-plr": "PLR⊥"}.get(name, ICY[name])


def draw_ice(runs: dict[str, list[Path]], path: Path) -> None:
    """Ice met while training, and returns by the share of ice."""
    plt = pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.3), layout="constrained")
    returns = by_share(runs)
    for i, (name, seeds) in enumerate(runs.items()):
        colour = f"C{i}"
        for number, run in enumerate(seeds):
            title = ICY[name] if number == 0 else None
            logged = [r for r in records(run, "metrics.jsonl") if r["learned"] > 0 and r.get("ice-met") is not None]
            width = max(1, min(10, len(logged)))
            smooth = np.convolve([r["ice-met"] for r in logged], np.ones(width) / width, "valid")
            steps = [r["steps"] / 1e6 for r in logged][width - 1 :]
            left.plot(steps, smooth, color=colour, linewidth=1, label=title)
            held = [r for r in records(run, "evaluations.jsonl") if r["suite"] == "icy-validation"]
            x, y = [r["steps"] / 1e6 for r in held], [r["return"] for r in held]
            middle.plot(x, y, "-o", color=colour, linewidth=1, markersize=2.5, label=title)
        spread = returns[name][:, 1:]
        right.plot(SHARES, spread.mean(axis=0), "-o", color=colour, markersize=3, label=ICY[name])
        right.fill_between(SHARES, spread.min(axis=0), spread.max(axis=0), color=colour, alpha=0.15)
    left.set_title("ice met, in batches that were learned from", fontsize=9)
    middle.set_title("icy-validation (q = 0.2)", fontsize=9)
    right.set_title("icy-f1 at the end, mean and range of seeds", fontsize=9)
    finish(figure, (left, middle, right), "", path)
    for axes, name in ((left, "share of tiles met"), (middle, "return"), (right, "return")):
        axes.set_ylabel(name)
    right.set_xlabel("share of ice q")
    figure.savefig(path, dpi=100)


def pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def finish(figure: Any, panels: tuple[Any, ...], unit: str, path: Path) -> None:
    for axes in panels:
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.set_xlabel("decisions, millions")
        axes.set_ylabel(unit)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


# --- the page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/racing"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    parser.add_argument("--date", default=datetime.now(UTC).strftime("%Y-%m-%d"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    dry = {name: options.runs / name for name in DRY if (options.runs / name / "metrics.jsonl").exists()}
    icy = {
        name: [run for s in SEEDS if (run := options.runs / f"ice-{name}-s{s}") and (run / "metrics.jsonl").exists()]
        for name in ICY
    }
    icy = {name: seeds for name, seeds in icy.items() if seeds}
    lines = [
        "# Racing under `fast`",
        "",
        f"{options.date}. Made by `python benchmarks/racing_results.py` from runs of",
        "",
        "    tutelage train racing METHOD --preset fast --devices 1 --seed 1",
        "    tutelage train racing METHOD --preset fast --env.ice beta --devices 1 --steps STEPS --seed SEED",
        "",
        f"Returns are means over {F1_EPISODES} episodes a circuit, {FRESH_EPISODES} fresh tracks, {ICE_EPISODES} "
        "episodes a circuit and share of ice. Published figures are of 5M decisions and ten runs, on layouts of 2021. "
        "[Racing](../racing.md) says what they show and what they do not.",
    ]
    if dry:
        lines += ["", "## Without ice", "", *dry_tables(dry)]
        draw_dry(dry, options.out / "racing-curves.png")
        lines += ["", "![Returns against decisions](racing-curves.png)"]
        best = max(dry, key=lambda name: tested(dry[name], "f1", F1_EPISODES)["return"])
        said = lap(dry[best], options.out / "racing-lap.gif")
        lines += [
            "",
            f"What the student of {DRY[best]} sees and where it drives ({said}):",
            "",
            "![A lap](racing-lap.gif)",
        ]
    if "robust-plr" in dry:
        hardest(dry["robust-plr"], options.out / "racing-hardest.png")
        lines += ["", f"The {HARDEST} tracks with the highest scores in robust PLR's buffer at the end:", ""]
        lines += ["![The hardest tracks](racing-hardest.png)"]
    if dry:
        lines += ["", "## Trained without ice, tested on it", "", *dry_on_ice(dry)]
    if icy:
        lines += ["", "## With black ice", "", "A figure for each seed.", "", *ice_tables(icy)]
        draw_ice(icy, options.out / "racing-ice.png")
        lines += ["", "![Ice met, and returns by the share of ice](racing-ice.png)"]
    (options.out / "racing.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
