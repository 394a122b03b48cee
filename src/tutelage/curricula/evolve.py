"""ACCEL: edit the levels that were just replayed (thesis, Algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import require
from ..rl.learner import StudentState
from ..seeds import all_seeds
from ..students import vmap_students
from ..types import EDITED, Level, Proposal, Rollout
from .base import Info, Kept, only_if, source
from .editors import Editor
from .replay import Replay, ReplayNotes, ReplayState


class EvolveState(NamedTuple):
    inner: ReplayState
    editor: Any
    parents: Level
    """The levels to be edited next, ``[S, B, ...]``."""
    ids: Int[Array, "S B"]
    generations: Int[Array, "S B"]
    replayed: Bool[Array, ""]
    """Was the last batch a replayed one, so that there is something to edit?"""


class EvolveNotes(NamedTuple):
    edited: Bool[Array, ""]
    inner: ReplayNotes
    editor: Any
    """The notes of the editor; meaningless where nothing was edited."""


@dataclass(frozen=True)
class Evolve:
    """After a replay, proposes edits of the replayed levels: scored, kept or not, but never learned from."""

    inner: Replay
    editor: Editor
    levels: int
    students: int = 1
    criterion: Literal["hard", "batch"] = "hard"
    parents: int = 1
    """How many levels the hard criterion picks; each is edited ``levels / parents`` times."""
    rate: float = 1.0
    inherit: bool = True
    """False where the editor makes unrelated levels (the no-editor ablation): they have no parents."""

    def __post_init__(self) -> None:
        require(
            self.criterion == "batch" or self.levels % self.parents == 0,
            f"{self.parents} parents do not divide a batch of {self.levels} levels; choose a divisor of {self.levels}.",
        )

    def init(self, key: PRNGKeyArray) -> EvolveState:
        k_inner, k_editor, k_shape = jax.random.split(key, 3)
        inner = self.inner.init(k_inner)
        levels = jax.eval_shape(self.inner.propose, k_shape, k_shape, inner)[1].levels
        none = jnp.full((self.students, self.levels), -1, jnp.int32)
        parents = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), levels)
        editor = self.editor.init(k_editor, parents)
        return EvolveState(inner, editor, parents, none, jnp.zeros_like(none), jnp.array(False))

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: EvolveState) -> tuple[EvolveState, Proposal]:
        k_inner, k_edit = jax.random.split(key)
        k_decide, k_inner_branch = jax.random.split(branch_key)
        edit = all_seeds(state.replayed & (jax.random.uniform(k_decide) < self.rate))
        # Each is traced once, for its shapes and for the branch.
        change = jax.jit(lambda: self.editor.edit(k_edit, state.editor, state.parents), inline=True)
        pass_on = jax.jit(lambda: self.inner.propose(k_inner, k_inner_branch, state.inner), inline=True)

        def edited() -> tuple[Any, Proposal]:
            levels, editing = change()
            ids = state.ids if self.inherit else jnp.full_like(state.ids, -1)
            generations = state.generations + 1 if self.inherit else jnp.zeros_like(ids)
            lineage = self.inner.descendants(jax.eval_shape(pass_on)[1].notes, ids, generations)
            notes = EvolveNotes(jnp.array(True), lineage, editing)
            return state.inner, Proposal(levels, source(levels, EDITED), jnp.array(False), notes)

        def passed_on() -> tuple[Any, Proposal]:
            inner, proposal = pass_on()
            unused = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(change)[1])
            return inner, proposal._replace(notes=EvolveNotes(jnp.array(False), proposal.notes, unused))

        inner, proposal = jax.lax.cond(edit, edited, passed_on)
        return state._replace(inner=inner), proposal

    def observe(
        self, key: PRNGKeyArray, state: EvolveState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[EvolveState, Info]:
        k_inner, k_editor = jax.random.split(key)
        notes: EvolveNotes = proposal.notes
        own = proposal._replace(notes=notes.inner)
        inner, info = self.inner.observe(k_inner, state.inner, own, rollout, students)
        hardness = jnp.where(rollout.played, info.scores - info.returns, -jnp.inf)
        chosen = vmap_students(self._choose, self.students)(hardness)
        pick = jax.vmap(lambda tree, i: jax.tree.map(lambda x: x[i], tree))
        parents, ids, generations = pick((proposal.levels, notes.inner.ids, notes.inner.generations), chosen)
        editor, metrics = only_if(
            notes.edited, lambda: self.editor.learn(k_editor, state.editor, notes.editor, rollout), state.editor
        )
        info = info._replace(metrics=info.metrics | metrics)
        return EvolveState(inner, editor, parents, ids, generations, notes.inner.replayed), info

    def _choose(self, hardness: Float[Array, " B"]) -> Int[Array, " B"]:
        """Which levels of a batch become parents."""
        if self.criterion == "batch":
            return jnp.arange(self.levels)
        hardest = jax.lax.top_k(hardness, self.parents)[1]
        return jnp.repeat(hardest, self.levels // self.parents)

    def generate(self, key: PRNGKeyArray, state: EvolveState) -> Level:
        return self.inner.generate(key, state.inner)

    def coverage(self, state: EvolveState) -> Float[Array, ""]:
        return self.inner.coverage(state.inner)

    def kept(self, state: EvolveState) -> Kept:
        return self.inner.kept(state.inner)
