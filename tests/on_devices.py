"""A program for the tests of several devices: JAX decides how many there are when it starts, so this runs by itself.

Trains each method on each number of devices for a few iterations and leaves all states and reports in ``OUT``, as
``METHOD-DEVICES.npz``, and the compiled program as ``METHOD-DEVICES.hlo``: ``on_devices.py OUT METHOD:1,2,4 ...``
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import tutelage
from tutelage.rollout import JaxCollector

gc.set_threshold(200_000, 20, 20)  # as in conftest.py

ITERATIONS = 6
FAST_TO_COMPILE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
TINY = {
    "env.size": "5",
    "env.view": "3",
    "env.blocks": "3",
    "env.max_steps": "12",
    "network.width": "16",
    "encoder.filters": "2",
    "ppo.epochs": "2",
    "ppo.minibatches": "1",
    "train.levels": "8",
    "train.rollout": "16",
    "train.steps": str(ITERATIONS * 8 * 16),
}
REPLAY = {"replay.capacity": "12", "replay.min_fill": "0.5"}
CHANGES = {
    "dr": {"network.core": "none"},
    "robust-plr": {**REPLAY, "replay.rate": "0.7", "ppo.minibatches": "2"},
    "accel": REPLAY,
    "paired": {"network.core": "none", "teacher.encoder.filters": "4", "teacher.head": "4"},
}


class WatchedState(NamedTuple):
    inner: Any
    proposal: Any
    rollout: Any


@dataclass(frozen=True)
class Watched:
    """A curriculum that remembers the last proposal and how it was played."""

    inner: Any
    played: Any
    """The shapes of a rollout."""

    def init(self, key: Any) -> WatchedState:
        inner = self.inner.init(key)
        proposal = jax.eval_shape(self.inner.propose, key, key, inner)[1]
        return WatchedState(inner, *jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), (proposal, self.played)))

    def propose(self, key: Any, branch_key: Any, state: WatchedState) -> Any:
        inner, proposal = self.inner.propose(key, branch_key, state.inner)
        return WatchedState(inner, proposal, state.rollout), proposal

    def observe(self, key: Any, state: WatchedState, proposal: Any, rollout: Any, students: Any) -> Any:
        inner, info = self.inner.observe(key, state.inner, proposal, rollout, students)
        return WatchedState(inner, proposal, rollout._replace(obs=())), info


def plain_trainer(method: str, devices: int) -> tutelage.Trainer:
    changes = TINY | CHANGES[method] | {"train.devices": str(devices)}
    return tutelage.build(tutelage.override(tutelage.preset("maze", method, "small"), changes))


@cache
def played(method: str) -> Any:
    """The shapes of a rollout, which are those of one device."""
    made = plain_trainer(method, 1)

    def play(key: Any) -> Any:
        state = made.init(0)
        levels = made.curriculum.propose(key, key, state.curriculum)[1].levels
        return JaxCollector(made.domain.env, made.learner.agent, made.rollout)(key, state.students.agent, levels)

    return jax.eval_shape(play, jax.random.key(0))._replace(obs=())


def trainer(method: str, devices: int) -> tutelage.Trainer:
    made = plain_trainer(method, devices)
    return replace(made, curriculum=Watched(made.curriculum, played(method)))


def main(out: Path, jobs: list[str]) -> None:
    for job in jobs:
        method, numbers = job.split(":")
        start = None
        for number in map(int, numbers.split(",")):
            made = trainer(method, number)
            if start is None:
                start = jax.jit(made.init, static_argnums=0, compiler_options=FAST_TO_COMPILE)(0)
            state = made.devices.replicate(start)
            step = jax.jit(made.step).lower(state).compile(FAST_TO_COMPILE)
            history = []
            for _ in range(ITERATIONS):
                state, report = step(state)
                history.append(jax.device_get({"state": state._replace(key=(), branch_key=()), "report": report}))
            (out / f"{method}-{number}.hlo").write_text(step.as_text())
            leaves = jax.tree_util.tree_leaves_with_path(history)
            named = {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}
            np.savez(out / f"{method}-{number}.npz", **named)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
