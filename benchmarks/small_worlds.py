"""Steps a second of the small worlds: alone, with a student that learns, and beside MiniGrid and MiniHack themselves.

usage: python small_worlds.py [--rounds 5] [--seconds 2]

All take turns in one process, on one core if it is given one (`taskset -c 0`). Alone, actions are random. In JAX 1,024
levels are played at once; others are played one after the other. With a student, it is the preset `fast` under DR:
playing and learning together.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tutelage
from tutelage.envs.minihack.engine import EAT, KICK, MOVES
from tutelage.envs.minihack.install import minihack_base
from tutelage.hosts.fleet import close_all
from tutelage.hosts.play import by_name

LEVELS, STEPS, PIECE = 1024, 64, 500
IN_JAX = ("minigrid", "lava", "fruit")
SIMULATED = ("minihack-lava", "minihack-fruit")

Work = Callable[[], int]
"""Does a piece of work and returns how many steps it was."""


def domain_of(name: str) -> Any:
    return tutelage.build_domain(tutelage.preset(name, "dr", "fast"))


def in_jax(name: str) -> Work:
    """Random actions on many levels at once; who is done starts again."""
    domain = domain_of(name)
    env = domain.env
    levels = jax.jit(jax.vmap(domain.levels.sample))(jax.random.split(jax.random.key(0), LEVELS))

    def play(key: Any, levels: Any) -> Any:
        prepared = jax.vmap(env.prepare)(levels)
        first = jax.vmap(env.reset)(jax.random.split(key, LEVELS), prepared)[0]

        def step(carry: Any, key: Any) -> Any:
            state, total = carry
            k_act, k_step = jax.random.split(key)
            action = jax.random.randint(k_act, (LEVELS,), 0, env.action_space.n)
            state, ts = jax.vmap(env.step)(jax.random.split(k_step, LEVELS), state, action, prepared)
            state = jax.tree.map(
                lambda new, old: jnp.where(ts.done.reshape(-1, *[1] * (new.ndim - 1)), new, old), first, state
            )
            # Everything an agent would see is used, so that nothing is optimised away.
            seen = sum(x.astype(jnp.float32).sum() for x in jax.tree.leaves(ts.obs))
            return (state, total + ts.reward.sum() + seen), None

        return jax.lax.scan(step, (first, jnp.float32(0)), jax.random.split(key, STEPS))[0][1]

    run, seeds = jax.jit(play), iter(range(10**9))

    def work() -> int:
        jax.block_until_ready(run(jax.random.key(next(seeds)), levels))
        return LEVELS * STEPS

    return work


def some_levels(name: str, number: int) -> list[dict[str, np.ndarray]]:
    levels = jax.device_get(jax.vmap(domain_of(name).levels.sample)(jax.random.split(jax.random.key(0), number)))
    return [{key: value[i] for key, value in by_name(levels).items()} for i in range(number)]


def simulated(name: str) -> Work:
    """One of our simulators, as workers have them, on 32 levels in turn."""
    simulator = domain_of(name).env.maker()
    levels, random, seeds = some_levels(name, 32), np.random.default_rng(0), iter(range(10**9))

    def restart() -> None:
        seed = next(seeds)
        simulator.reset(seed=seed, options={"level": levels[seed % len(levels)]})

    for _ in levels:
        restart()  # compiles them all

    def work() -> int:
        for action in random.integers(simulator.action_space.n, size=PIECE).tolist():
            _, _, terminated, truncated, _ = simulator.step(action)
            if terminated or truncated:
                restart()
        return PIECE

    return work


def minigrid() -> Work:
    """MiniGrid's own rooms, seen whole."""
    from minigrid.envs import MultiRoomEnv
    from minigrid.wrappers import FullyObsWrapper

    return gymnasium(FullyObsWrapper(MultiRoomEnv(minNumRooms=1, maxNumRooms=4, maxRoomSize=7)), 7)


def minihack() -> Work:
    """MiniHack's own class on one level of ours, which it compiles once."""
    minihack_base()
    from minihack import MiniHackNavigation

    simulator = domain_of("minihack-fruit").env.maker()
    with closing(simulator):
        description = simulator.task.describe(some_levels("minihack-fruit", 1)[0])
    env = MiniHackNavigation(
        des_file=description,
        actions=(*MOVES, KICK, EAT),
        autopickup=False,
        max_episode_steps=250,
        observation_keys=("glyphs", "blstats"),
    )
    return gymnasium(env, 10)


def gymnasium(env: Any, actions: int) -> Work:
    random = np.random.default_rng(0)
    env.reset(seed=0)

    def work() -> int:
        for action in random.integers(actions, size=PIECE).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return PIECE

    return work


def student(name: str) -> Work:
    """Playing and learning, DR under the preset `fast`, with one worker where there are any."""
    changes = {"env.workers": "1"} if name in SIMULATED else {}
    trainer = tutelage.build(tutelage.override(tutelage.preset(name, "dr", "fast"), changes))
    run, state = tutelage.compiled(trainer, 1), trainer.init(0)

    def work() -> int:
        nonlocal state
        state, _ = run(state, 1)
        jax.block_until_ready(jax.tree.leaves(state))
        return trainer.levels * trainer.rollout

    return work


def sides() -> Iterator[tuple[str, Work]]:
    for name in IN_JAX:
        yield f"{name} alone", in_jax(name)
    for name in SIMULATED:
        yield f"{name} alone", simulated(name)
    yield "MiniGrid's own", minigrid()
    yield "MiniHack's own", minihack()
    for name in (*IN_JAX, *SIMULATED):
        yield f"{name} with a student", student(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    works = dict(sides())
    for work in works.values():
        for _ in range(2):  # a second call may compile again
            work()
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):
        for name, work in works.items():
            began, steps = time.perf_counter(), 0
            while time.perf_counter() - began < options.seconds:
                steps += work()
            rates[name].append(steps / (time.perf_counter() - began))
    for name, found in rates.items():
        print(f"{name:34s} {statistics.median(found):12,.0f} steps/s ({min(found):,.0f}-{max(found):,.0f})")
    close_all()


if __name__ == "__main__":
    main()
