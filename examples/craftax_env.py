"""Craftax-Classic with symbolic observations: survive, mine and craft in a world of 64x64 cells.

A level is a seed. Its world is generated when the level is prepared, once a rollout.

- A seed as level: the buffer holds four bytes a level, and sampling is free. But seeds cannot be edited, as a seed one
  higher is another world altogether. So this file has no `edit`, and ACCEL cannot be used.
- A world as level: let `sample` generate it, `reset` take it as it is, and `edit` change cells of its `map`. The buffer
  then holds 20 KB a level (the full Craftax: 0.25 MB, or 0.25 GB for a buffer of 1,000).

    pip install craftax
    tutelage train craftax_env.py robust-plr
"""

import jax
import jax.numpy as jnp
from craftax.craftax_classic.envs.craftax_symbolic_env import CraftaxClassicSymbolicEnvNoAutoReset
from craftax.craftax_classic.world_gen import generate_world

import tutelage

LIMIT = 1000  # the steps an episode may take
craftax = CraftaxClassicSymbolicEnvNoAutoReset()  # the other class restarts by itself
# Craftax reports a death and its time limit as one thing. So its limit is put out of reach, and step has its own.
params = craftax.default_params.replace(max_timesteps=2**30)


def sample(key):  # a seed
    return jax.random.bits(key)


def prepare(seed):  # the seed's world
    return generate_world(jax.random.key(seed), params, craftax.static_env_params)


def reset(key, world):  # a world is a state: each episode starts with the same one
    return world, craftax.get_obs(world)


def step(key, state, action, world):  # what the animals do is up to the key, so no two episodes are the same
    observation, state, reward, terminated, _ = craftax.step_env(key, state, action, params)
    return state, observation, reward, terminated, state.timestep >= LIMIT


environment = tutelage.Jax(
    reset=reset,
    step=step,
    actions=craftax.num_actions,
    sample=sample,
    prepare=prepare,
    tests={f"world-{seed}": jnp.uint32(seed) for seed in range(4)},
    success=5.0,  # there are 22 achievements, which earn 1 each; health won or lost counts 0.1
    max_steps=LIMIT,
    settings={"train.steps": "20M", "train.rollout": "128"},
)
