"""How bad the worst is: many new levels, some attempts at each.

A mean over levels hides the few that a student cannot do, and those are what a robust one should not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..envs.base import Suite
from ..errors import require
from ..rl.ppo import Student, StudentState
from .evaluate import episode_key, player, sampler
from .statistics import cvar, min_over_attempts

BATCH = 4096
"""Episodes that are played at once."""


class Attempts(NamedTuple):
    """Some attempts at each of many levels."""

    returns: Float[np.ndarray, "levels attempts"]
    solved: Bool[np.ndarray, "levels attempts"]

    def mean(self) -> Attempted:
        """Over all levels and attempts."""
        return self._each(lambda by_attempt: float(by_attempt.mean()))

    def cvar(self, share: float) -> Attempted:
        """Conditional value at risk: the mean of the lowest share of levels, where a level counts with the mean of its
        attempts. Of returns and of solved rates the lowest may be different levels.
        """
        return self._each(lambda by_attempt: cvar(by_attempt.mean(axis=1), share))

    def worst_attempt(self) -> Attempted:
        """The worst attempt at each level; the mean of them."""
        return self._each(lambda by_attempt: float(min_over_attempts(by_attempt).mean()))

    def _each(self, summary: Callable[[np.ndarray], float]) -> Attempted:
        return Attempted(summary(self.solved), summary(self.returns))


class Attempted(NamedTuple):
    solved: float
    returns: float


def attempt(
    student: Student,
    state: StudentState,
    suite: Suite,
    levels: int = 1000,
    attempts: int = 10,
    seed: int = 0,
    success: float = 0.0,
    greedy: bool = False,
) -> Attempts:
    """Play ``levels`` levels of a suite that draws new ones, such as ``fresh``, ``attempts`` times each.

    ``state`` is one student's, without the ``S`` axis. The levels are those that ``evaluate`` plays with this seed.
    """
    require(levels >= 1, f"{levels} levels were asked for; give at least 1.")
    require(attempts >= 1, f"{attempts} attempts were asked for; give at least 1.")
    require(
        len(suite.tasks) == 1,
        f"The suite {suite.name} has {len(suite.tasks)} tasks; give one that draws new levels, such as fresh.",
    )
    (task,) = suite.tasks
    play = player(student, task.env, greedy)
    batches = -(-levels * attempts // BATCH)
    each = -(-levels // batches)  # as many in the last batch, too: another size would be another program
    returns = []
    for start in range(0, levels, each):
        numbers = jnp.arange(start, start + each)
        keys = jax.vmap(lambda i: episode_key(seed, task, i))(numbers)
        drawn = sampler(task)(keys)
        require(each == 1 or _differ(drawn), f"{task.name} is one level; give what draws new ones, such as fresh.")
        drawn = jax.tree.map(lambda x: jnp.repeat(x, attempts, axis=0), drawn)
        dice = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 2), attempts))(keys)
        total, _ = play(state, dice.reshape(-1), drawn, jnp.int32(task.max_steps))
        returns.append(np.asarray(jax.device_get(total)).reshape(each, attempts))
    found = np.concatenate(returns)[:levels]
    return Attempts(found, found > success)


def _differ(levels: Any) -> bool:
    return any((np.asarray(leaf) != np.asarray(leaf[:1])).any() for leaf in jax.tree.leaves(levels))
