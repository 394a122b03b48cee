"""Procgen steps a second with the student in the loop: ours, a plain loop in one process, and the simulator alone.

usage: python procgen_speed.py [--game bigfish] [--preset fast] [--levels 32] [--steps 256] [--rounds 3]

All three in turns, in one run. The plain loop has the same student, compiled the same way, acts for all games at once,
steps them with one call in its own process, and learns by the same compiled update. The simulator alone plays random
actions. Then where the time of an iteration goes.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tutelage
from tutelage.envs.procgen.images import averaged
from tutelage.envs.procgen.settings import ProcgenSettings
from tutelage.envs.procgen.states import build, make
from tutelage.hosts.play import compiled_agent
from tutelage.machine import cores
from tutelage.types import Rollout


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = jax.block_until_ready(work())
    return time.perf_counter() - began, result


def alone(game: str, mode: str, levels: int, steps: int) -> None:
    """The simulator with random actions."""
    env, rng = make(game, mode, levels), np.random.default_rng(0)
    for _ in range(steps):
        env.act(rng.integers(0, 15, levels).astype(np.int32))
        env.observe()
    env.close()


class PlainLoop:
    """Students and games in one process, one after the other."""

    def __init__(self, trainer: Any, env: ProcgenSettings) -> None:
        self.trainer, self.settings = trainer, env
        self.noise, self.act, self.value = compiled_agent(trainer.learner.agent, 1, trainer.levels)
        self.env = make(env.game, env.mode, trainer.levels)

    def seen(self, observed: dict[str, np.ndarray]) -> np.ndarray:
        return averaged(observed["rgb"], self.settings.resolution)[None]

    def __call__(self, students: Any, seeds: list[int]) -> Rollout:
        steps, levels, env = self.trainer.rollout, self.trainer.levels, self.env
        states = [build(self.settings.game, self.settings.mode, seed) for seed in seeds]
        for slot, state in enumerate(states):
            env.call_c_func("set_state", slot, state, len(state))
        noise = np.asarray(self.noise(jax.random.split(jax.random.key(0), steps)))
        obs, first, log = self.seen(env.observe()[1]), np.ones((1, levels), bool), []
        for t in range(steps):
            _, chosen = self.act(students, noise[t], (), obs, first)
            env.act(np.asarray(chosen.action)[0])
            reward, observed, ended = env.observe()
            log.append((obs, *(np.asarray(x) for x in chosen), reward[None], ended[None], first))
            for slot in np.flatnonzero(ended):
                env.call_c_func("set_state", int(slot), states[slot], len(states[slot]))
            observed = env.observe()[1] if ended.any() else observed
            obs, first = self.seen(observed), ended[None]
        last = np.asarray(self.value(students, (), obs, first))
        obs, action, log_prob, policy, value, reward, done, first = (
            np.stack(x, axis=1) for x in zip(*log, strict=True)
        )
        following = np.concatenate([value[:, 1:], last[:, None]], axis=1)
        never = np.zeros_like(done)
        return Rollout(obs, action, log_prob, policy, value, following, reward, done, never, done, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="bigfish")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--levels", type=int, default=32)
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    changes = {"env.game": options.game, "train.levels": str(options.levels), "train.rollout": str(options.steps)}
    settings = tutelage.override(tutelage.preset("procgen", "dr", options.preset), changes)
    trainer = tutelage.build(settings)
    state = trainer.init(0)
    curriculum, proposal = jax.jit(trainer.propose)(state)
    seeds = np.asarray(proposal.levels.seed[0]).tolist()
    finish, key = jax.jit(trainer.finish), jax.random.key(0)
    plain, students = PlainLoop(trainer, settings.env), state.students.agent
    sides = {
        "simulator alone": lambda: alone(options.game, settings.env.mode, options.levels, options.steps),
        "plain loop": lambda: plain(students, seeds),
        "ours": lambda: trainer.collector(key, students, proposal.levels),
    }
    rollout = jax.tree.map(jnp.asarray, [side() for side in sides.values()][-1])  # all are warm now

    def learn() -> Any:
        return finish(state, curriculum, proposal, rollout)

    sides["learning"] = learn
    learn()
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, side in sides.items():
            spent[name].append(timed(side)[0])
    count = options.levels * options.steps
    middle = {name: statistics.median(times) for name, times in spent.items()}
    print(f"{options.game}, {options.preset}, {options.levels} levels of {options.steps} steps, {len(cores())} cores")
    for name, seconds in middle.items():
        print(f"{name:<16} {1e3 * seconds:>8.0f} ms  {count / seconds:>8,.0f} steps/s")
    for name in ("plain loop", "ours"):
        whole = middle[name] + middle["learning"]
        share = middle["learning"] / whole
        print(f"{name}, with learning: {count / whole:,.0f} steps/s, learning is {share:.0%} of it")
    ratios = [a / b for a, b in zip(spent["plain loop"], spent["ours"], strict=True)]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"collecting, ours over the plain loop: {statistics.median(ratios):.2f} ({spread})")


if __name__ == "__main__":
    main()
