"""ACCEL and DR under the `fast` preset, at once, a core each; then thesis-12 maze by maze, and a picture of the curves.

usage: python fast.py [--runs DIRECTORY] [--cores A,B] [--drawing-only]

Started again it goes on where it was stopped. On two cores it takes one and a half to two hours.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
METHODS = ("accel", "dr")
TUTELAGE = [sys.executable, "-m", "tutelage.cli"]


def train(runs: Path, cores: list[str]) -> None:
    """Both methods side by side, each on a core of its own where the machine has `taskset`."""
    processes = []
    for method, core in zip(METHODS, cores, strict=True):
        run = runs / f"fast-{method}"
        new = ["train", "maze", method, "--preset", "fast", "--train.suite", "thesis-12", "--train.episodes", "20"]
        command = [*TUTELAGE, "resume", run] if run.exists() else [*TUTELAGE, *new, "--run", run]
        processes.append(subprocess.Popen(["taskset", "-c", core, *command]))
    failed = [process.args for process in processes if process.wait()]
    if failed:
        raise SystemExit(f"This failed: {failed[0]}")


def curve(run: Path) -> list[dict[str, Any]]:
    """The held-out evaluations of a run, in order."""
    return [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]


def hours(run: Path) -> dict[int, float]:
    """Hours of training before each record of the metrics, by iteration."""
    spent, total = {0: 0.0}, 0.0
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        total += record["seconds"] / 3600
        spent[record["iteration"]] = total
    return spent


def draw(runs: Path, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_steps, by_time) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for method, style in zip(METHODS, ("-", "--"), strict=True):
        run = runs / f"fast-{method}"
        records, spent = curve(run), hours(run)
        solved = [record["solved"] for record in records]
        by_steps.plot([record["steps"] / 1e6 for record in records], solved, style, label=method, linewidth=1.2)
        by_time.plot([60 * spent[record["iteration"]] for record in records], solved, style, linewidth=1.2)
    by_steps.axhline(0.9, color="0.6", linewidth=0.8)
    by_steps.text(1, 0.91, "ACCEL in the thesis", fontsize=8, color="0.4")
    by_steps.set(xlabel="environment steps, millions", ylabel="solved, mean over thesis-12", ylim=(0, 1))
    by_time.set(xlabel="minutes of training, one core each")
    for axes in (by_steps, by_time):
        axes.grid(alpha=0.3, linewidth=0.5)
    by_steps.legend(frameon=False, loc="lower right", title="1 seed, 20 episodes a maze")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are kept (default runs)")
    parser.add_argument("--cores", default="0,1", help="the core of each (default 0,1)")
    parser.add_argument("--drawing-only", action="store_true", help="of runs that are there, finished or not")
    options = parser.parse_args()
    if not options.drawing_only:
        options.runs.mkdir(parents=True, exist_ok=True)
        train(options.runs, options.cores.split(","))
    for method in METHODS:
        command = [*TUTELAGE, "eval", options.runs / f"fast-{method}", "--suite", "thesis-12", "--episodes", "100"]
        subprocess.run(command, check=True)
    draw(options.runs, HERE.parent / "docs" / "pictures" / "fast.png")


if __name__ == "__main__":
    main()
