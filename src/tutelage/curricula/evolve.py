"""ACCEL: edit the levels that were just replayed (thesis, Algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import require
from ..seeds import all_seeds
from ..students import vmap_students
from ..types import EDITED, REPLAYED, Level, Proposal, Rollout
from .base import Curriculum, Info, only_if
from .editors import Editor


class EvolveState(NamedTuple):
    inner: Any
    editor: Any
    parents: Level
    """The levels to be edited next, ``[S, B, ...]``."""
    ids: Int[Array, "S B"]
    generations: Int[Array, "S B"]
    replayed: Bool[Array, ""]
    """Was the last batch a replayed one, so that there is something to edit?"""


@dataclass(frozen=True)
class Evolve:
    """After a replay, proposes edits of the replayed levels: scored, kept or not, but never learned from."""

    inner: Curriculum
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

    def propose(self, key: PRNGKeyArray, coins: PRNGKeyArray, state: EvolveState) -> tuple[EvolveState, Proposal]:
        k_inner, k_edit = jax.random.split(key)
        k_decide, k_inner_coins = jax.random.split(coins)
        edit = all_seeds(state.replayed & (jax.random.uniform(k_decide) < self.rate))

        def edited() -> tuple[Any, Any, Proposal]:
            editor, levels = self.editor.edit(k_edit, state.editor, state.parents)
            none = jnp.full_like(state.ids, -1)
            parents = state.ids if self.inherit else none
            generations = state.generations + 1 if self.inherit else jnp.zeros_like(none)
            proposal = Proposal(levels, none, jnp.int32(EDITED), jnp.array(False), none, parents, generations)
            return state.inner, editor, proposal

        def passed_on() -> tuple[Any, Any, Proposal]:
            inner, proposal = self.inner.propose(k_inner, k_inner_coins, state.inner)
            return inner, state.editor, proposal

        inner, editor, proposal = jax.lax.cond(edit, edited, passed_on)
        return state._replace(inner=inner, editor=editor), proposal

    def observe(
        self, key: PRNGKeyArray, state: EvolveState, proposal: Proposal, rollout: Rollout
    ) -> tuple[EvolveState, Info]:
        k_inner, k_editor = jax.random.split(key)
        inner, info = self.inner.observe(k_inner, state.inner, proposal, rollout)
        chosen = vmap_students(self._choose, self.students)(info.scores, info.returns)
        pick = jax.vmap(lambda tree, i: jax.tree.map(lambda x: x[i], tree))
        parents, ids, generations = pick((proposal.levels, proposal.ids, proposal.generations), chosen)
        editor, metrics = only_if(
            proposal.source == EDITED, lambda: self.editor.learn(k_editor, state.editor, rollout), state.editor
        )
        info = info._replace(metrics=info.metrics | metrics)
        return EvolveState(inner, editor, parents, ids, generations, proposal.source == REPLAYED), info

    def _choose(self, scores: Float[Array, " B"], returns: Float[Array, " B"]) -> Int[Array, " B"]:
        """Which levels of a batch become parents."""
        if self.criterion == "batch":
            return jnp.arange(self.levels)
        hardest = jax.lax.top_k(scores - returns, self.parents)[1]
        return jnp.repeat(hardest, self.levels // self.parents)

    def generate(self, key: PRNGKeyArray, state: EvolveState) -> Level:
        return self.inner.generate(key, state.inner)

    def coverage(self, state: EvolveState) -> Float[Array, ""]:
        return self.inner.coverage(state.inner)
