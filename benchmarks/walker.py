"""ACCEL and DR on the walker under its `fast` preset, at once, a core each; then curves, and the buffer over time.

usage: python walker.py [--runs DIRECTORY] [--minutes 65] [--cores 0,1] [--drawing-only]

Started again it goes on where it was stopped. Checkpoints are kept beside the runs (a run itself keeps two), so that
the parameters of the levels with the highest scores can be drawn as they were.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tutelage
from tutelage.envs.walker.level import Level
from tutelage.envs.walker.render import rose
from tutelage.pictures import png, write
from tutelage.runs import checkpoint
from tutelage.runs.levels import kept_levels

METHODS = ("accel", "dr")
TOP = 100


def keep(runs: Path) -> None:
    """Copy checkpoints that are not kept yet."""
    for method in METHODS:
        kept = runs / "kept" / method
        kept.mkdir(parents=True, exist_ok=True)
        for file in (runs / f"walker-{method}" / "checkpoints").glob("*.npz"):
            if not (kept / file.name).exists():
                shutil.copy(file, kept / file.name)


def train(runs: Path, cores: list[str], minutes: float) -> None:
    """Both methods side by side, each on a core of its own; stopped after so many minutes."""
    processes = []
    for method, core in zip(METHODS, cores, strict=True):
        run = runs / f"walker-{method}"
        new = ["train", "walker", method, "--preset", "fast", "--env.workers", "1", "--run", run]
        command = ["resume", run] if run.exists() else new
        processes.append(subprocess.Popen(["taskset", "-c", core, sys.executable, "-m", "tutelage.cli", *command]))
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end and any(process.poll() is None for process in processes):
        time.sleep(10)
        keep(runs)
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        process.wait()
    keep(runs)


def records(run: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / file).read_text().splitlines()]


def draw_curves(runs: Path, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = ("Basic", "Hardcore", "Stairs", "PitGap", "Stump", "Roughness")
    figure, panels = plt.subplots(2, 3, figsize=(10, 5.5), sharex=True, sharey=True, layout="constrained")
    evaluations: list[dict[str, Any]] = []
    for method, style in zip(METHODS, ("-o", "--s"), strict=True):
        evaluations = records(runs / f"walker-{method}", "evaluations.jsonl")
        for name, axes in zip(names, panels.flat, strict=True):
            steps = [record["steps"] / 1e6 for record in evaluations]
            returns = [record["tasks"][name]["return"] for record in evaluations]
            axes.plot(steps, returns, style, label=method, linewidth=1.2, markersize=3)
            axes.set_title(name, fontsize=10)
            axes.grid(alpha=0.3, linewidth=0.5)
    for axes in panels[1]:
        axes.set_xlabel("environment steps, millions")
    for axes in panels[:, 0]:
        axes.set_ylabel("mean return")
    episodes = next(iter(evaluations[-1]["tasks"].values()))["episodes"]
    panels[0, 0].legend(frameon=False, title=f"1 seed, {episodes} episodes each", fontsize=8, title_fontsize=8)
    figure.savefig(path, dpi=110)


def top_levels(run: tutelage.Run, file: Path) -> list[Level]:
    """The levels with the highest scores in the buffer of a checkpoint."""
    state, _ = checkpoint.load(file, run.state)
    held = kept_levels(replace(run, state=state))
    order = np.argsort(-held.score[: int(held.size)], kind="stable")[:TOP]
    return [jax.tree.map(lambda leaf, slot=slot: leaf[slot], held.levels) for slot in order]


def draw_roses(runs: Path, path: Path) -> None:
    run = tutelage.load(runs / "walker-accel")
    files = sorted((runs / "kept" / "accel").glob("*.npz"))
    shown = [files[i] for i in np.linspace(0, len(files) - 1, min(4, len(files))).round().astype(int)]
    steps = run.trainer.steps_per_iteration
    groups = {f"{int(file.stem) * steps / 1e6:.1f}M steps": top_levels(run, file) for file in shown}
    write(path, png(rose(groups)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are kept (default runs)")
    parser.add_argument("--minutes", type=float, default=65)
    parser.add_argument("--cores", default="0,1", help="the core of each (default 0,1)")
    parser.add_argument("--drawing-only", action="store_true", help="of runs that are there, finished or not")
    options = parser.parse_args()
    if not options.drawing_only:
        options.runs.mkdir(parents=True, exist_ok=True)
        train(options.runs, options.cores.split(","), options.minutes)
    draw_curves(options.runs, options.runs / "walker-curves.png")
    draw_roses(options.runs, options.runs / "walker-roses.png")
    for method in METHODS:
        for record in records(options.runs / f"walker-{method}", "evaluations.jsonl"):
            returns = ", ".join(f"{name} {task['return']:.0f}" for name, task in record["tasks"].items())
            print(f"{method} {record['steps'] / 1e6:.2f}M steps: {returns}")


if __name__ == "__main__":
    main()
