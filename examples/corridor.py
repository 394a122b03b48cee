"""A corridor with a hidden door: an environment of your own, in plain JAX.

The agent looks for a door that it only sees from the next cell. It can try to open the wall where it stands, once: at
the door this earns 1, anywhere else nothing, and either way the episode is over.

    tutelage train corridor.py robust-plr
"""

import jax
import jax.numpy as jnp

import tutelage

CELLS, LIMIT = 20, 60  # the length of the corridor; the steps an episode may take
MOVES = jnp.array([-1, 1, 0])  # of the three actions: left, right, open


def sample(key):  # a random level: where the agent starts, and where the door is
    start, door = jax.random.randint(key, (2,), 0, CELLS)
    return {"start": start, "door": door}


def edit(key, level):  # move the door by up to three cells
    move = jax.random.randint(key, (), -3, 4)
    return {**level, "door": (level["door"] + move).clip(0, CELLS - 1)}


def observe(state):  # door or end of the corridor, in this cell and the two beside it; and the way the agent faces
    cells = state["cell"] + jnp.array([-1, 0, 1])
    doors, ends = cells == state["door"], (cells < 0) | (cells >= CELLS)
    return jnp.concatenate([doors, ends, state["facing"][None]]).astype(jnp.float32)


def reset(key, level):  # chance only decides which way the agent faces
    facing = jax.random.choice(key, jnp.array([-1, 1]))
    state = {"cell": level["start"], "door": level["door"], "facing": facing, "time": jnp.int32(0)}
    return state, observe(state)


def step(key, state, action):  # one step; Tutelage starts the next episode, step never does
    move = MOVES[action]
    cell = (state["cell"] + move).clip(0, CELLS - 1)
    facing = jnp.where(move == 0, state["facing"], move)
    state = {"cell": cell, "door": state["door"], "facing": facing, "time": state["time"] + 1}
    terminated = move == 0  # the episode is over ...
    truncated = state["time"] >= LIMIT  # ... or only cut off, and there would have been more to earn
    reward = jnp.float32(terminated & (cell == state["door"]))
    return state, observe(state), reward, terminated, truncated


def metrics(level):
    return {"distance": abs(level["door"] - level["start"])}


tests = {"far": {"start": jnp.int32(0), "door": jnp.int32(19)}, "near": {"start": jnp.int32(10), "door": jnp.int32(7)}}
environment = tutelage.Jax(
    reset=reset, step=step, actions=3, sample=sample, edit=edit, metrics=metrics, tests=tests, max_steps=LIMIT
)
