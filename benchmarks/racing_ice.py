"""Black ice: DR, robust PLR, naive grounding and SAMPLR, all from the weights of one student that drives on dry tracks.

usage: python racing_ice.py DRY [--runs runs/racing] [--steps 200000] [--seeds 1,2] [--methods dr,robust-plr]

DRY is a finished or stopped run of racing's preset `fast` without ice. From scratch, an hour's budget for eight runs
would teach nobody to drive. Runs are called `ice-METHOD-sSEED`; what is there is resumed, or left alone where finished.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import tutelage
from tutelage.runs.directory import RunDirectory

METHODS = {"dr": "dr", "robust-plr": "robust-plr", "naive": "robust-plr", "samplr": "samplr"}
SHARED = {
    "env.ice": "beta",
    "train.suite": "icy-validation",
    "train.episodes": "5",
    "train.evaluate_every": "0",
    "train.checkpoint_every": "10",
}
REPLAY = {"replay.capacity": "500"}
"""As in chapter 6."""


def settings(name: str, seed: int, steps: int) -> tutelage.Settings:
    changes = SHARED | {"train.steps": str(steps), "train.seed": str(seed)}
    if name != "dr":
        changes |= REPLAY
    if name == "naive":
        changes |= {"train.grounding": "naive"}
    return tutelage.override(tutelage.preset("racing", METHODS[name], "fast"), changes)


def begin(path: Path, chosen: tutelage.Settings, dry: tutelage.Run) -> None:
    """A run whose student is that of another one: a checkpoint of its first iteration, in which nothing was played."""
    directory = RunDirectory.create(path, chosen)
    start = tutelage.build(chosen).init(chosen.train.seed, chosen.train.shared_seed)
    students = jax.tree.map(jnp.copy, dry.state.students)
    state = start._replace(students=students, iteration=jnp.int32(1))
    directory.save_checkpoint(1, state, {"learned_steps": 0})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("dry", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs/racing"))
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    dry = tutelage.load(options.dry)
    for seed in map(int, options.seeds.split(",")):
        for name in options.methods.split(","):
            path = options.runs / f"ice-{name}-s{seed}"
            if not path.exists():
                begin(path, settings(name, seed, options.steps), dry)
            began, cpu = time.perf_counter(), time.process_time()
            run = tutelage.resume(path)
            minutes, seconds = (time.perf_counter() - began) / 60, time.process_time() - cpu
            print(f"{path.name}: iteration {run.iteration}, {minutes:.1f} minutes, {seconds:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
