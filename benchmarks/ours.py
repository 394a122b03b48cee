"""Time Tutelage on the settings of `peers/minimax.py`, a turn whenever it is told to; see `turns.py`.

usage: python ours.py {dr,plr,robust_plr,accel} [--devices N]

With --devices the CPU is cut into N devices, as `tutelage train --devices N` does.
"""

import argparse
import math
from collections.abc import Callable

import jax
import numpy as np
from turns import train_in_turns

import tutelage
from tutelage.runs.processes import ALONE, start

WARM_UPDATES = 2
# Methods that learn from every batch cost the same with any buffer, so nothing has to be filled for them.
CHANGES = {
    "robust_plr": {"replay.score": "maxmc", "replay.min_fill": "1"},
    "accel": {
        "replay.score": "maxmc",
        "replay.min_fill": "1",
        "evolve.start": "random",
        "evolve.edits": "20",
        "evolve.parents": "4",
    },
}


def warm(method: str, devices: int) -> Callable[[], tuple[int, int]]:
    """A function that trains for as long as `tutelage train` does at a time, ten iterations.

    It returns (environment steps, PPO updates). Every step that is played counts, learned from or not; an update is
    five epochs. As for the peer: 13x13 maze, 60 walls, 32 levels x 256 steps, LSTM-256, five epochs, one minibatch, a
    buffer of 4,000 that is full by now, replay probability 0.5 (0.8 and 20 edits for ACCEL), MaxMC, and two updates of
    warm-up. Unlike for the peer, the metrics of every level are computed: they are part of every run.
    """
    start(ALONE, devices)
    changes = CHANGES.get(method, {}) | {"train.devices": str(devices)}
    settings = tutelage.override(tutelage.preset("maze", method.replace("_", "-"), "thesis-accel"), changes)
    trainer = tutelage.build(settings)
    state = trainer.init(0)
    number = settings.train.log_every
    run = tutelage.compiled(trainer, number)

    def work() -> tuple[int, int]:
        nonlocal state
        state, log = run(state, number)
        return number * trainer.students * trainer.steps_per_iteration, int(np.nansum(jax.device_get(log.learned)))

    fill = math.ceil(4000 / settings.train.levels) if method in CHANGES else 0
    for _ in range(math.ceil(fill / number)):
        work()
    updates = 0
    while updates < WARM_UPDATES:
        updates += work()[1]
    return work


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("method", choices=["dr", "plr", "robust_plr", "accel"])
    parser.add_argument("--devices", type=int, default=1)
    given = parser.parse_args()
    train_in_turns(warm(given.method, given.devices))
