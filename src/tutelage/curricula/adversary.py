"""A generator that learns: minimax, PAIRED and their kin (thesis, sections 2.5 and 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import PRNGKeyArray

from ..rl.learner import StudentState
from ..types import Level, Proposal, Rollout
from .base import Info, for_all_students, newly_generated, returns_only
from .designer import Designer
from .objectives import Objective


@dataclass(frozen=True)
class Adversary:
    """Designs every level that it proposes, the same for all students, and is paid by an objective."""

    designer: Designer
    objective: Objective
    levels: int
    students: int

    def init(self, key: PRNGKeyArray) -> StudentState:
        return self.designer.init(key, (), self.levels)

    def propose(
        self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: StudentState
    ) -> tuple[StudentState, Proposal]:
        levels, design = self.designer.design(key, state, (), self.levels)
        return state, newly_generated(for_all_students(levels, self.students), notes=design)

    def generate(self, key: PRNGKeyArray, state: StudentState) -> Level:
        return for_all_students(self.designer.design(key, state, (), self.levels)[0], self.students)

    def observe(
        self, key: PRNGKeyArray, state: StudentState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[StudentState, Info]:
        payment = self.objective(proposal.levels, rollout)
        state, metrics = self.designer.reward(key, state, proposal.notes, payment)
        return state, returns_only(rollout)._replace(metrics=metrics)
