"""Prioritised level replay over any source of levels (thesis, chapters 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import require
from ..rl.learner import StudentState
from ..scores import Scorer, episodes
from ..seeds import all_seeds
from ..students import vmap_students
from ..types import GENERATED, REPLAYED, Level, Metrics, Proposal, Rollout
from . import base
from .base import Curriculum, Info, Kept, only_if, source
from .buffer import BufferState, LevelBuffer

AGES = 4096
"""Levels of a buffer whose ages are put in order, for a metric."""


class ReplayState(NamedTuple):
    base: Any
    buffer: BufferState
    """One a student: every array has a leading ``S`` axis."""
    score: Any


class ReplayNotes(NamedTuple):
    """What a buffer needs to know of levels when they were played."""

    replayed: Bool[Array, ""]
    """The levels were drawn from the buffer."""
    generated: Bool[Array, ""]
    """They were proposed by the base, which will be told how they were played."""
    slots: Int[Array, "S B"]
    """The buffer slot a level was drawn from, -1 for a level that is in no buffer."""
    ids: Int[Array, "S B"]
    """A level's own number, given when it enters the buffer; -1 before."""
    parents: Int[Array, "S B"]
    """The number of the level that this one was edited from, -1 for none."""
    generations: Int[Array, "S B"]
    """How many edits lie between this level and a generated one."""
    base: Any
    """The notes of the base; meaningless where the levels are not its own."""


