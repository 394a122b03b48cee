"""MountainCar of gymnax, with another engine and another gravity in every level.

A level is a vector of two numbers, engine and gravity, as multiples of the standard ones. A strong engine drives
straight up the hill; a weak one has to swing. (six is in the next line because gymnax 1.0.1 does not list it.)

    pip install gymnax six
    tutelage train gymnax_env.py alp-gmm
"""

import jax
import jax.numpy as jnp
from gymnax.environments import MountainCar

import tutelage

LOW, HIGH = jnp.array([0.6, 0.5]), jnp.array([4.0, 1.5])
car = MountainCar()
standard = car.default_params


def sample(key):  # a level from anywhere in the box
    return jax.random.uniform(key, (2,), minval=LOW, maxval=HIGH)


def edit(key, level):  # a small change of both numbers that stays in the box
    return (level + 0.1 * (HIGH - LOW) * jax.random.normal(key, (2,))).clip(LOW, HIGH)


def parameters(level):  # gymnax's parameters are arrays like any others: each level has its own
    return standard.replace(force=standard.force * level[0], gravity=standard.gravity * level[1])


def reset(key, level):  # the level becomes part of the state, because step needs it too
    observation, state = car.reset_env(key, parameters(level))
    return (state, level), observation


def step(key, state, action):
    state, level = state
    params = parameters(level)
    # Take step_env, not step: that one starts the next episode by itself.
    observation, state, reward, terminated, _ = car.step_env(key, state, action, params)
    # Since gymnax 1.0 the time limit is no part of `terminated`. Before, it was.
    truncated = car.is_truncated(state, params)
    return (state, level), observation, reward, terminated, truncated


environment = tutelage.Jax(
    reset=reset,
    step=step,
    actions=car.num_actions,
    sample=sample,
    edit=edit,
    metrics=lambda level: {"engine": level[0], "gravity": level[1]},
    bounds=(LOW, HIGH),
    tests={"standard": jnp.array([1.0, 1.0]), "weak": jnp.array([0.8, 1.0]), "heavy": jnp.array([1.5, 1.5])},
    success=-standard.max_steps_in_episode,  # each step costs 1: a higher return means the top was reached in time
    max_steps=standard.max_steps_in_episode,
    settings={"train.steps": "2M", "train.rollout": "256"},
)
