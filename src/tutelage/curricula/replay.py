"""Prioritised level replay over any source of levels (thesis, chapters 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import require
from ..scores import Score, episodes
from ..seeds import all_seeds, any_seed
from ..students import vmap_students
from ..types import GENERATED, REPLAYED, Level, Metrics, Proposal, Rollout
from .base import Curriculum, Info, only_if
from .buffer import BufferState, Entries, LevelBuffer

AGES = 4096
"""Levels of a buffer whose ages are put in order, for a metric."""


class ReplayState(NamedTuple):
    base: Any
    buffer: BufferState
    """One a student: every array has a leading ``S`` axis."""


@dataclass(frozen=True)
class Replay:
    """Keeps the levels that score highest and proposes them again; otherwise passes on what its base proposes."""

    base: Curriculum
    buffer: LevelBuffer
    score: Score
    levels: int
    students: int = 1
    rate: float = 0.5
    schedule: Literal["fixed", "proportional"] = "fixed"
    min_fill: float = 0.5
    learn_from_new: bool = False
    """True is plain PLR. False is robust PLR: new levels are only scored, and what is learned comes from replay."""
    relative: bool = False
    """A new level's best return is the best of all students, who all play it (REPAIRED)."""
    optimum: Callable[[Level], Array] | None = None
    """The highest return possible on a level: scored against in the place of the best so far (exact regret)."""

    def __post_init__(self) -> None:
        require(
            self.buffer.capacity >= self.levels,
            f"The level buffer holds {self.buffer.capacity} levels, fewer than the {self.levels} of one batch; "
            f"give it a capacity of at least {self.levels}.",
        )
        require(
            self.score.name != "exact-regret" or self.optimum is not None,
            "The score exact-regret needs an environment that knows its optimal returns, and this one does not; "
            "choose another score, such as maxmc or pvl.",
        )
        require(0 <= self.rate <= 1, f"The replay rate is {self.rate}; it is a probability, from 0 to 1.")
        require(0 <= self.min_fill <= 1, f"The minimum fill is {self.min_fill}; it is a share, from 0 to 1.")

    def init(self, key: PRNGKeyArray) -> ReplayState:
        k_base, k_shape = jax.random.split(key)
        base = self.base.init(k_base)
        levels = jax.eval_shape(self.base.propose, k_shape, k_shape, base)[1].levels
        level = jax.tree.map(lambda x: jnp.zeros(x.shape[2:], x.dtype), levels)
        buffer = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.students, *x.shape)), self.buffer.init(level))
        return ReplayState(base, buffer)

    def propose(self, key: PRNGKeyArray, coins: PRNGKeyArray, state: ReplayState) -> tuple[ReplayState, Proposal]:
        k_new, k_old = jax.random.split(key)
        k_decide, k_base = jax.random.split(coins)
        coverage = self.base.coverage(state.base)
        rate = coverage if self.schedule == "proportional" else self.rate
        needed = max(1, math.ceil(self.min_fill * self.buffer.capacity))
        filled = state.buffer.size.min()
        # A training set that was seen whole has nothing new to offer (Algorithm 1).
        replay = (jax.random.uniform(k_decide) < rate) & (filled >= needed) | ((coverage >= 1) & (filled > 0))
        # Seeds share the coin but not what they have kept: the last one to be ready opens replay for all.
        replay = all_seeds(replay)

        def new(base: Any) -> tuple[Any, Proposal]:
            base, proposal = self.base.propose(k_new, k_base, base)
            return base, proposal._replace(learn=proposal.learn & self.learn_from_new)

        def old(base: Any) -> tuple[Any, Proposal]:
            draw = vmap_students(self._draw, self.students)
            levels, slots, ids, parents, generations = draw(jax.random.split(k_old, self.students), state.buffer)
            source, learn = jnp.int32(REPLAYED), jnp.array(True)
            return base, Proposal(levels, slots, source, learn, ids, parents, generations)

        base, proposal = jax.lax.cond(replay, old, new, state.base)
        return state._replace(base=base), proposal

    def _draw(self, key: PRNGKeyArray, buffer: BufferState) -> tuple[Any, ...]:
        slots = self.buffer.sample(key, buffer, self.levels)
        return self.buffer.take(buffer, slots), slots, buffer.id[slots], buffer.parent[slots], buffer.generation[slots]

    def observe(
        self, key: PRNGKeyArray, state: ReplayState, proposal: Proposal, rollout: Rollout
    ) -> tuple[ReplayState, Info]:
        view = self.score.view(rollout)
        slots, best = vmap_students(self._recall, self.students)(
            state.buffer, proposal.levels, proposal.slots, view.best
        )
        if self.relative:
            best = jnp.where(proposal.source == GENERATED, best.max(axis=0), best)
        reachable = best if self.optimum is None else jax.vmap(jax.vmap(self.optimum))(proposal.levels)
        scores = self.score(rollout, view, reachable)
        entries = Entries(proposal.levels, slots, scores, best, proposal.parents, proposal.generations)
        buffer, placed = vmap_students(self.buffer.update, self.students)(state.buffer, entries)

        # The base is told about its own levels only.
        def tell() -> tuple[Any, Metrics]:
            told, info = self.base.observe(key, state.base, proposal, rollout)
            return told, info.metrics

        base, metrics = only_if(proposal.source == GENERATED, tell, state.base)
        metrics = metrics | self._metrics(buffer) | {"score": scores.mean(), "kept": (placed >= 0).mean()}
        # The share of the buffer that levels took which it did not hold before.
        metrics["buffer/turnover"] = ((placed >= 0) & (slots < 0)).sum() / (self.students * self.buffer.capacity)
        return ReplayState(base, buffer), Info(scores, episodes(rollout).returns, metrics)

    def _recall(self, buffer: BufferState, levels: Any, slots: Array, played: Array) -> tuple[Array, Array]:
        slots = jax.lax.cond(
            any_seed((slots < 0).any()),
            lambda: jnp.where(slots < 0, self.buffer.find(buffer, levels), slots),
            lambda: slots,
        )
        return slots, self.buffer.best_return(buffer, levels, slots, played)

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
        return self.base.generate(key, state.base)

    def coverage(self, state: ReplayState) -> Float[Array, ""]:
        return self.base.coverage(state.base)
