"""Time Tutelage on the settings of `peers/minimax.py`; print one JSON line of iterations.

usage: python ours.py {dr,plr,robust_plr,accel} SECONDS [--devices N]

With --devices the CPU is cut into N devices, as `tutelage train --devices N` does.
"""

import argparse
import json
import math
import time

import jax
import numpy as np

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


def measure_ours(method: str, seconds: float, devices: int = 1) -> list[dict[str, float]]:
    """Train for about `seconds` and return an entry for every iteration.

    An entry holds `steps` (every environment step played, learned from or not), `seconds` (wall time, read when the
    device has finished) and `updates` (PPO updates, of five epochs each). As for the peer: 13x13 maze, 60 walls, 32
    levels x 256 steps, LSTM-256, five epochs, one minibatch, a buffer of 4,000 that is full before the clock starts,
    replay probability 0.5 (0.8 and 20 edits for ACCEL), MaxMC, and two updates of warm-up. Unlike for the peer, the
    metrics of every level are computed: they are part of every run.
    """
    start(ALONE, devices)
    changes = CHANGES.get(method, {}) | {"train.devices": str(devices)}
    settings = tutelage.override(tutelage.preset("maze", method.replace("_", "-"), "thesis-accel"), changes)
    trainer = tutelage.build(settings)
    state = trainer.init(0)
    run = tutelage.compiled(trainer, 8)

    def advance(number: int) -> int:
        nonlocal state
        state, log = run(state, number)
        return int(np.nansum(jax.device_get(log["learned"])))

    fill = math.ceil(4000 / settings.train.levels) if method in CHANGES else 0
    for _ in range(math.ceil(fill / 8)):
        advance(8)
    updates = 0
    while updates < WARM_UPDATES:
        updates += advance(1)

    iterations: list[dict[str, float]] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        learned = advance(1)
        taken = time.perf_counter() - began
        iterations.append({"steps": trainer.steps_per_iteration, "seconds": taken, "updates": learned})
    return iterations


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("method", choices=["dr", "plr", "robust_plr", "accel"])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--devices", type=int, default=1)
    given = parser.parse_args()
    print(json.dumps(measure_ours(given.method, given.seconds, given.devices)))
