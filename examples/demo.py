"""Train ACCEL on small mazes for a few minutes, and see what it learned and what it was taught with."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import jax
import numpy as np

import tutelage
from tutelage.evaluation.evaluate import Evaluation
from tutelage.pictures import gif, write
from tutelage.runs.levels import gallery, top_levels

SUITES = {
    "fresh": "new mazes of the training size",
    "perfect-s": "9x9 mazes with a single way",
    "FourRooms": "17x17, four rooms with doors",
}
EPISODES = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", default="4M", help="environment steps to train for (default 4M)")
    parser.add_argument("--seed", default="0", help="seed of all randomness (default 0)")
    options = parser.parse_args()

    # A preset, changed by the same dotted names that the command line takes.
    settings = tutelage.preset("maze", "accel", "small")
    settings = tutelage.override(settings, {"train.steps": options.steps, "train.seed": options.seed})
    path = Path("runs/demo")
    if path.exists():
        path = Path(f"runs/demo-{datetime.now():%Y%m%d-%H%M%S}")

    print(
        f"ACCEL on 7x7 mazes for {settings.train.steps:,} steps: a few minutes on two cores, the first of them spent on"
    )
    print(f"compiling. The run goes to {path}.", flush=True)
    domain = tutelage.build_domain(settings)
    trainer = tutelage.build(settings, domain)
    agent = trainer.learner.agent
    untrained = jax.tree.map(lambda x: x[0], trainer.init(settings.train.seed).students.agent)
    before = {name: tutelage.evaluate(agent, untrained, domain.suites[name], EPISODES) for name in SUITES}

    began = time.monotonic()
    with tutelage.ProgressLine(pause=10) as progress:
        run = tutelage.train(settings, path, progress, domain=domain)
    if not run.finished:
        print(f"Stopped. Go on with: tutelage resume {path}")
        return 130
    print(f"Trained in {time.monotonic() - began:.0f} s.\n")

    after = {name: run.evaluate(name, EPISODES) for name in SUITES}
    print(f"{f'Solved, of {EPISODES} held-out episodes':<44} before  after")
    for name, text in SUITES.items():
        print(f"  {name:<10} {text:<32}{before[name].solved_rate:6.2f} {after[name].solved_rate:6.2f}")

    hardest = top_levels(run, 18)
    gallery(run, hardest, path / "hardest-levels.png")
    how = animate(run, after, path / "episode.gif")
    print(f"""
Look at
  {path}/hardest-levels.png  the {len(hardest)} levels that the teacher values most; it started from empty rooms
  {path}/episode.gif         {how}
  {path}/metrics.jsonl       how training went
or go on with
  tutelage show {path}
  tutelage eval {path} --suite perfect-s
  tutelage levels {path}""")
    return 0


def animate(run: tutelage.Run, results: Mapping[str, Evaluation], path: Path) -> str:
    """Draw a solved episode of the most maze-like suite that has one: of the first few, that with the longest way."""
    name = next((name for name in ("perfect-s", "fresh") if results[name].tasks[0].solved.any()), "fresh")
    (task,) = run.domain.suites[name].tasks
    solved = results[name].tasks[0].solved
    numbers = np.flatnonzero(solved)[:20] if solved.any() else [0]
    episodes = [tutelage.record(run.agent, run.student(), task, number=int(number)) for number in numbers]

    def way(episode: tutelage.Episode) -> float:
        return float(run.domain.levels.metrics(episode.level.level)["path"])

    chosen = max(episodes, key=way)
    viewer = run.domain.viewer
    if viewer and viewer.frames:
        write(path, gif(viewer.frames(chosen.level, chosen.states), viewer.pace))
    end = "reaches the goal" if chosen.total > run.domain.rules.success else "does not reach the goal"
    steps = f"{way(chosen):.0f} cells away, in {chosen.length} steps"
    return f"the student on a maze of {name} that it never saw: {end}, {steps}"


if __name__ == "__main__":
    raise SystemExit(main())
