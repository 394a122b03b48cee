"""Teacher-student curriculum learning: of a finite set, the levels whose returns rise or fall most steeply.

The variant is TSCL Window (Matiisen et al., 2017), which chapter 3 of the thesis compares with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..rl.learner import StudentState
from ..scores import episodes
from ..types import Level, Proposal, Rollout
from . import sum_tree
from .base import Info, Kept, newly_generated, unrelated


class TsclState(NamedTuple):
    levels: Level
    """The training set, ``[N, ...]``."""
    plays: Int[Array, " N"]
    """In how many iterations each level was played."""
    result: Float[Array, "N W"]
    """A window of each level's last returns, in no order; the first ``plays`` places are filled."""
    time: Int[Array, "N W"]
    """The iterations of these returns, from 1; 0 where there is none."""
    progress: Float[Array, " N"]
    """What the bandit expects of each level: the change of its return in an iteration."""
    now: Int[Array, ""]


@dataclass(frozen=True)
class Tscl:
    """A bandit whose arms are levels and whose reward is the slope of their returns."""

    training_set: Callable[[PRNGKeyArray], Level]
    """Gives the levels, stacked ``[N, ...]``: drawn with the key, or always the same. They become part of the state."""
    size: int
    levels: int
    window: int = 10
    rate: float = 1.0
    """Of learning: how much the newest slope counts."""
    policy: Literal["epsilon-greedy", "boltzmann"] = "epsilon-greedy"
    epsilon: float = 0.5
    temperature: float = 1.0
    staleness: float = 0.0
    optimism: float = 1.0
    """The progress of a level that was played less than twice, and so has no slope."""

    def init(self, key: PRNGKeyArray) -> TsclState:
        return TsclState(
            levels=jax.tree.map(jnp.asarray, self.training_set(key)),
            plays=jnp.zeros(self.size, jnp.int32),
            result=jnp.zeros((self.size, self.window)),
            time=jnp.zeros((self.size, self.window), jnp.int32),
            progress=jnp.full(self.size, self.optimism, jnp.float32),
            now=jnp.int32(1),
        )

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: TsclState) -> tuple[TsclState, Proposal]:
        playing = sum_tree.sample(key, self.chances(state), self.levels)
        return state, newly_generated(_taken(state, playing), notes=playing)

    def generate(self, key: PRNGKeyArray, state: TsclState) -> Level:
        return _taken(state, sum_tree.sample(key, self.chances(state), self.levels))

    def chances(self, state: TsclState) -> Float[Array, " N"]:
        """How likely each level is to be proposed."""
        worth = jnp.abs(state.progress)
        if self.policy == "boltzmann":
            chosen = jax.nn.softmax(worth / self.temperature)
        else:
            best = worth == worth.max()
            chosen = (1 - self.epsilon) * best / best.sum() + self.epsilon / self.size
        age = (state.now - state.time.max(axis=1)).astype(jnp.float32)
        return (1 - self.staleness) * chosen + self.staleness * age / age.sum()

    def observe(
        self, key: PRNGKeyArray, state: TsclState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[TsclState, Info]:
        returns, playing = episodes(rollout).returns, proposal.notes
        # A level that is in the batch several times has one return an iteration, their mean.
        copies = playing == jnp.arange(self.size)[:, None]
        played = copies.any(axis=1)
        mean = jnp.where(copies, returns[0], 0.0).sum(axis=1) / jnp.maximum(copies.sum(axis=1), 1)
        here = (jnp.arange(self.window) == state.plays[:, None] % self.window) & played[:, None]
        result = jnp.where(here, mean[:, None], state.result)
        time = jnp.where(here, state.now, state.time)
        plays = state.plays + played
        found = jnp.where(plays >= 2, slope(time, result, state.now), self.optimism)
        progress = jnp.where(played, state.progress + self.rate * (found - state.progress), state.progress)
        scores = jnp.abs(progress)
        state = TsclState(state.levels, plays, result, time, progress, state.now + 1)
        metrics = {"progress": scores.mean(), "coverage": self.coverage(state)}
        return state, Info(scores[playing][None], returns, metrics)

    def kept(self, state: TsclState) -> Kept:
        """The training set, by how steeply returns change."""
        return unrelated(state.levels, jnp.abs(state.progress), self.size)

    def coverage(self, state: TsclState) -> Float[Array, ""]:
        return (state.plays > 0).mean()


def slope(time: Int[Array, "N W"], result: Float[Array, "N W"], now: Int[Array, ""]) -> Float[Array, " N"]:
    """Of the line through each level's returns (least squares), in returns an iteration; 0 for less than two."""
    filled = time > 0
    number = jnp.maximum(filled.sum(axis=1, keepdims=True), 1)

    def centred(x: Array) -> Array:
        mean = jnp.where(filled, x, 0.0).sum(axis=1, keepdims=True) / number
        return jnp.where(filled, x - mean, 0.0)

    # Seen from now, late in a long run: whole numbers of this size have no rounding.
    x, y = centred((time - now).astype(jnp.float32)), centred(result)
    # Two iterations that differ are at least 1 apart, and have at least 1/2 here.
    return (x * y).sum(axis=1) / jnp.maximum((x * x).sum(axis=1), 0.5)


def _taken(state: TsclState, playing: Int[Array, " B"]) -> Level:
    return jax.tree.map(lambda x: x[playing][None], state.levels)
