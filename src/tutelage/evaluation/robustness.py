"""How a student does on the worst of many new levels.

A mean over levels hides the few that a student cannot do, and those are what a robust one should not have. Levels are
ranked on one set of episodes and scored on another: on the same episodes the worst levels would be those with the worst
luck too, and a student that does equally well everywhere would look as if it did not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..envs.base import Suite
from ..errors import require
from ..rl.agent import Agent, AgentState
from ..types import Level
from .evaluate import episode_key, player, sampler
from .statistics import cvar, min_over_attempts

BATCH = 4096
"""Episodes that are played at once."""
RANKING, SCORING = 2, 3
"""What is folded into a level's key to get those of its episodes. 0 and 1 are the level's own and ``evaluate``'s."""


class Performance(NamedTuple):
    """A mean over some levels."""

    solved: float
    returns: float


class LevelEpisodes(NamedTuple):
    """Several episodes on each of many levels."""

    returns: Float[np.ndarray, "levels episodes"]
    solved: Bool[np.ndarray, "levels episodes"]


class WorstCase(NamedTuple):
    """A student on many new levels that can be solved."""

    ranking: LevelEpisodes
    """Says which levels are the worst."""
    scoring: LevelEpisodes
    """Says how bad they are. Same levels, other random numbers."""
    unsolvable: int = 0
    """Levels that were left out because nobody can solve them."""

    @property
    def levels(self) -> int:
        return len(self.scoring.returns)

    @property
    def episodes(self) -> int:
        """On each level, in each of the two sets."""
        return self.scoring.returns.shape[1]

    def mean(self) -> Performance:
        """Over all levels."""
        return Performance(float(self.scoring.solved.mean()), float(self.scoring.returns.mean()))

    def cvar(self, share: float) -> Performance:
        """Conditional value at risk: the mean over the worst share of levels, by the solved rate and by the return.

        The worst by one measure may be other levels than the worst by the other.
        """
        return self._each(lambda ranking, scoring: cvar(scoring.mean(axis=1), share, by=ranking.mean(axis=1)))

    def worst_episode(self) -> Performance:
        """The worst of the episodes on each level; the mean of them over levels."""
        return self._each(lambda _, scoring: float(min_over_attempts(scoring).mean()))

    def _each(self, summary: Callable[[np.ndarray, np.ndarray], float]) -> Performance:
        return Performance(
            summary(self.ranking.solved, self.scoring.solved), summary(self.ranking.returns, self.scoring.returns)
        )


def worst_case(
    agent: Agent,
    state: AgentState,
    suite: Suite,
    levels: int = 10_000,
    episodes: int = 10,
    seed: int = 0,
    success: float = 0.0,
    greedy: bool = False,
    optimum: Callable[[Level], Array] | None = None,
) -> WorstCase:
    """Play ``levels`` levels of a suite that draws new ones, such as ``fresh``: ``episodes`` to rank, as many to score.

    ``state`` is one student's, without the ``S`` axis. The levels are those that ``evaluate`` plays with this seed.
    ``optimum`` is the highest return possible on a level; a level where even that is no success is left out.
    """
    require(levels >= 1, f"{levels} levels were asked for; give at least 1.")
    require(episodes >= 1, f"{episodes} episodes were asked for; give at least 1.")
    require(
        len(suite.tasks) == 1,
        f"The suite {suite.name} has {len(suite.tasks)} tasks; give one that draws new levels, such as fresh.",
    )
    (task,) = suite.tasks
    play, longest = player(agent, task.env, greedy), jnp.int32(task.max_steps)
    batches = -(-levels * episodes // BATCH)
    each = -(-levels // batches)  # as many in the last batch, too: another size would be another program
    best = None if optimum is None else jax.jit(jax.vmap(optimum))
    solvable: list[np.ndarray] = []
    played: dict[int, list[np.ndarray]] = {RANKING: [], SCORING: []}
    for start in range(0, levels, each):
        keys = jax.vmap(lambda i: episode_key(seed, task, i))(jnp.arange(start, start + each))
        drawn = sampler(task)(keys)
        require(each == 1 or _differ(drawn), f"{task.name} is one level; give what draws new ones, such as fresh.")
        solvable.append(np.ones(each, bool) if best is None else np.asarray(best(drawn)) > success)
        repeated = jax.tree.map(lambda x: jnp.repeat(x, episodes, axis=0), drawn)
        for purpose, returns in played.items():
            own = jax.vmap(lambda key, to=purpose: jax.random.split(jax.random.fold_in(key, to), episodes))(keys)
            total, _ = play(state, own.reshape(-1), repeated, longest)
            returns.append(np.asarray(jax.device_get(total)).reshape(each, episodes))
    counted = np.concatenate(solvable)[:levels]
    require(
        bool(counted.any()), f"None of the {levels} levels of {task.name} can be solved; give more, or easier ones."
    )
    ranking, scoring = (np.concatenate(played[purpose])[:levels][counted] for purpose in (RANKING, SCORING))
    return WorstCase(
        LevelEpisodes(ranking, ranking > success),
        LevelEpisodes(scoring, scoring > success),
        unsolvable=int((~counted).sum()),
    )


def _differ(levels: Any) -> bool:
    return any((np.asarray(leaf) != np.asarray(leaf[:1])).any() for leaf in jax.tree.leaves(levels))
