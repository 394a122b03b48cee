"""The level buffer of prioritised level replay (thesis, Algorithms 1 and 2).

A buffer is a frozen description (``LevelBuffer``) of what to do with a state of arrays (``BufferState``). Filled slots
are always the first ``size`` ones: a level enters at the end, or in the place of one that leaves.

The clock counts level draws, the thesis's "episodes sampled": the ``i``-th level of a batch is stamped
``clock + i + 1`` and a batch of ``B`` advances the clock by ``B``, also for levels that were not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from ..errors import require, unknown
from ..seeds import anybody
from ..types import Level

Prioritisation = Literal["rank", "proportional", "greedy", "uniform"]


class BufferState(NamedTuple):
    """The arrays of a buffer of ``K`` slots."""

    levels: Level
    score: Float[Array, " K"]
    best: Float[Array, " K"]
    """Highest return ever seen on the level; minus infinity before its first complete episode."""
    stamp: Int[Array, " K"]
    """The clock when the level was last played."""
    id: Int[Array, " K"]
    parent: Int[Array, " K"]
    generation: Int[Array, " K"]
    hash: UInt32[Array, "K 2"]
    size: Int[Array, ""]
    clock: Int[Array, ""]
    next_id: Int[Array, ""]

    @property
    def capacity(self) -> int:
        return self.score.shape[0]

    @property
    def filled(self) -> Bool[Array, " K"]:
        return jnp.arange(self.capacity) < self.size


class Entries(NamedTuple):
    """A batch of ``B`` played levels, in the order in which they count as played."""

    levels: Level
    slots: Int[Array, " B"]
    """Where a level was drawn from, -1 for a newcomer."""
    score: Float[Array, " B"]
    best: Float[Array, " B"]
    parent: Int[Array, " B"]
    generation: Int[Array, " B"]


@dataclass(frozen=True)
class LevelBuffer:
    """How levels are weighted, drawn, kept and dropped."""

    capacity: int
    prioritisation: Prioritisation = "rank"
    temperature: float = 0.3
    staleness: float = 0.3
    duplicates: bool = False
    """Keep equal levels apart. Otherwise two equal levels are one."""

    def __post_init__(self) -> None:
        require(self.capacity >= 1, f"A level buffer of capacity {self.capacity} holds nothing; give at least 1.")
        require(self.temperature > 0, f"The temperature is {self.temperature}; give a number greater than 0.")
        require(0 <= self.staleness <= 1, f"The staleness is {self.staleness}; give a number from 0 to 1.")
        if self.prioritisation not in ("rank", "proportional", "greedy", "uniform"):
            raise unknown("prioritisation", self.prioritisation, ("rank", "proportional", "greedy", "uniform"))

    def init(self, level: Level) -> BufferState:
        """An empty buffer for levels shaped like ``level``."""
        k = self.capacity
        # No two fields share an array: a state may be donated to a compiled function.
        return BufferState(
            levels=jax.tree.map(lambda x: jnp.zeros((k, *jnp.shape(x)), jnp.result_type(x)), level),
            score=jnp.zeros(k),
            best=jnp.full(k, -jnp.inf, jnp.float32),
            stamp=jnp.zeros(k, jnp.int32),
            id=jnp.full(k, -1, jnp.int32),
            parent=jnp.full(k, -1, jnp.int32),
            generation=jnp.zeros(k, jnp.int32),
            hash=jnp.zeros((k, 2), jnp.uint32),
            size=jnp.int32(0),
            clock=jnp.int32(0),
            next_id=jnp.int32(0),
        )

    # --- drawing

    def probabilities(self, state: BufferState) -> Float[Array, " K"]:
        """The replay distribution: (1 - staleness) P_S + staleness P_C over filled slots, 0 elsewhere."""
        return self._support(state.score, state.stamp, _ranks(state.score, state.size), state.size, state.clock)

    def sample(self, key: PRNGKeyArray, state: BufferState, number: int) -> Int[Array, " number"]:
        """Draw slots from the replay distribution, with replacement. The buffer must not be empty."""
        mass = jnp.cumsum(self.probabilities(state))
        drawn = jnp.searchsorted(mass, jax.random.uniform(key, (number,)) * mass[-1], side="right")
        # Rounding may carry a draw past the last slot that has weight.
        return jnp.minimum(drawn, jnp.maximum(state.size - 1, 0)).astype(jnp.int32)

    def take(self, state: BufferState, slots: Int[Array, " B"]) -> Level:
        """The levels in some slots."""
        return jax.tree.map(lambda x: x[slots], state.levels)

    def _support(self, score: Array, stamp: Array, rank: Array, size: Array, clock: Array) -> Float[Array, " K"]:
        filled = jnp.arange(self.capacity) < size
        uniform = filled / jnp.maximum(size, 1).astype(jnp.float32)
        p_score = self._score_weights(score, rank, size, filled, uniform)
        stale = jnp.where(filled, clock - stamp, 0).astype(jnp.float32)
        total = stale.sum()
        p_stale = jnp.where(total > 0, stale / jnp.where(total > 0, total, 1.0), uniform)
        return (1 - self.staleness) * p_score + self.staleness * p_stale

    def _score_weights(self, score: Array, rank: Array, size: Array, filled: Array, uniform: Array) -> Array:
        if self.prioritisation == "uniform":
            return uniform
        if self.prioritisation == "greedy":
            return (filled & (rank == 1)).astype(jnp.float32)
        if self.prioritisation == "rank":
            table = jnp.asarray(self._rank_table)
            # The total is summed in the order of the ranks, so that it does not depend on where levels lie.
            total = jnp.where(jnp.arange(self.capacity) < size, table, 0.0).sum()
            return jnp.where(filled, table[jnp.clip(rank - 1, 0, self.capacity - 1)], 0.0) / jnp.maximum(total, 1e-30)
        highest = jnp.maximum(jnp.where(filled, score, 0.0).max(), 0.0)
        # Relative to the highest, so that a small temperature does not overflow; negative scores weigh nothing.
        relative = jnp.where(filled, jnp.maximum(score, 0.0) / jnp.where(highest > 0, highest, 1.0), 0.0)
        weight = jnp.where(relative > 0, relative ** (1 / self.temperature), 0.0)
        return jnp.where(highest > 0, weight / jnp.where(highest > 0, weight.sum(), 1.0), uniform)

    @property
    def _rank_table(self) -> np.ndarray:
        return (np.arange(1, self.capacity + 1, dtype=np.float64) ** (-1 / self.temperature)).astype(np.float32)

    # --- keeping

    def find(self, state: BufferState, levels: Level) -> Int[Array, " B"]:
        """The slot that holds each of ``levels``, -1 for a level that is in none."""
        keys = hash_levels(levels)
        if self.duplicates:
            return jnp.full(keys.shape[0], -1, jnp.int32)

        def one(key: Array, level: Level) -> Array:
            same = (state.hash[:, 0] == key[0]) & (state.hash[:, 1] == key[1]) & state.filled
            slot = jnp.argmax(same)
            return jnp.where(same.any() & _equal(jax.tree.map(lambda x: x[slot], state.levels), level), slot, -1)

        return jax.lax.map(lambda x: one(*x), (keys, levels), batch_size=32).astype(jnp.int32)

    def update(self, state: BufferState, entries: Entries) -> tuple[BufferState, Int[Array, " B"]]:
        """Enter played levels one after the other. Returns the slot each went to, -1 for those that were not kept.

        A level that the buffer holds gets its new score and stamp; its best return never falls. A newcomer fills a free
        slot or, in a full buffer, replaces the level with the least support if that one's score is lower.

        One sort ranks the buffer at the start; each level after that moves ranks by comparing, without a sort.
        """
        keys = hash_levels(entries.levels)
        # What is stored is always finite, and so are sums and ratios of it.
        score = jnp.clip(jnp.nan_to_num(entries.score, nan=0.0), -1e30, 1e30)
        same = self._first_same(keys, entries)
        places = jnp.arange(self.capacity)
        number = score.shape[0]

        def enter(carry: tuple[_Table, Array], i: Array) -> tuple[tuple[_Table, Array], Array]:
            table, home = carry
            clock = state.clock + i + 1
            slot = home[same[i]]
            # Within the batch a newcomer may have taken the slot.
            known = (slot >= 0) & (table.hash[jnp.maximum(slot, 0)] == keys[i]).all()
            full = table.size >= self.capacity

            def weakest() -> Array:
                support = self._support(table.score, table.stamp, table.rank, table.size, clock - 1)
                # Of levels with equal support the worst scored leaves.
                return jnp.argmax(jnp.where(support == support.min(), table.rank, 0)).astype(jnp.int32)

            free = jnp.minimum(table.size, self.capacity - 1)
            leaver = jax.lax.cond(anybody(~known & full), weakest, lambda: free)
            target = jnp.where(known, slot, jnp.where(full, leaver, free))
            kept = known | ~full | (table.score[target] < score[i])

            old_rank = jnp.where(known | full, table.rank[target], table.size + 1)
            size = table.size + (kept & ~known & ~full)
            others = (places < size) & (places != target)
            ahead = (table.score > score[i]) | ((table.score == score[i]) & (places < target))
            new_rank = 1 + (others & ahead).sum()
            rank = table.rank - (others & (table.rank > old_rank))
            rank = rank + (others & (rank >= new_rank))
            rank = rank.at[target].set(new_rank.astype(jnp.int32))

            best = jnp.where(known, jnp.maximum(table.best[target], entries.best[i]), entries.best[i])
            changed = _Table(
                score=table.score.at[target].set(score[i]),
                stamp=table.stamp.at[target].set(clock),
                rank=rank,
                hash=table.hash.at[target].set(keys[i]),
                best=table.best.at[target].set(best),
                writer=table.writer.at[target].set(jnp.where(known, table.writer[target], i)),
                size=size,
            )
            table = jax.tree.map(lambda new, old: jnp.where(kept, new, old), changed, table)
            placed = jnp.where(kept, target, -1)
            return (table, home.at[same[i]].set(placed)), placed

        start = _Table(
            score=state.score,
            stamp=state.stamp,
            rank=_ranks(state.score, state.size),
            hash=state.hash,
            best=state.best,
            writer=jnp.full(self.capacity, -1, jnp.int32),
            size=state.size,
        )
        # Where each level of the batch lies, kept at the place of the first one that is the same.
        home = entries.slots.astype(jnp.int32)
        (table, _), placed = jax.lax.scan(enter, (start, home), jnp.arange(number))

        # Only now are the levels themselves written, each to the slot where it was the last newcomer.
        wrote = (placed >= 0) & (table.writer[jnp.maximum(placed, 0)] == jnp.arange(number))
        to = jnp.where(wrote, placed, self.capacity)

        def write(old: Array, new: Array) -> Array:
            return old.at[to].set(new.astype(old.dtype), mode="drop")

        new_state = BufferState(
            levels=jax.tree.map(write, state.levels, entries.levels),
            score=table.score,
            best=table.best,
            stamp=table.stamp,
            id=write(state.id, state.next_id + jnp.arange(number)),
            parent=write(state.parent, entries.parent),
            generation=write(state.generation, entries.generation),
            hash=table.hash,
            size=table.size,
            clock=state.clock + number,
            next_id=state.next_id + number,
        )
        return new_state, placed

    def _first_same(self, keys: Array, entries: Entries) -> Int[Array, " B"]:
        """For each level the first one of the batch that is the same: often itself."""
        order = jnp.arange(keys.shape[0])
        if self.duplicates:
            return order
        first = jnp.argmax((keys[:, None] == keys[None, :]).all(-1), axis=1)
        level = jax.tree.map(lambda x: x[first], entries.levels)
        return jnp.where(jax.vmap(_equal)(level, entries.levels), first, order).astype(jnp.int32)

    def best_return(
        self, state: BufferState, levels: Level, slots: Int[Array, " B"], played: Float[Array, " B"]
    ) -> Float[Array, " B"]:
        """The best return on each level so far, this batch included: a level that comes twice remembers the first."""
        keys, order = hash_levels(levels), jnp.arange(played.shape[0])
        same = (keys[:, None] == keys[None, :]).all(-1) & (order[None, :] <= order[:, None])
        if self.duplicates:
            same = same & ((order[:, None] == order[None, :]) | ((slots[:, None] == slots[None, :]) & (slots >= 0)))
        before = jnp.where(slots >= 0, state.best[jnp.maximum(slots, 0)], -jnp.inf)
        return jnp.maximum(before, jnp.where(same, played[None, :], -jnp.inf).max(axis=1))


class _Table(NamedTuple):
    """What changes while a batch is entered."""

    score: Array
    stamp: Array
    rank: Array
    hash: Array
    best: Array
    writer: Array
    size: Array


def _ranks(score: Float[Array, " K"], size: Int[Array, ""]) -> Int[Array, " K"]:
    """Rank of each filled slot by descending score, from 1; of equal scores the lower slot comes first."""
    k = score.shape[0]
    order = jnp.argsort(jnp.where(jnp.arange(k) < size, -score, jnp.inf), stable=True)
    return jnp.zeros(k, jnp.int32).at[order].set(jnp.arange(1, k + 1, dtype=jnp.int32))


def _equal(a: Level, b: Level) -> Bool[Array, ""]:
    """Are two levels the same in everything that makes them what they are?"""
    return jnp.stack([(x == y).all() for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)]).all()


def hash_levels(levels: Level) -> UInt32[Array, "B 2"]:
    """Two 32-bit hashes of each level, over every bit. Equality is decided by the levels; this only finds them."""
    words = jnp.concatenate([_words(x) for x in jax.tree.leaves(levels)], axis=1)
    # Fixed odd multipliers: the hash is part of a checkpoint and must never change.
    multipliers = np.random.default_rng(20260101).integers(0, 2**31, (words.shape[1], 2), dtype=np.uint32) * 2 + 1
    mixed = (words[:, :, None] * jnp.asarray(multipliers)).sum(axis=1, dtype=jnp.uint32)
    mixed = (mixed ^ (mixed >> 16)) * jnp.uint32(0x85EBCA6B)
    return mixed ^ (mixed >> 13)


def _words(x: Array) -> UInt32[Array, "B n"]:
    x = jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.floating):
        x = jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
    return x.astype(jnp.uint32).reshape(x.shape[0], -1)
