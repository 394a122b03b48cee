"""Rollouts of noise, to learn from."""

from __future__ import annotations

import numpy as np

from tutelage.types import Rollout

STEPS, BATCH, ACTIONS = 5, 4, 3


def experience(seed: int = 0, steps: int = STEPS, batch: int = BATCH) -> Rollout:
    """A rollout of noise: its probabilities are not those of the student, so that some ratios are clipped."""
    rng = np.random.default_rng(seed)
    values, next_values, reward = rng.normal(size=(3, steps, batch)).astype(np.float32)
    done = rng.random((steps, batch)) < 0.2
    return Rollout(
        obs=rng.normal(size=(steps, batch, 4)).astype(np.float32),
        action=rng.integers(0, ACTIONS, (steps, batch)).astype(np.int32),
        log_prob=np.log(rng.uniform(0.15, 0.6, (steps, batch))).astype(np.float32),
        policy=np.zeros((steps, batch, ACTIONS), np.float32),
        value=values,
        next_value=next_values,
        reward=reward,
        terminated=done & (rng.random((steps, batch)) < 0.5),
        truncated=done,
        done=done,
        first=np.concatenate([np.ones((1, batch), bool), done[:-1]]),
    )
