"""Who changes levels for an evolving curriculum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
from jaxtyping import PRNGKeyArray

from ..rl.learner import StudentState
from ..scores import Score
from ..types import Level, Metrics, Rollout, State
from .designer import Designer


class Editor(Protocol):
    """Changes levels ``[S, B, ...]``, and may learn from how the changed ones were played."""

    def init(self, key: PRNGKeyArray, levels: Level) -> State: ...

    def edit(self, key: PRNGKeyArray, state: State, levels: Level) -> tuple[Level, Any]:
        """The changed levels, and notes for ``learn``."""
        ...

    def learn(self, key: PRNGKeyArray, state: State, notes: Any, rollout: Rollout) -> tuple[State, Metrics]: ...


@dataclass(frozen=True)
class RandomEditor:
    """Changes each level by chance."""

    change: Callable[[PRNGKeyArray, Level], Level]

    def init(self, key: PRNGKeyArray, levels: Level) -> tuple[()]:
        return ()

    def edit(self, key: PRNGKeyArray, state: tuple[()], levels: Level) -> tuple[Level, tuple[()]]:
        keys = jax.random.split(key, jax.tree.leaves(levels)[0].shape[:2])
        return jax.vmap(jax.vmap(self.change))(keys, levels), ()

    def learn(
        self, key: PRNGKeyArray, state: tuple[()], notes: tuple[()], rollout: Rollout
    ) -> tuple[tuple[()], Metrics]:
        return state, {}


@dataclass(frozen=True)
class LearnedEditor:
    """A teacher that changes levels to raise a score of the students on them (thesis, section 5.3.4)."""

    designer: Designer
    score: Score

    def init(self, key: PRNGKeyArray, levels: Level) -> StudentState:
        flat, number = _flat(levels)
        return self.designer.init(key, flat, number)

    def edit(self, key: PRNGKeyArray, state: StudentState, levels: Level) -> tuple[Level, Rollout]:
        flat, number = _flat(levels)
        edited, design = self.designer.design(key, state, flat, number)
        return jax.tree.map(lambda x, old: x.reshape(old.shape), edited, levels), design

    def learn(
        self, key: PRNGKeyArray, state: StudentState, notes: Rollout, rollout: Rollout
    ) -> tuple[StudentState, Metrics]:
        view = self.score.view(rollout)
        payment = self.score(rollout, view, view.best)
        return self.designer.reward(key, state, notes, payment.reshape(-1))


def _flat(levels: Any) -> tuple[Level, int]:
    """One teacher edits for all students: their batches are one to it."""
    students, batch = jax.tree.leaves(levels)[0].shape[:2]
    return jax.tree.map(lambda x: x.reshape(students * batch, *x.shape[2:]), levels), students * batch
