"""What every curriculum offers, what it may offer, and what it reports.

A curriculum proposes a batch of levels and is told how it went. It wraps other curricula rather than extending them.
What some have and others do not are abilities: a method more, that whoever needs it asks for with a function here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import UserError
from ..rl.learner import StudentState
from ..scores import episodes
from ..types import GENERATED, Level, Metrics, Proposal, Rollout, State


class Info(NamedTuple):
    """What a curriculum found out about the levels it just saw played."""

    scores: Float[Array, "S B"]
    """0 where nobody scores."""
    returns: Float[Array, "S B"]
    metrics: Metrics
    """Named scalars to be logged."""
    figures: dict[str, Float[Array, "S B"]] = {}  # noqa: RUF012 - of a NamedTuple, and never changed
    """Figures of each level, to be logged as means over the batch and over the levels of each source."""
    adopt: Int[Array, " S"] | None = None
    """Whose weights and optimiser each student goes on with: ``[0, 0]`` replaces student 1 by a copy of student 0.
    None where nobody moves.
    """


class Curriculum(Protocol):
    """The contract of every curriculum."""

    def init(self, key: PRNGKeyArray) -> State: ...

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: State) -> tuple[State, Proposal]:
        """The levels to play next. ``branch_key`` is for what decides between branches: it is the same for all seeds
        that train as one program.
        """
        ...

    def observe(
        self, key: PRNGKeyArray, state: State, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[State, Info]:
        """Learn from how the proposed levels were played. ``students`` (``[S, ...]``) are those after the update."""
        ...


# --- abilities


class Kept(NamedTuple):
    """Levels that a curriculum holds, with a leading axis of students; of ``K`` slots the first ``size`` are filled."""

    levels: Level
    score: Float[Array, "S K"]
    size: Int[Array, " S"]
    id: Int[Array, "S K"]
    parent: Int[Array, "S K"]
    """The number of the level that this one was edited from, -1 for none."""
    generation: Int[Array, "S K"]
    """How many edits lie between this level and a generated one."""


@runtime_checkable
class Generates(Protocol):
    """Can be asked for new levels, to be looked at."""

    def generate(self, key: PRNGKeyArray, state: State) -> Level:
        """New levels ``[S, B, ...]`` as its generator makes them now."""
        ...


@runtime_checkable
class Covers(Protocol):
    """Proposes the levels of a finite set."""

    def coverage(self, state: State) -> Float[Array, ""]:
        """The share of them that it has proposed, from 0 to 1."""
        ...


@runtime_checkable
class Keeps(Protocol):
    """Holds levels that it proposes again."""

    def kept(self, state: State) -> Kept: ...


@runtime_checkable
class LearnsFromPart(Protocol):
    """Lets students learn from a fixed part of every batch, such as its replayed half."""

    @property
    def learned(self) -> slice:
        """Of the ``B`` levels; static."""
        ...


def coverage(curriculum: Curriculum, state: State) -> Float[Array, ""]:
    """The share of its levels that a curriculum has proposed; 0 for a source that never ends."""
    return curriculum.coverage(state) if isinstance(curriculum, Covers) else jnp.zeros(())


def generate(curriculum: Curriculum, key: PRNGKeyArray, state: State) -> Level:
    """New levels ``[S, B, ...]`` of a curriculum that makes them."""
    if not isinstance(curriculum, Generates):
        raise UserError("This method has no generator whose levels could be looked at.")
    return curriculum.generate(key, state)


def kept(curriculum: Curriculum, state: State) -> Kept:
    """The levels that a curriculum holds."""
    if not isinstance(curriculum, Keeps):
        raise UserError("This method keeps no levels.")
    return curriculum.kept(state)


def learned(curriculum: Curriculum) -> slice:
    """The part of a batch that students learn from."""
    return curriculum.learned if isinstance(curriculum, LearnsFromPart) else slice(None)


# --- for those who write curricula


def unrelated(levels: Level, score: Float[Array, " K"], size: Int[Array, ""] | int) -> Kept:
    """Levels ``[K, ...]`` that no level was edited from, for one student."""
    number = jnp.arange(len(score), dtype=jnp.int32)
    held = (levels, score, jnp.asarray(size, jnp.int32), number, jnp.full_like(number, -1), jnp.zeros_like(number))
    return Kept(*jax.tree.map(lambda x: x[None], held))


def only_if(
    happens: Bool[Array, ""], change: Callable[[], tuple[State, Metrics]], unchanged: State
) -> tuple[State, Metrics]:
    """A change that does not happen costs nothing and has no figures: NaN marks what is not to be averaged."""

    def changed() -> tuple[State, Metrics]:
        state, metrics = change()
        return state, jax.tree.map(jnp.float32, metrics)  # of other types, such as counts, there is no NaN

    changed = jax.jit(changed, inline=True)  # traced once, both for its shapes and for the branch
    shapes = jax.eval_shape(changed)[1]
    return jax.lax.cond(
        happens, changed, lambda: (unchanged, jax.tree.map(lambda x: jnp.full(x.shape, jnp.nan, x.dtype), shapes))
    )


def newly_generated(levels: Level, notes: Any = ()) -> Proposal:
    """A proposal of levels ``[S, B, ...]`` that nobody has seen before, all to be learned from."""
    return Proposal(levels, source(levels, GENERATED), jnp.array(True), notes)


def source(levels: Level, which: int) -> Int[Array, "S B"]:
    """The same source for all levels ``[S, B, ...]``."""
    return jnp.full(jax.tree.leaves(levels)[0].shape[:2], which, jnp.int32)


def for_all_students(levels: Level, students: int) -> Level:
    """The same levels ``[B, ...]`` for every student."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (students, *x.shape)), levels)


def returns_only(rollout: Rollout) -> Info:
    """What a curriculum reports that scores nothing."""
    returns = episodes(rollout).returns
    return Info(jnp.zeros_like(returns), returns, {})
