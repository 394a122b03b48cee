"""Time one seed alone and several as one program, in turns; print steps a second of all seeds together.

Steps a second of processor time say more on a machine that is busy with something else.

usage: python seeds.py [SEEDS] [TURNS]
"""

import sys
import time

import jax
import numpy as np

import tutelage
from tutelage.seeds import stack

ITERATIONS = 16  # a turn; when to replay is shared, so that both learn at the same ones


def measure_seeds(seeds: int, turns: int) -> None:
    """Robust PLR at the preset ``small``, with a buffer that needs no filling; the first turn compiles."""
    settings = tutelage.override(tutelage.preset("maze", "robust-plr", "small"), {"replay.min_fill": "0.1"})
    trainer = tutelage.build(settings)
    states = {n: stack([trainer.init(seed, shared_seed=0) for seed in range(n)]) for n in (1, seeds)}
    programs = {n: tutelage.compiled(trainer, ITERATIONS, n) for n in states}
    for turn in range(turns + 1):
        for n, program in programs.items():
            began, busy = time.perf_counter(), time.process_time()
            states[n], log = program(states[n], ITERATIONS)
            learned = float(np.mean(jax.device_get(log.learned)))
            seconds, busy = time.perf_counter() - began, time.process_time() - busy
            steps = n * ITERATIONS * trainer.steps_per_iteration
            if turn:
                print(
                    f"turn {turn}: {n} seed(s), {steps / seconds:,.0f} steps a second, {steps / busy:,.0f} a second of "
                    f"processor time, {learned:.2f} of iterations learn"
                )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    measure_seeds(*(given + [4, 6][len(given) :]))
