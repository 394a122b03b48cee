"""A small study, and runs that only pretend to train."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutelage.runs import grid, study
from tutelage.runs.engines import Local
from tutelage.runs.grid import Study
from tutelage.runs.study import State, StudyRun

ITERATIONS = 12
TEXT = """
environment = "matrix"
methods = ["dr", "plr"]
seeds = [0, 1]
steps = 192

[settings]
train.levels = 4
train.rollout = 4
train.log-every = 2
"""
FAKE = f"""
import os, sys, time, json, pathlib
run = pathlib.Path(next(word for word in sys.argv if "/" in word))
name = "/".join(run.parts[-2:])
print(name, *sys.argv[1:], flush=True)
if name in os.environ.get("FAKE_FAIL", "").split():
    sys.exit("something broke")
if name in os.environ.get("FAKE_KILL", "").split():
    os.kill(os.getpid(), 9)
with (run / "metrics.jsonl").open("a") as file:
    file.write(json.dumps({{"iteration": 6, "steps": 96}}) + chr(10))
if name in os.environ.get("FAKE_WAIT", "").split():
    while os.read(0, 100): pass
    sys.exit(130)
time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
solved = int(name[-1]) / 2
task = {{"solved": solved, "return": 1.0, "episodes": 4}}
record = {{"iteration": {ITERATIONS}, "steps": 192, "suite": "columns", "seed": 0, "student": 0, "greedy": False}}
record |= {{"solved": solved, "return": 1.0, "tasks": {{"first": task}}}}
(run / "evaluations.jsonl").write_text(json.dumps(record) + chr(10))
(run / "checkpoints" / "{ITERATIONS:09d}.npz").touch()
"""
"""In place of a run: notes how it was called, and does what it is told by name."""
COMMAND = (sys.executable, "-S", "-c", FAKE)


class Watcher:
    """Notes what happens, and may do something at every look."""

    def __init__(self, at_tick: Any = lambda states: None) -> None:
        self.heard: list[tuple[str, State, str]] = []
        self.most = 0
        self.at_tick = at_tick

    def changed(self, run: StudyRun, state: State, note: str = "") -> None:
        self.heard.append((run.plan.name, state, note))

    def tick(self, states: Mapping[StudyRun, State]) -> None:
        self.most = max(self.most, sum(state is State.RUNNING for state in states.values()))
        self.at_tick(states)

    def names(self, state: State) -> set[str]:
        return {name for name, heard, _ in self.heard if heard is state}


def parsed(text: str = TEXT) -> Study:
    return grid.parse(text, "study.toml")


def run(path: Path, text: str = TEXT, slots: int = 2, watcher: Watcher | None = None) -> dict[str, State]:
    with study.opened(parsed(text), path) as runs:
        states = study.run_all(path, runs, Local(slots, COMMAND), watcher or Watcher(), pause=0.02)
    return {run.plan.name: state for run, state in states.items()}


ALL = {"dr/s0", "dr/s1", "plr/s0", "plr/s1"}
