"""Students of images, and rollouts of noise for them to learn from."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax.numpy as jnp
import numpy as np

from tutelage.rl.agent import Agent
from tutelage.rl.distributions import Categorical
from tutelage.rl.networks import CORES, ActorCritic
from tutelage.types import Rollout

from .made_rollouts import ACTIONS, experience

STEPS, BATCH, SIDE = 3, 8, 16
OBS = {"camera": np.zeros((SIDE, SIDE, 3), np.uint8), "speed": np.zeros(2, np.float32)}


class Eyes(nn.Module):
    """A layer over every fourth pixel, and one over the speed."""

    @nn.compact
    def __call__(self, obs: Any) -> Any:
        image = obs["camera"][:, ::4, ::4].astype(jnp.float32) / 255.0
        return nn.tanh(nn.Dense(6)(image.reshape(image.shape[0], -1)) + nn.Dense(6)(obs["speed"]))


def agent(core: str = "none", **options: bool) -> Agent:
    return Agent(ActorCritic(Eyes(), CORES[core](6), ACTIONS, 4), Categorical(ACTIONS), **options)


def images(seed: int = 0, steps: int = STEPS, batch: int = BATCH) -> Rollout:
    rng = np.random.default_rng(seed)
    obs = {
        "camera": rng.integers(0, 256, (steps, batch, SIDE, SIDE, 3), np.uint8),
        "speed": rng.normal(size=(steps, batch, 2)).astype(np.float32),
    }
    return experience(seed, steps, batch)._replace(obs=obs)
