"""The preset `fast` and what might be better: ACCEL for the first part of a run, judged on the validation mazes.

usage: python candidates.py [--runs DIRECTORY] [--share 0.333] [--seeds 0,1] [--cores 0,1] [NAME ...]

Each candidate is the beginning of a whole run, with the learning rate that a whole run has by then, and is stopped when
its share of the steps is done. One core each, as many at a time as cores are named. What is there already goes on from
where it is. Prints a table: `mean` and `least` are of all evaluations in the second half of what was played.
"""

import argparse
import json
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TUTELAGE = [sys.executable, "-m", "tutelage.cli"]
WATCHED = ["--train.suite", "validation-3", "--train.episodes", "50", "--devices", "1"]
CANDIDATES = {
    "as-it-is": [],
    "place": ["--env.edit-rule", "place"],
    "3-edits": ["--evolve.edits", "3"],
    "maxmc-initial": ["--replay.score", "maxmc-initial"],
    "maxmc-undiscounted": ["--replay.score", "maxmc-undiscounted"],
    "lr5e-4": ["--ppo.learning-rate", "0.0005"],
    "constant-lr": ["--ppo.anneal", "false"],
    "gru": ["--network.core", "gru"],
    "entropy-001": ["--ppo.entropy-coef", "0.001"],
    "rate-09": ["--replay.rate", "0.9"],
    "normalise-returns": ["--ppo.normalise-returns", "true"],
    "parents-64": ["--evolve.parents", "64"],
    "128-levels": ["--train.levels", "128", "--ppo.minibatches", "4", "--evolve.parents", "16"],
    "2-epochs": ["--ppo.epochs", "2"],
    "lstm-128": ["--network.width", "128"],
    "gru-queue-4": ["--network.core", "gru", "--train.queue", "4", "--evolve.parents", "128"],
    "gru-maxmc-undiscounted": ["--network.core", "gru", "--replay.score", "maxmc-undiscounted"],
    "gru-entropy-001": ["--network.core", "gru", "--ppo.entropy-coef", "0.001"],
    "gru-3-edits": ["--network.core", "gru", "--evolve.edits", "3"],
}


def train(run: Path, changes: list[str], core: str, share: float) -> None:
    """Train a candidate on one core, quietly, until its share of the run is done."""
    if _done(run, share):
        return
    new = ["train", "maze", "accel", "--preset", "fast", *WATCHED, *changes, "--run", run]
    command = [*TUTELAGE, *(["resume", run] if (run / "config.toml").exists() else new), "--quiet"]
    pinned = ["taskset", "-c", core] if shutil.which("taskset") else []
    with run.with_suffix(".log").open("a") as log:
        process = subprocess.Popen([*pinned, *command], stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            time.sleep(5)
            if _done(run, share):
                process.send_signal(signal.SIGINT)
                process.wait()
    if not _done(run, share):
        raise SystemExit(f"{run} failed; see {run.with_suffix('.log')}")


def _done(run: Path, share: float) -> bool:
    from tutelage import read_settings

    records = _records(run / "metrics.jsonl")
    return bool(records) and records[-1]["steps"] >= share * read_settings(run / "config.toml").train.steps


def _records(path: Path) -> list[dict]:
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def row(name: str, run: Path) -> str:
    """Steps, steps per second without compiling, and what was solved in the second half."""
    metrics, evaluations = _records(run / "metrics.jsonl"), _records(run / "evaluations.jsonl")
    steps = metrics[-1]["steps"]
    # The first record has the compilation in it.
    rate = (steps - metrics[0]["steps"]) / max(sum(record["seconds"] for record in metrics[1:]), 1e-9)
    late = [record["solved"] for record in evaluations if record["steps"] > steps / 2] or [evaluations[-1]["solved"]]
    mazes = " ".join(f"{task['solved']:.2f}" for task in evaluations[-1]["tasks"].values())
    figures = f"{statistics.mean(late):.2f} | {min(late):.2f} | {evaluations[-1]['solved']:.2f} ({mazes})"
    return f"| {name} | {steps / 1e6:.0f}M | {rate / 1000:,.0f}k | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CANDIDATES), metavar="NAME", help="(default: all)")
    parser.add_argument("--runs", type=Path, default=Path("runs/candidates"), help="where the runs are kept")
    parser.add_argument("--share", type=float, default=1 / 3, help="of a whole run (default a third)")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--cores", default="0,1", help="one run at a time on each (default 0,1)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in CANDIDATES]
    if unknown:
        parser.error(f"there is no candidate '{unknown[0]}'; choose from {', '.join(CANDIDATES)}")
    options.runs.mkdir(parents=True, exist_ok=True)
    cores: queue.SimpleQueue[str] = queue.SimpleQueue()
    for core in options.cores.split(","):
        cores.put(core)

    def result(job: tuple[str, str]) -> str:
        name, seed = job
        core, run = cores.get(), options.runs / f"{name}-s{seed}"
        try:
            train(run, ["--seed", seed, *CANDIDATES[name]], core, options.share)
        finally:
            cores.put(core)
        return row(f"{name}, seed {seed}", run)

    print("| | steps | steps/s | mean | least | last (SixteenRooms, Labyrinth, Maze) |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    jobs = [(name, seed) for name in options.names for seed in options.seeds.split(",")]
    with ThreadPoolExecutor(max_workers=cores.qsize()) as pool:
        for line in pool.map(result, jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
