"""Time jaxued's level sampler as `../buffer.py` times ours, a turn whenever it is told to; see `../turns.py`.

Runs in an environment of its own (`jaxued-requirements.txt`).
usage: python jaxued_buffer.py CAPACITY
"""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxued.level_sampler import LevelSampler

sys.path.append(str(Path(__file__).resolve().parent.parent))

from turns import take_turns

BATCH = 32


def mazes(rng: np.random.Generator, number: int) -> dict:
    return {
        "walls": jnp.array(rng.random((number, 13, 13)) < 0.3),
        "start": jnp.array(rng.integers(0, 13, (number, 2)), jnp.int32),
        "direction": jnp.array(rng.integers(0, 4, number), jnp.int32),
        "goal": jnp.array(rng.integers(0, 13, (number, 2)), jnp.int32),
    }


def warm(capacity: int):
    """A function that takes one turn, in milliseconds: `sample` draws 32 levels, `new` inserts 32 new ones.

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

    def turn(seed: float) -> list:
        nonlocal state
        levels, scores = mazes(rng, BATCH), jnp.array(rng.random(BATCH), jnp.float32)
        jax.block_until_ready((levels, scores, state))
        began = time.perf_counter()
        state, _ = jax.block_until_ready(draw(state, jax.random.PRNGKey(int(seed))))
        drawn = time.perf_counter()
        state, _ = jax.block_until_ready(insert(state, levels, scores))
        return [{"sample": 1000 * (drawn - began), "new": 1000 * (time.perf_counter() - drawn)}]

    turn(0)
    return turn


if __name__ == "__main__":
    take_turns(warm(int(sys.argv[1])))
