"""Domain randomisation: levels straight from a generator, or from a fixed training set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..errors import require
from ..rl.learner import StudentState
from ..types import Level, Proposal, Rollout
from .base import Info, for_all_students, newly_generated, returns_only


@dataclass(frozen=True)
class DomainRandomization:
    """New levels from a generator, without end."""

    sample: Callable[[PRNGKeyArray], Level]
    levels: int
    students: int = 1

    def init(self, key: PRNGKeyArray) -> tuple[()]:
        return ()

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: tuple[()]) -> tuple[tuple[()], Proposal]:
        return state, newly_generated(self.generate(key, state))

    def generate(self, key: PRNGKeyArray, state: tuple[()]) -> Level:
        return for_all_students(jax.vmap(self.sample)(jax.random.split(key, self.levels)), self.students)

    def observe(
        self, key: PRNGKeyArray, state: tuple[()], proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[tuple[()], Info]:
        return state, returns_only(rollout)


class FixedLevelsState(NamedTuple):
    levels: Level
    order: Int[Array, " N"]
    """Shuffled once: the next card is uniform over those not yet dealt."""
    dealt: Int[Array, ""]


@dataclass(frozen=True)
class FixedLevels:
    """A fixed set of training levels: each is proposed once, in random order, before any comes again."""

    training_set: Callable[[PRNGKeyArray], Level]
    """Gives the levels, stacked ``[N, ...]``: drawn with the key, or always the same. They become part of the state."""
    size: int
    levels: int
    students: int = 1

    def __post_init__(self) -> None:
        require(
            self.size >= self.levels,
            f"The training set has {self.size} levels, fewer than the {self.levels} of one batch; "
            "give more levels or a smaller batch.",
        )

    def init(self, key: PRNGKeyArray) -> FixedLevelsState:
        k_levels, k_order = jax.random.split(key)
        levels = jax.tree.map(jnp.asarray, self.training_set(k_levels))
        return FixedLevelsState(levels, jax.random.permutation(k_order, self.size).astype(jnp.int32), jnp.int32(0))

    def propose(
        self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: FixedLevelsState
    ) -> tuple[FixedLevelsState, Proposal]:
        return state._replace(dealt=state.dealt + self.levels), newly_generated(self.generate(key, state))

    def generate(self, key: PRNGKeyArray, state: FixedLevelsState) -> Level:
        cards = state.order[(state.dealt + jnp.arange(self.levels)) % self.size]
        return for_all_students(jax.tree.map(lambda x: x[cards], state.levels), self.students)

    def observe(
        self, key: PRNGKeyArray, state: FixedLevelsState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[FixedLevelsState, Info]:
        return self._take_back(state, rollout), returns_only(rollout)

    def _take_back(self, state: FixedLevelsState, rollout: Rollout) -> FixedLevelsState:
        """Levels whose turn in a queue never came are dealt again, before all others."""
        if rollout.mine is None:
            return state
        played = rollout.played.any(axis=0)
        places = (state.dealt - self.levels + jnp.arange(self.levels)) % self.size
        cards = state.order[places][jnp.argsort(~played, stable=True)]
        return state._replace(order=state.order.at[places].set(cards), dealt=state.dealt - (~played).sum())

    def coverage(self, state: FixedLevelsState) -> Float[Array, ""]:
        return jnp.minimum(state.dealt / self.size, 1.0)