@dataclass(frozen=True)
class Replay:
    """Keeps the levels that score highest and proposes them again; otherwise passes on what its base proposes."""

    base: Curriculum
    buffer: LevelBuffer
    score: Scorer
    levels: int
    students: int = 1
    rate: float = 0.5
    schedule: Literal["fixed", "proportional", "all-first"] = "fixed"
    min_fill: float = 0.5
    learn_from_new: bool = False
    """True is plain PLR. False is robust PLR: new levels are only scored, and what is learned comes from replay."""
    relative: bool = False
    """A new level's best return is the best of all students, who all play it (REPAIRED)."""
    clock: Literal["levels", "replays"] = "levels"
    """What staleness counts: all levels that are played, or replayed ones only."""
    optimum: Callable[[Level], Array] | None = None
    """The highest return possible on a level: scored against in the place of the best so far (exact regret)."""

    def __post_init__(self) -> None:
        require(
            self.buffer.capacity >= self.levels,
            f"The level buffer holds {self.buffer.capacity} levels, fewer than the {self.levels} of one batch; "
            f"give it a capacity of at least {self.levels}.",
        )
        require(0 <= self.rate <= 1, f"The replay rate is {self.rate}; it is a probability, from 0 to 1.")
        require(0 <= self.min_fill <= 1, f"The minimum fill is {self.min_fill}; it is a share, from 0 to 1.")

    def init(self, key: PRNGKeyArray) -> ReplayState:
        k_base, k_shape = jax.random.split(key)
        state = self.base.init(k_base)
        levels = jax.eval_shape(self.base.propose, k_shape, k_shape, state)[1].levels
        level = jax.tree.map(lambda x: jnp.zeros(x.shape[2:], x.dtype), levels)
        buffer = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.students, *x.shape)), self.buffer.init(level))
        return ReplayState(state, buffer, self.score.init(jax.random.fold_in(k_shape, 1)))

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: ReplayState) -> tuple[ReplayState, Proposal]:
        k_new, k_old = jax.random.split(key)
        k_decide, k_base = jax.random.split(branch_key)
        coverage = base.coverage(self.base, state.base)
        # With all-first nothing is replayed until all were seen, whereupon everything is.
        rate = {"fixed": self.rate, "proportional": coverage, "all-first": 0.0}[self.schedule]
        needed = max(1, math.ceil(self.min_fill * self.buffer.capacity))
        filled = state.buffer.size.min()
        # A training set that was seen whole has nothing new to offer (Algorithm 1).
        replay = (jax.random.uniform(k_decide) < rate) & (filled >= needed) | ((coverage >= 1) & (filled > 0))
        # Seeds share the branch key but not what they have kept: the last one to be ready opens replay for all.
        replay = all_seeds(replay)

        def new() -> tuple[Any, Proposal]:
            after, proposal = self.base.propose(k_new, k_base, state.base)
            notes = self._newcomers(proposal.notes)._replace(generated=jnp.array(True))
            return after, proposal._replace(learn=proposal.learn & self.learn_from_new, notes=notes)

        new = jax.jit(new, inline=True)  # traced once, for its shapes and for the branch

        def old() -> tuple[Any, Proposal]:
            draw = vmap_students(self._draw, self.students)
            levels, slots, ids, parents, generations = draw(jax.random.split(k_old, self.students), state.buffer)
            unused = _blank(jax.eval_shape(new)[1].notes.base)
            notes = ReplayNotes(jnp.array(True), jnp.array(False), slots, ids, parents, generations, unused)
            return state.base, Proposal(levels, source(levels, REPLAYED), jnp.array(True), notes)

        after, proposal = jax.lax.cond(replay, old, new)
        return state._replace(base=after), proposal

    def _newcomers(self, notes: Any) -> ReplayNotes:
        none = jnp.full((self.students, self.levels), -1, jnp.int32)
        return ReplayNotes(jnp.array(False), jnp.array(False), none, none, none, jnp.zeros_like(none), notes)

    def descendants(
        self, notes: ReplayNotes, parents: Int[Array, "S B"], generations: Int[Array, "S B"]
    ) -> ReplayNotes:
        """Notes for levels that somebody else proposes, edited from levels of this buffer. ``notes`` are any of its
        own.
        """
        return self._newcomers(_blank(notes.base))._replace(parents=parents, generations=generations)

    def _draw(self, key: PRNGKeyArray, buffer: BufferState) -> tuple[Any, ...]:
        slots = self.buffer.sample(key, buffer, self.levels)
        return self.buffer.take(buffer, slots), slots, buffer.id[slots], buffer.parent[slots], buffer.generation[slots]

    def observe(
        self, key: PRNGKeyArray, state: ReplayState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[ReplayState, Info]:
        notes: ReplayNotes = proposal.notes
        view = self.score.view(rollout)
        recognise = vmap_students(self.buffer.recognise, self.students)
        played = recognise(state.buffer, proposal.levels, notes.slots, view.best)
        if self.relative:
            best = jnp.where(proposal.source == GENERATED, played.best.max(axis=0), played.best)
            played = played._replace(best=best)
        reachable = played.best if self.optimum is None else jax.vmap(jax.vmap(self.optimum))(proposal.levels)
        scorer, scores = self.score.update(jax.random.fold_in(key, 1), state.score, rollout, view, reachable)
        insert = vmap_students(self.buffer.insert, self.students)
        there = None if rollout.mine is None else rollout.played
        buffer, placed = insert(state.buffer, played, scores, notes.parents, notes.generations, there)
        if self.clock == "replays":
            stopped = jax.vmap(self.buffer.with_clock_stopped)(state.buffer, buffer, placed)
            buffer = jax.tree.map(lambda running, still: jnp.where(notes.replayed, running, still), buffer, stopped)

        # The base is told about its own levels only.
        def tell() -> tuple[Any, Metrics]:
            told, info = self.base.observe(key, state.base, proposal._replace(notes=notes.base), rollout, students)
            return told, info.metrics

        told, metrics = only_if(notes.generated, tell, state.base)
        metrics = metrics | self._metrics(buffer)
        # The share of the buffer that levels took which it did not hold before.
        newcomers = (placed >= 0) & (played.slots < 0)
        metrics["buffer/turnover"] = newcomers.sum() / (self.students * self.buffer.capacity)
        figures = {"score": scores, "kept": placed >= 0, "generation": notes.generations}
        return ReplayState(told, buffer, scorer), Info(scores, episodes(rollout).returns, metrics, figures)

    def _metrics(self, buffer: BufferState) -> dict[str, Array]:
        filled = jnp.arange(self.buffer.capacity) < buffer.size[:, None]
        number = jnp.maximum(buffer.size.sum(), 1)

        def mean(x: Array) -> Array:
            return jnp.where(filled, x, 0).sum() / number

        def at(share: float) -> Array:
            """The score that so large a share of the levels does not exceed; their order is known."""
            place = jnp.round((1 - share) * jnp.maximum(buffer.size - 1, 0)).astype(jnp.int32)
            slot = jnp.take_along_axis(buffer.order, place[:, None], axis=1)
            return jnp.take_along_axis(buffer.score, slot, axis=1).mean()

        age = buffer.clock[:, None] - buffer.stamp
        # Sorting a million ages takes longer than an iteration: of a large buffer evenly spaced slots are looked at.
        some = slice(None, None, -(-self.buffer.capacity // AGES))
        looked_at = filled[:, some].sum(axis=1)
        ages = jnp.sort(jnp.where(filled, age, age.max())[:, some], axis=1)

        def aged(share: float) -> Array:
            place = jnp.round(share * jnp.maximum(looked_at - 1, 0)).astype(jnp.int32)
            return jnp.take_along_axis(ages, place[:, None], axis=1).mean()

        return {
            "buffer/fill": buffer.size.mean() / self.buffer.capacity,
            "buffer/score": mean(buffer.score),
            "buffer/score-10%": at(0.1),
            "buffer/score-50%": at(0.5),
            "buffer/score-90%": at(0.9),
            "buffer/staleness": mean(age),
            "buffer/staleness-10%": aged(0.1),
            "buffer/staleness-50%": aged(0.5),
            "buffer/staleness-90%": aged(0.9),
            "buffer/oldest": jnp.where(filled, age, 0).max(),
            "buffer/generation": mean(buffer.generation),
        }

    def generate(self, key: PRNGKeyArray, state: ReplayState) -> Level:
        return base.generate(self.base, key, state.base)

    def coverage(self, state: ReplayState) -> Float[Array, ""]:
        return base.coverage(self.base, state.base)

    def kept(self, state: ReplayState) -> Kept:
        held = state.buffer
        return Kept(held.levels, held.score, held.size, held.id, held.parent, held.generation)


def _blank(shapes: Any) -> Any:
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
