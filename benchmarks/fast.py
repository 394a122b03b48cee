"""ACCEL and DR under the `fast` preset; then thesis-12 maze by maze, and a picture of the curves.

usage: python fast.py [--runs DIRECTORY] [--cores A,B | --all-cores] [--steps STEPS] [--drawing-only]

ACCEL and DR at once, a core each: forty minutes to two hours on two cores. With --all-cores ACCEL alone, with another
seed and more steps, on as many devices as there are cores: a hundred minutes to three hours on two, and a picture of
its own. Started again it goes on where it was stopped.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tutelage.envs.maze.published import PUBLISHED

HERE = Path(__file__).resolve().parent
TUTELAGE = [sys.executable, "-m", "tutelage.cli"]
WATCHED = ["--preset", "fast", "--train.suite", "thesis-12", "--train.episodes", "20"]
SHORT = {"fast-accel": ("accel, one core", "-"), "fast-dr": ("dr, one core", "--")}
LONG = {"fast-accel-all": ("accel, all cores", "-")}
PICTURES = HERE.parent / "docs" / "pictures"


def begin(run: Path, settings: list[str], core: str = "") -> subprocess.Popen[bytes]:
    """Start a run, or go on with it; on one core only where the machine has `taskset` and a core is named."""
    command = [*TUTELAGE, "resume", run] if run.exists() else [*TUTELAGE, "train", "maze", *settings, "--run", run]
    pinned = ["taskset", "-c", core] if core and shutil.which("taskset") else []
    return subprocess.Popen([*pinned, *command])


def train(runs: Path, cores: list[str], all_cores: bool, steps: str) -> None:
    if all_cores:
        more = ["--seed", "2", "--steps", steps]
        processes = [begin(runs / "fast-accel-all", ["accel", *WATCHED, *more])]
    else:
        methods = zip(("accel", "dr"), cores, strict=True)
        processes = [begin(runs / f"fast-{method}", [method, *WATCHED], core) for method, core in methods]
    failed = [process.args for process in processes if process.wait()]
    if failed:
        raise SystemExit(f"This failed: {failed[0]}")


def curve(run: Path) -> list[dict[str, Any]]:
    """The held-out evaluations of a run, in order, without those that were made of it afterwards."""
    records = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    return [r for r in records if r["suite"] == "thesis-12" and next(iter(r["tasks"].values()))["episodes"] == 20]


def hours(run: Path) -> dict[int, float]:
    """Hours of training before each record of the metrics, by iteration, without evaluations.

    What took more than three times as long as usual was paused, or compiled: it counts as usual.
    """
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    usual = statistics.median(record["seconds"] for record in records)
    spent, total = {0: 0.0}, 0.0
    for record in records:
        total += (record["seconds"] if record["seconds"] < 3 * usual else usual) / 3600
        spent[record["iteration"]] = total
    return spent


def draw(runs: Path, styles: dict[str, tuple[str, str]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_steps, by_time) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for name, (label, style) in styles.items():
        run = runs / name
        records, spent = curve(run), hours(run)
        solved = [record["solved"] for record in records]
        by_steps.plot([record["steps"] / 1e6 for record in records], solved, style, label=label, linewidth=1.2)
        by_time.plot([60 * spent[record["iteration"]] for record in records], solved, style, linewidth=1.2)
    (published,) = [column for column in PUBLISHED if (column.suite, column.label) == ("thesis-12", "ACCEL")]
    text = f"ACCEL in the thesis ({published.mean.mean:g}, {published.runs} seeds)"
    by_steps.axhline(published.mean.mean, color="0.6", linewidth=0.8, label=text)
    by_steps.set(xlabel="environment steps, millions", ylabel="solved, mean over thesis-12", ylim=(0, 1))
    by_time.set(xlabel="minutes of training, without pauses")
    for axes in (by_steps, by_time):
        axes.grid(alpha=0.3, linewidth=0.5)
    by_steps.legend(frameon=False, loc="lower right", title="a seed each, 20 episodes a maze")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are kept (default runs)")
    parser.add_argument("--cores", default="0,1", help="the core of each (default 0,1)")
    parser.add_argument("--all-cores", action="store_true", help="ACCEL alone, on all cores")
    parser.add_argument("--steps", default="1050M", help="of the run on all cores (default 1050M)")
    parser.add_argument("--drawing-only", action="store_true", help="of runs that are there, finished or not")
    options = parser.parse_args()
    if not options.drawing_only:
        options.runs.mkdir(parents=True, exist_ok=True)
        train(options.runs, options.cores.split(","), options.all_cores, options.steps)
    styles, picture = (LONG, "fast-all-cores.png") if options.all_cores else (SHORT, "fast.png")
    for name in styles:
        print(options.runs / name, flush=True)
        evaluation = ["eval", options.runs / name, "--suite", "thesis-12", "--episodes", "100"]
        subprocess.run([*TUTELAGE, *evaluation], check=True)
    draw(options.runs, styles, PICTURES / picture)


if __name__ == "__main__":
    main()
