"""The preset `fast` and what might be better: ACCEL for some millions of steps each, judged on the validation mazes.

usage: python candidates.py [--runs DIRECTORY] [--steps 12M] [--seed 0] [--cores 0,1] [NAME ...]

One core each, as many at a time as cores are named. The learning rate falls over the steps that are given, so each
candidate ends as its own short run and not as the beginning of a long one. Prints a table; what is there already is
not trained again.
"""

import argparse
import json
import queue
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TUTELAGE = [sys.executable, "-m", "tutelage.cli"]
# Nothing in between is evaluated: it would cost as much as it tells.
WATCHED = ["--train.suite", "validation-3", "--train.episodes", "100", "--train.evaluate_every", "100000"]
CANDIDATES = {
    "as it is": [],
    "LSTM-32": ["--network.width", "32"],
    "LSTM-128": ["--network.width", "128"],
    "GRU-64": ["--network.core", "gru"],
    "1 epoch": ["--ppo.epochs", "1"],
    "2 epochs": ["--ppo.epochs", "2"],
    "5 epochs": ["--ppo.epochs", "5"],
    "a constant learning rate": ["--ppo.anneal", "false"],
    "128 levels": ["--train.levels", "128", "--ppo.minibatches", "4", "--evolve.parents", "16"],
    "512 levels": ["--train.levels", "512", "--ppo.minibatches", "16", "--evolve.parents", "64"],
    "episodes of 128 steps": ["--env.max_steps", "128"],
    "discount 0.99": ["--ppo.discount", "0.99"],
    "GAE 0.98": ["--ppo.gae_lambda", "0.98"],
}


def train(run: Path, changes: list[str], core: str) -> None:
    """Train a candidate on one core, quietly, unless it is there to its end."""
    if (run / "metrics.jsonl").exists():
        command = [*TUTELAGE, "resume", run]
    else:
        command = [*TUTELAGE, "train", "maze", "accel", "--preset", "fast", *WATCHED, *changes, "--run", run]
    pinned = ["taskset", "-c", core] if shutil.which("taskset") else []
    done = subprocess.run([*pinned, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{run} failed:\n{done.stdout}")


def row(name: str, run: Path) -> str:
    """Steps, seconds without compiling, and what was solved maze by maze at the end."""
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last = json.loads((run / "evaluations.jsonl").read_text().splitlines()[-1])
    # The first record has the compilation in it.
    rate = (metrics[-1]["steps"] - metrics[0]["steps"]) / sum(record["seconds"] for record in metrics[1:])
    mazes = " ".join(f"{task['solved']:.2f}" for task in last["tasks"].values())
    steps = f"{last['steps'] / 1e6:.1f}M"
    return f"| {name} | {steps} | {rate / 1000:,.0f}k | {mazes} | {last['solved']:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CANDIDATES), metavar="NAME", help="(default: all)")
    parser.add_argument("--runs", type=Path, default=Path("runs/candidates"), help="where the runs are kept")
    parser.add_argument("--steps", default="12M")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--cores", default="0,1", help="one run at a time on each (default 0,1)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in CANDIDATES]
    if unknown:
        parser.error(f"there is no candidate '{unknown[0]}'; choose from {', '.join(CANDIDATES)}")
    options.runs.mkdir(parents=True, exist_ok=True)
    cores: queue.SimpleQueue[str] = queue.SimpleQueue()
    for core in options.cores.split(","):
        cores.put(core)

    def result(name: str) -> str:
        core, run = cores.get(), options.runs / f"{name.replace(' ', '-')}-s{options.seed}"
        try:
            train(run, ["--steps", options.steps, "--seed", options.seed, *CANDIDATES[name]], core)
        finally:
            cores.put(core)
        return row(name, run)

    print("| | steps | steps/s | SixteenRooms, Labyrinth, Maze | mean |\n|---|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(max_workers=cores.qsize()) as pool:
        for line in pool.map(result, options.names):
            print(line, flush=True)


if __name__ == "__main__":
    main()
