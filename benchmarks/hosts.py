"""Walker steps a second: one process that steps plain environments, and students in worker processes, in turns.

usage: python hosts.py [--levels 16] [--steps 500] [--rounds 5]

The plain process steps Gymnasium's own BipedalWalker, one environment after the other, with the actions that our
student took, and without a policy. Ours plays the levels that are the same terrain, so both play the same episodes, and
has the policy in the loop: a student's compiled step for all levels, one worker a core. Then where the time of a step
goes when the student and the simulators take turns.
"""

import argparse
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import Box2D
import jax
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import BipedalWalker

import tutelage
from tutelage.envs.walker.level import make
from tutelage.hosts.fleet import get_fleet
from tutelage.hosts.play import by_name, compiled_agent
from tutelage.machine import cores


def plain(steps: int, actions: np.ndarray) -> tuple[float, float]:
    """Steps a second of one process with the same actions as ours, and the sum of its rewards."""
    walkers = [BipedalWalker() for _ in range(actions.shape[1])]
    for seed, walker in enumerate(walkers):
        walker.reset(seed=seed)
    began, total = time.perf_counter(), 0.0
    for t in range(steps):
        for seed, walker in enumerate(walkers):
            _, reward, terminated, _, _ = walker.step(actions[t, seed])
            total += float(reward)
            if terminated:
                walker.world = Box2D.b2World()  # as ours: one that was used before gives other episodes
                walker.terrain = []
                walker.reset(seed=seed)
    return steps * len(walkers) / (time.perf_counter() - began), total


def profile(trainer: Any, state: Any, levels: Any, steps: int) -> dict[str, float]:
    """Milliseconds of a step: the student, giving orders, waiting for the simulators."""
    named = {name: value[0] for name, value in by_name(levels).items()}
    number = trainer.levels
    fleet = get_fleet(trainer.domain.env, named, number)
    draw, act, _ = compiled_agent(trainer.learner.agent, 1, number)
    noise = np.asarray(draw(jax.random.split(jax.random.key(0), steps)))
    obs, first, memory = fleet.reset(named, np.arange(number))[None], np.ones((1, number), bool), ()
    act(state.students.agent, noise[0], memory, obs, first)  # compiles
    spent = dict.fromkeys(("student", "orders", "simulators"), 0.0)
    for t in range(steps):
        began = time.perf_counter()
        memory, decision = act(state.students.agent, noise[t], memory, obs, first)
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
    each = [make(seed=seed) for seed in range(options.levels)]
    levels = jax.tree.map(lambda *x: np.stack(x)[None], *each)
    rollout = trainer.collector(jax.random.key(0), state.students.agent, levels)  # compiles, and starts the workers
    actions = np.clip(np.asarray(rollout.action)[0], -1, 1)
    ratios = []
    # In a process of its own: the many objects of a simulator are a burden for whoever has them.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(plain, 10, actions).result()
        for _ in range(options.rounds):
            alone, rewards = pool.submit(plain, options.steps, actions).result()
            began = time.perf_counter()
            rollout = trainer.collector(jax.random.key(0), state.students.agent, levels)
            ours = options.levels * options.steps / (time.perf_counter() - began)
            ratios.append(ours / alone)
            print(f"plain {alone:,.0f} steps/s, ours {ours:,.0f} steps/s, ratio {ratios[-1]:.2f}", flush=True)
            difference = abs(rewards - float(np.asarray(rollout.reward, np.float64).sum()))
            assert difference < 1e-2 * options.levels, f"the rewards differ by {difference}: other episodes"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"ratio {statistics.median(ratios):.2f} ({spread}), {len(cores())} cores, {options.levels} levels")
    times = ", ".join(f"{name} {value:.2f}" for name, value in profile(trainer, state, levels, 300).items())
    print(f"milliseconds of a step of all levels: {times}")


if __name__ == "__main__":
    main()
