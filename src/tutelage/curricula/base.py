"""What every curriculum offers, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..types import GENERATED, Level, Metrics, Proposal, Rollout, State


class Info(NamedTuple):
    """What a curriculum found out about the levels it just saw played."""

    scores: Float[Array, "S B"]
    """0 where nobody scores."""
    returns: Float[Array, "S B"]
    metrics: Metrics


class Curriculum(Protocol):
    """Proposes a batch of levels, and is told how it went. Wraps other curricula rather than extending them."""

    def init(self, key: PRNGKeyArray) -> State: ...

    def propose(self, key: PRNGKeyArray, coins: PRNGKeyArray, state: State) -> tuple[State, Proposal]:
        """``coins`` is a key for what decides between branches: the same for all seeds that train as one program."""
        ...

    def observe(self, key: PRNGKeyArray, state: State, proposal: Proposal, rollout: Rollout) -> tuple[State, Info]: ...

    def generate(self, key: PRNGKeyArray, state: State) -> Level:
        """New levels ``[S, B, ...]`` as its generator makes them now, to be looked at."""
        ...

    def coverage(self, state: State) -> Float[Array, ""]:
        """The share of its levels that it has proposed, from 0 to 1; 0 for a source that never ends."""
        ...


def only_if(
    happens: Bool[Array, ""], change: Callable[[], tuple[State, Metrics]], unchanged: State
) -> tuple[State, Metrics]:
    """A change that does not happen costs nothing and has no figures: NaN marks what is not to be averaged."""
    change = jax.jit(change, inline=True)  # traced once, both for its shapes and for the branch
    shapes = jax.eval_shape(change)[1]
    return jax.lax.cond(
        happens, change, lambda: (unchanged, jax.tree.map(lambda x: jnp.full(x.shape, jnp.nan, x.dtype), shapes))
    )


def newly_generated(levels: Level) -> Proposal:
    """A proposal of levels ``[S, B, ...]`` that nobody has seen before."""
    none = jnp.full(jax.tree.leaves(levels)[0].shape[:2], -1, jnp.int32)
    return Proposal(
        levels=levels,
        slots=none,
        source=jnp.int32(GENERATED),
        learn=jnp.array(True),
        ids=none,
        parents=none,
        generations=jnp.zeros_like(none),
    )
