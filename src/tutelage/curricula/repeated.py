"""Several attempts at each level of a batch, for whoever scores levels by how often they are solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import require
from ..rl.learner import StudentState
from ..types import Level, Proposal, Rollout
from . import base
from .base import Curriculum, Info, Kept


@dataclass(frozen=True)
class Repeated:
    """Plays every level that another curriculum proposes so many times at once, and shows it all attempts as one
    rollout.

    The inner one proposes ``B / attempts`` levels and knows nothing of this.
    """

    inner: Curriculum
    attempts: int

    def __post_init__(self) -> None:
        require(self.attempts >= 1, f"{self.attempts} attempts were asked for; a level needs at least 1.")

    def init(self, key: PRNGKeyArray) -> Any:
        return self.inner.init(key)

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: Any) -> tuple[Any, Proposal]:
        state, proposal = self.inner.propose(key, branch_key, state)
        levels, source = repeated((proposal.levels, proposal.source), self.attempts)
        return state, Proposal(levels, source, proposal.learn, proposal)

    def observe(
        self, key: PRNGKeyArray, state: Any, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[Any, Info]:
        once: Proposal = proposal.notes
        state, info = self.inner.observe(key, state, once, pooled(rollout, self.attempts), students)
        scores, returns, figures = repeated((info.scores, info.returns, info.figures), self.attempts)
        return state, info._replace(scores=scores, returns=returns, figures=figures)

    def generate(self, key: PRNGKeyArray, state: Any) -> Level:
        return repeated(base.generate(self.inner, key, state), self.attempts)

    def coverage(self, state: Any) -> Float[Array, ""]:
        return base.coverage(self.inner, state)

    def kept(self, state: Any) -> Kept:
        return base.kept(self.inner, state)

    @property
    def learned(self) -> slice:
        """All attempts at the levels that the inner one lets students learn from."""
        part = base.learned(self.inner)
        require(
            part.step in (None, 1),
            f"The part of a batch that is learned from has a step of {part.step}, and its levels are attempted several "
            "times; name a part without a step.",
        )
        return slice(*(end if end is None else end * self.attempts for end in (part.start, part.stop)))


def repeated(tree: Any, attempts: int) -> Any:
    """Arrays ``[S, B, ...]`` with every level so many times in a row."""
    return jax.tree.map(lambda x: jnp.repeat(x, attempts, axis=1), tree)


def pooled(rollout: Rollout, attempts: int) -> Rollout:
    """All attempts at a level one after the other: ``[S, T, B, ...]`` becomes ``[S, attempts * T, B / attempts, ...]``.

    An attempt that was not finished is cut where it stops, so that nothing of the next one flows into it.
    """
    if attempts == 1:
        return rollout

    def pool(x: Array) -> Array:
        students, steps, levels, *rest = x.shape
        apart = x.reshape(students, steps, levels // attempts, attempts, *rest)
        return jnp.moveaxis(apart, 3, 1).reshape(students, attempts * steps, levels // attempts, *rest)

    return jax.tree.map(pool, rollout._replace(truncated=rollout.truncated.at[:, -1].set(True)))
