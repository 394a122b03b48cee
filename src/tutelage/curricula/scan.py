"""Scans of many random levels for those worth training on (Rutherford et al., 2024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..rl.learner import StudentState
from ..scores import Score
from ..settings import ScanSettings
from ..types import GENERATED, REPLAYED, Level, Metrics, Proposal, Rollout
from .base import Info, Kept, only_if, returns_only, unrelated
from .repeated import pooled


class Found(NamedTuple):
    """The best levels of a scan, best first, and their scores: -1 where there is none yet."""

    levels: Level
    score: Float[Array, " K"]


class ScanState(NamedTuple):
    """Students train on what is ``kept`` of the last scan; ``found`` is of the one under way."""

    kept: Found
    found: Found
    scans: Int[Array, ""]
    """Batches that this scan still has to play; 0 while students train."""
    updates: Int[Array, ""]
    """Until the next scan."""


@dataclass(frozen=True)
class Scan:
    """Scans, which nobody learns from, and training on a mixture of what they found and of new levels, in turns."""

    sample: Callable[[PRNGKeyArray], Level]
    levels: int
    settings: ScanSettings
    score: Score
    optimum: Callable[[Level], Array] | None

    def init(self, key: PRNGKeyArray) -> ScanState:
        none = Found(self._new(key, self.settings.keep), jnp.full(self.settings.keep, -1.0, jnp.float32))
        return ScanState(
            none, jax.tree.map(jnp.copy, none), jnp.int32(self.settings.batches(self.levels)), jnp.int32(0)
        )

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: ScanState) -> tuple[ScanState, Proposal]:
        replayed = round(self.settings.share * self.levels)

        def scan() -> tuple[Level, Array]:
            new = self._new(key, self.levels // self.settings.attempts)
            copies = jax.tree.map(lambda x: jnp.repeat(x, self.settings.attempts, axis=0), new)
            return copies, jnp.full(self.levels, GENERATED, jnp.int32)

        def train() -> tuple[Level, Array]:
            k_new, k_kept = jax.random.split(key)
            slots = jax.random.randint(k_kept, (replayed,), 0, self.settings.keep)
            new = self._new(k_new, self.levels - replayed)
            levels = jax.tree.map(lambda old, new: jnp.concatenate([old[slots], new]), state.kept.levels, new)
            return levels, jnp.where(jnp.arange(self.levels) < replayed, REPLAYED, GENERATED).astype(jnp.int32)

        # A counter decides: it is the same for all seeds of a program.
        levels, source = jax.tree.map(lambda x: x[None], jax.lax.cond(state.scans > 0, scan, train))
        return state, Proposal(levels, source, learn=state.scans == 0)

    def observe(
        self, key: PRNGKeyArray, state: ScanState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[ScanState, Info]:
        def scanned() -> tuple[ScanState, Metrics]:
            attempts = pooled(rollout, self.settings.attempts)
            levels = jax.tree.map(lambda x: x[0, :: self.settings.attempts], proposal.levels)
            view = self.score.view(attempts)
            best = view.best if self.optimum is None else jax.vmap(self.optimum)(levels)[None]
            played = Found(levels, self.score(attempts, view, best)[0])
            both = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), state.found, played)
            found = jax.tree.map(lambda x: x[jax.lax.top_k(both.score, self.settings.keep)[1]], both)
            last = state.scans == 1
            kept = jax.tree.map(lambda new, old: jnp.where(last, new, old), found, state.kept)
            following = found._replace(score=jnp.where(last, -1.0, found.score))
            after = ScanState(kept, following, state.scans - 1, jnp.int32(self.settings.every))
            return after, {"scan/score": jnp.maximum(found.score, 0.0).mean()}

        due = jnp.where(state.updates == 1, jnp.int32(self.settings.batches(self.levels)), 0)
        after, metrics = only_if(state.scans > 0, scanned, state._replace(updates=state.updates - 1, scans=due))
        return after, returns_only(rollout)._replace(metrics=metrics)

    def generate(self, key: PRNGKeyArray, state: ScanState) -> Level:
        return jax.tree.map(lambda x: x[None], self._new(key, self.levels))

    def kept(self, state: ScanState) -> Kept:
        return unrelated(*state.kept, size=(state.kept.score >= 0).sum())

    def _new(self, key: PRNGKeyArray, number: int) -> Level:
        return jax.vmap(self.sample)(jax.random.split(key, number))
