"""A generator that learns: minimax, PAIRED and their kin (thesis, sections 2.5 and 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..scores import episodes
from ..types import Level, Proposal, Rollout
from .base import Info, newly_generated
from .designer import Designer, DesignerState
from .objectives import Objective


@dataclass(frozen=True)
class Adversary:
    """Designs every level that it proposes, the same for all students, and is paid by an objective."""

    designer: Designer
    objective: Objective
    levels: int
    students: int

    def init(self, key: PRNGKeyArray) -> DesignerState:
        return self.designer.init(key, (), self.levels)

    def propose(self, key: PRNGKeyArray, coins: PRNGKeyArray, state: DesignerState) -> tuple[DesignerState, Proposal]:
        state, levels = self.designer.design(key, state, (), self.levels)
        return state, newly_generated(self._shared(levels))

    def generate(self, key: PRNGKeyArray, state: DesignerState) -> Level:
        return self._shared(self.designer.design(key, state, (), self.levels)[1])

    def _shared(self, levels: Level) -> Level:
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (self.students, *x.shape)), levels)

    def observe(
        self, key: PRNGKeyArray, state: DesignerState, proposal: Proposal, rollout: Rollout
    ) -> tuple[DesignerState, Info]:
        payment = self.objective(proposal.levels, rollout)
        state, metrics = self.designer.reward(key, state, payment)
        returns = episodes(rollout).returns
        return state, Info(jnp.zeros_like(returns), returns, metrics)

    def coverage(self, state: DesignerState) -> Float[Array, ""]:
        return jnp.zeros(())
