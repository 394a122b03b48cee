"""Time the maze alone, with random actions; print one JSON line of steps a second by size and levels in parallel.

usage: python environment.py
"""

import json
import time
from typing import Any

import jax
import jax.numpy as jnp

import tutelage

STEPS = 256


def steps_per_second(size: int, levels: int) -> list[float]:
    """Steps a second of ``levels`` mazes, each started anew where it ends: five times."""
    changes = {"env.size": str(size), "env.blocks": str(size * size // 3)}
    domain = tutelage.build_domain(tutelage.override(tutelage.preset("maze", "dr"), changes))
    env: Any = domain.env
    batch = jax.vmap(domain.levels.sample)(jax.random.split(jax.random.key(0), levels))

    def play(key: Any, batch: Any) -> Any:
        prepared = jax.vmap(env.prepare)(batch)
        start = jax.vmap(env.reset)(jax.random.split(key, levels), prepared)[0]

        def step(carry: Any, key: Any) -> Any:
            state, total = carry
            k_act, k_step = jax.random.split(key)
            action = jax.random.randint(k_act, (levels,), 0, 3)
            state, ts = jax.vmap(env.step)(jax.random.split(k_step, levels), state, action, prepared)
            state = jax.tree.map(
                lambda new, old: jnp.where(ts.done.reshape(-1, *[1] * (new.ndim - 1)), new, old), start, state
            )
            # Everything an agent would see is used, so that nothing is optimised away.
            seen = sum(x.astype(jnp.float32).sum() for x in jax.tree.leaves(ts.obs))
            return (state, total + ts.reward.sum() + seen), None

        return jax.lax.scan(step, (start, jnp.float32(0)), jax.random.split(key, STEPS))[0][1]

    run = jax.jit(play)
    jax.block_until_ready(run(jax.random.key(1), batch))
    rates = []
    for seed in range(5):
        began = time.perf_counter()
        jax.block_until_ready(run(jax.random.key(seed), batch))
        rates.append(STEPS * levels / (time.perf_counter() - began))
    return rates


if __name__ == "__main__":
    sizes = [(13, 32), (13, 1024), (51, 1024)]
    print(json.dumps([{"size": s, "levels": n, "steps_per_second": steps_per_second(s, n)} for s, n in sizes]))
