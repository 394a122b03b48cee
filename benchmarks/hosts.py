"""Walker steps a second: one process that steps plain environments, and students in worker processes, in turns.

usage: python hosts.py [--levels 16] [--steps 500] [--rounds 5]

The plain process steps one environment after the other on the same levels, with the actions that our student took, and
without a policy. Ours has the policy in the loop: a student's compiled step for all levels, one worker a core. Then
where the time of a step goes.
"""

import argparse
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import jax
import numpy as np

import tutelage
from tutelage.envs.walker.simulator import Walker
from tutelage.hosts.fleet import cores, hire
from tutelage.hosts.play import by_name, compiled_student


def plain(levels: Any, steps: int, actions: np.ndarray) -> float:
    """Steps a second of one process, on the same levels and with the same actions as ours."""
    walkers = [Walker() for _ in range(actions.shape[1])]
    options = [{"level": {name: value[i] for name, value in by_name(levels).items()}} for i in range(len(walkers))]
    for walker, option in zip(walkers, options, strict=True):
        walker.reset(options=option)
    began = time.perf_counter()
    for t in range(steps):
        for i, walker in enumerate(walkers):
            _, _, terminated, truncated, _ = walker.step(actions[t, i])
            if terminated or truncated:
                walker.reset(options=options[i])
    return steps * len(walkers) / (time.perf_counter() - began)


def profile(trainer: Any, state: Any, levels: Any, steps: int) -> dict[str, float]:
    """Milliseconds of a step: the student, giving orders, waiting for the simulators."""
    act, _ = compiled_student(trainer.student, 1)
    named = {name: value[0] for name, value in by_name(levels).items()}
    number = trainer.levels
    fleet = hire(trainer.env, named, number)
    obs, first, memory = fleet.reset(named, np.arange(number))[None], np.ones((1, number), bool), ()
    act(state.students, jax.random.key(0), np.int32(0), memory, obs, first)  # compiles
    spent, key = dict.fromkeys(("student", "orders", "simulators"), 0.0), jax.random.key(0)
    for t in range(steps):
        began = time.perf_counter()
        memory, decision = act(state.students, key, np.int32(t), memory, obs, first)
        action = np.asarray(decision.action)
        acted = time.perf_counter()
        fleet.send(action[0])
        sent = time.perf_counter()
        answer = fleet.receive()
        done = time.perf_counter()
        obs, first = answer["obs"][None], (answer["terminated"] | answer["truncated"])[None]
        for name, seconds in zip(spent, (acted - began, sent - acted, done - sent), strict=True):
            spent[name] += seconds
    return {name: 1000 * seconds / steps for name, seconds in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--levels", type=int, default=16)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    changes = {"train.levels": str(options.levels), "train.rollout": str(options.steps), "ppo.minibatches": "1"}
    trainer = tutelage.build(tutelage.override(tutelage.preset("walker", "accel"), changes))
    state = trainer.init(0)
    _, proposal = jax.jit(trainer.propose)(state)
    levels = jax.device_get(jax.tree.map(lambda x: x[0], proposal.levels))
    rollout = trainer.collector(jax.random.key(0), state.students, proposal.levels)  # compiles, and starts the workers
    actions = np.clip(np.asarray(rollout.action)[0], -1, 1)
    ratios = []
    # In a process of its own: the many objects of a simulator are a burden for whoever has them.
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    pool.submit(plain, levels, 10, actions).result()
    for _ in range(options.rounds):
        alone = pool.submit(plain, levels, options.steps, actions).result()
        began = time.perf_counter()
        trainer.collector(jax.random.key(0), state.students, proposal.levels)
        ours = options.levels * options.steps / (time.perf_counter() - began)
        ratios.append(ours / alone)
        print(f"plain {alone:,.0f} steps/s, ours {ours:,.0f} steps/s, ratio {ratios[-1]:.2f}", flush=True)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"ratio {statistics.median(ratios):.2f} ({spread}), {len(cores())} cores, {options.levels} levels")
    times = ", ".join(f"{name} {value:.2f}" for name, value in profile(trainer, state, proposal.levels, 300).items())
    print(f"milliseconds of a step of all levels: {times}")


if __name__ == "__main__":
    main()
