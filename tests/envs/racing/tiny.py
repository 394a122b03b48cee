"""A small run of SAMPLR on icy tracks. As a program, on one and on two devices: ``tiny.py OUT``."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tutelage

ITERATIONS = 6
TINY = {
    "env.resolution": "48",
    "env.grey": "true",
    "env.frames": "1",
    "env.repeat": "4",
    "env.max_steps": "24",
    "encoder.kind": "small",
    "encoder.channels": "1",
    "encoder.features": "4",
    "network.width": "4",
    "network.head": "4",
    "ppo.epochs": "1",
    "ppo.minibatches": "2",
    "replay.capacity": "8",
    "replay.min_fill": "0.5",
    "replay.rate": "0.7",
    "replay.duplicates": "true",
    "train.levels": "4",
    "train.rollout": "8",
    "train.steps": str(ITERATIONS * 4 * 8),
    "train.suite": "Monaco",
    "train.episodes": "1",
    "train.evaluate_every": "100",
    "train.checkpoint_every": "2",
}


def settings(devices: int = 1) -> tutelage.Settings:
    """Icy tracks, four of them at a time, and episodes of six decisions."""
    return tutelage.override(tutelage.preset("racing", "samplr", "thesis-ice"), TINY | {"train.devices": str(devices)})


def some_iterations(trainer: tutelage.Trainer) -> Any:
    """From a first state to the last one and every report. The second argument is for ``vmap_seeds``."""
    return lambda state, _: jax.lax.scan(lambda state, _: trainer.step(state), state, None, ITERATIONS)


def main(out: Path) -> None:
    gc.set_threshold(200_000, 20, 20)  # as in conftest.py
    start = None
    for number in (1, 2):
        trainer = tutelage.build(settings(number))
        start = start or trainer.init(0)
        state, log = jax.jit(some_iterations(trainer))(trainer.devices.replicate(start), ())
        found = jax.device_get((state._replace(key=(), branch_key=()), log))
        leaves = jax.tree_util.tree_leaves_with_path(found)
        np.savez(out / f"{number}.npz", **{jax.tree_util.keystr(path): leaf for path, leaf in leaves})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
