"""Time jaxued's level sampler as `../buffer.py` times ours; print one JSON line, milliseconds.

Runs in an environment of its own (`jaxued-requirements.txt`).
usage: python jaxued_buffer.py CAPACITY
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jaxued.level_sampler import LevelSampler

BATCH, TURNS = 32, 5


def mazes(rng: np.random.Generator, number: int) -> dict:
    return {
        "walls": jnp.array(rng.random((number, 13, 13)) < 0.3),
        "start": jnp.array(rng.integers(0, 13, (number, 2)), jnp.int32),
        "direction": jnp.array(rng.integers(0, 4, number), jnp.int32),
        "goal": jnp.array(rng.integers(0, 13, (number, 2)), jnp.int32),
    }


def measure(capacity: int) -> dict:
    """The fastest of some turns: `sample` draws 32 levels, `new` inserts 32 new ones, `both` is their sum.

    As ours: a full sampler, by rank, a temperature and a staleness of 0.3, duplicates refused, the state donated.
    """
    rng = np.random.default_rng(0)
    sampler = LevelSampler(
        capacity,
        staleness_coeff=0.3,
        prioritization="rank",
        prioritization_params={"temperature": 0.3},
        duplicate_check=True,
    )
    levels = mazes(rng, capacity)
    state = sampler.initialize({name: array[0] for name, array in levels.items()})
    state |= {
        "levels": levels,
        "scores": jnp.array(rng.random(capacity), jnp.float32),
        "timestamps": jnp.array(rng.permutation(capacity) + 1, jnp.int32),
        "size": jnp.int32(capacity),
        "episode_count": jnp.int32(capacity),
    }
    draw = jax.jit(lambda state, key: sampler.sample_replay_levels(state, key, BATCH), donate_argnums=0)
    insert = jax.jit(lambda state, levels, scores: sampler.insert_batch(state, levels, scores), donate_argnums=0)
    times = {"sample": [], "new": []}
    for turn in range(TURNS + 1):
        levels, scores = mazes(rng, BATCH), jnp.array(rng.random(BATCH), jnp.float32)
        jax.block_until_ready((levels, scores, state))
        began = time.perf_counter()
        state, _ = jax.block_until_ready(draw(state, jax.random.PRNGKey(turn)))
        drawn = time.perf_counter()
        state, _ = jax.block_until_ready(insert(state, levels, scores))
        times["sample"].append(1000 * (drawn - began))
        times["new"].append(1000 * (time.perf_counter() - drawn))
    fastest = {name: min(figures[1:]) for name, figures in times.items()}
    return {name: round(figure, 2) for name, figure in (fastest | {"both": sum(fastest.values())}).items()}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
