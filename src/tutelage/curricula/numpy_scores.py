"""PVL and MaxMC of rollouts that are numpy arrays, for a training loop outside of JAX (thesis, section 4.3.2).

The same as ``scores.py`` gives inside of JAX. Arrays are ``[T]`` for one level, or ``[T, B]`` with a level in a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import require


def pvl(
    rewards: Any, values: Any, dones: Any, last_values: Any = 0.0, discount: float = 0.99, gae_lambda: float = 0.95
) -> np.ndarray:
    """Positive value loss: the mean of advantages above 0, over the steps of complete episodes, or over all steps where
    no episode was completed.

    ``dones`` marks the last step of each episode; ``last_values`` is the value of what follows the last step.
    """
    rewards, values, dones = _arrays(rewards, values, dones)
    positive, advantage = np.zeros_like(rewards), np.zeros(rewards.shape[1:])
    following = np.broadcast_to(np.asarray(last_values, np.float64), rewards.shape[1:])
    for t in reversed(range(len(rewards))):
        goes_on = ~dones[t]
        delta = rewards[t] + discount * np.where(goes_on, following, 0.0) - values[t]
        advantage = delta + discount * gae_lambda * np.where(goes_on, advantage, 0.0)
        positive[t], following = np.maximum(advantage, 0.0), values[t]
    return _mean(positive, dones)


def maxmc(
    rewards: Any, values: Any, dones: Any, best: Any = -np.inf, discount: float = 0.99
) -> tuple[np.ndarray, np.ndarray]:
    """Maximum Monte Carlo: the mean of the best return so far minus the value, over the same steps as ``pvl``; and the
    best returns themselves, to be given to ``Curator.update``.

    ``best`` is what ``Curator.best`` says. Where no episode was ever completed, the return so far stands in for it.
    """
    rewards, values, dones = _arrays(rewards, values, dones)
    best = np.broadcast_to(np.asarray(best, np.float64), rewards.shape[1:]).copy()
    total, weight = np.zeros(rewards.shape[1:]), np.ones(rewards.shape[1:])
    for t in range(len(rewards)):
        if t > 0:
            total, weight = np.where(dones[t - 1], 0.0, total), np.where(dones[t - 1], 1.0, weight * discount)
        total = total + weight * rewards[t]
        best = np.where(dones[t], np.maximum(best, total), best)
    reachable = np.where(np.isfinite(best), best, total)
    return _mean(reachable - values, dones), best


def _arrays(rewards: Any, values: Any, dones: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = np.asarray(rewards, np.float64), np.asarray(values, np.float64), np.asarray(dones, bool)
    shapes = [array.shape for array in arrays]
    require(
        len(set(shapes)) == 1 and arrays[0].ndim >= 1 and len(arrays[0]) > 0,
        f"rewards, values and dones have the shapes {', '.join(map(str, shapes))}; give one shape [T] or [T, B] with "
        "at least one step.",
    )
    return arrays


def _mean(per_step: np.ndarray, dones: np.ndarray) -> np.ndarray:
    """Over the steps up to the last end of an episode; over all where there is none."""
    ends_later = np.flip(np.logical_or.accumulate(np.flip(dones, 0), axis=0), 0)
    counted = np.where(dones.any(axis=0), ends_later, True)
    return np.where(counted, per_step, 0.0).sum(axis=0) / counted.sum(axis=0)
