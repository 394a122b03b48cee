"""The level buffer of prioritised level replay (thesis, Algorithms 1 and 2).

A buffer is a frozen description (``LevelBuffer``) of what to do with a state of arrays (``BufferState``). Filled slots
are always the first ``size`` ones: a level is inserted at the end, or in the place of one that is evicted.

A played batch takes two calls, because a score may depend on the best return so far: ``recognise`` finds the levels
and their best returns, and ``insert`` takes them with their scores.

The clock counts level draws, the thesis's "episodes sampled": the ``i``-th level of a batch is stamped
``clock + i + 1`` and a batch of ``B`` advances the clock by ``B``, also for levels that were not kept. Who counts
replayed levels only stops it for all others (``with_clock_stopped``).

A buffer may hold a million levels. So drawing and inserting a batch pass over the slots a few times and never sort
them: the order by score is part of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from ..errors import require, unknown
from ..seeds import any_seed, recompute_if
from ..types import Level
from . import sum_tree
from .insertion import Incoming, Outcome, SlotStats, candidates_suffice, insert_batch, insert_reference
from .ranking import ranks, sort

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
    order: Int[Array, " K"]
    """Slots by descending score, of equal scores the lower slot first; then the free ones."""
    size: Int[Array, ""]
    clock: Int[Array, ""]
    next_id: Int[Array, ""]

    @property
    def capacity(self) -> int:
        return self.score.shape[0]

    @property
    def filled(self) -> Bool[Array, " K"]:
        return jnp.arange(self.capacity) < self.size


class Played(NamedTuple):
    """A batch of ``B`` played levels as the buffer recognises them, in the order in which they count as played."""

    levels: Level
    slots: Int[Array, " B"]
    """Where each level lies, -1 for a newcomer."""
    best: Float[Array, " B"]
    """The best return on each level so far, this batch included."""
    keys: UInt32[Array, "B 2"]
    """The levels' hashes."""


@dataclass(frozen=True)
class LevelBuffer:
    """How levels are weighted, drawn, inserted and evicted."""

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
            order=jnp.arange(k, dtype=jnp.int32),
            size=jnp.int32(0),
            clock=jnp.int32(0),
            next_id=jnp.int32(0),
        )

    # --- drawing

    def probabilities(self, state: BufferState) -> Float[Array, " K"]:
        """The replay distribution: (1 - staleness) P_S + staleness P_C over filled slots, 0 elsewhere."""
        return self._support(ranks(state.order), state.score, state.stamp, state.clock, _stale(state), state.size)

    def sample(self, key: PRNGKeyArray, state: BufferState, number: int) -> Int[Array, " number"]:
        """Draw slots from the replay distribution, with replacement. The buffer must not be empty."""
        k_which, k_score, k_stale = jax.random.split(key, 3)
        stale = jnp.where(state.filled, state.clock - state.stamp, 0)
        stale = jnp.where(stale.max() > 0, stale, state.filled).astype(jnp.float32)
        if self.prioritisation == "proportional":
            weights = self._proportional(state.score, state.filled)
            by_score = sum_tree.sample(k_score, weights, number)
        else:
            # The filled slots are the first ones, and so are the ranks that they have.
            weights = jnp.where(state.filled, jnp.asarray(self._rank_table), 0.0)
            by_score = state.order[sum_tree.sample(k_score, weights, number)]
        by_stale = sum_tree.sample(k_stale, stale, number)
        return jnp.where(jax.random.uniform(k_which, (number,)) < self.staleness, by_stale, by_score)

    def take(self, state: BufferState, slots: Int[Array, " B"]) -> Level:
        """The levels in some slots."""
        return jax.tree.map(lambda x: x[slots], state.levels)

    def _support(
        self,
        rank: Array | np.ndarray,
        score: Array,
        stamp: Array,
        clock: Array,
        staleness: Array,
        size: Array | None = None,
    ) -> Float[Array, " n"]:
        """The replay probability of levels of a buffer that holds ``size`` levels; without a size, of a full one."""
        number = jnp.int32(self.capacity) if size is None else size
        filled = jnp.asarray(rank) <= number
        if self.prioritisation == "proportional":
            weight = self._proportional(score, filled)
            total = sum_tree.build(weight)[-1][0]
        else:
            # Ranks that are known now are looked up now: XLA would take seconds for a million of them.
            table = self._rank_table if isinstance(rank, np.ndarray) else jnp.asarray(self._rank_table)
            weight = table[rank - 1]
            total = jnp.asarray(self._rank_totals)[jnp.maximum(number - 1, 0)]
        by_score = weight * (jnp.float32(1 - self.staleness) / jnp.maximum(total, 1e-30))
        stale = jnp.where(staleness > 0, (clock - stamp).astype(jnp.float32), 1.0)
        by_stale = stale * (jnp.float32(self.staleness) / jnp.where(staleness > 0, staleness, jnp.maximum(number, 1)))
        # The maxima change nothing, but keep a compiler from joining a product and the sum, here and not elsewhere: the
        # same level must get the same bits wherever its support is computed.
        return jnp.where(filled, jnp.maximum(by_score, 0.0) + jnp.maximum(by_stale, 0.0), 0.0)

    def _proportional(self, score: Array, filled: Array) -> Float[Array, " n"]:
        """Relative to the highest, so that a small temperature does not overflow; negative scores weigh nothing."""
        highest = jnp.where(filled, score, 0.0).max()
        relative = jnp.clip(score / jnp.where(highest > 0, highest, 1.0), 0.0, 1.0)
        weight = jnp.where(relative > 0, relative ** (1 / self.temperature), 0.0)
        return jnp.where(filled, jnp.where(highest > 0, weight, 1.0), 0.0)

    @property
    def _rank_table(self) -> np.ndarray:
        """The weight of each rank, where that is all that counts. What is too small for XLA is 0 here as there."""
        rank = np.arange(1, self.capacity + 1, dtype=np.float64)
        exponent = {"rank": 1 / self.temperature, "greedy": np.inf, "uniform": 0.0}[self.prioritisation]
        table = (rank**-exponent).astype(np.float32)
        return np.where(table < np.finfo(np.float32).tiny, np.float32(0), table)

    @property
    def _rank_totals(self) -> np.ndarray:
        """The weights of the first ranks together, for every number of them."""
        return np.cumsum(self._rank_table, dtype=np.float64).astype(np.float32)

    # --- inserting

    def recognise(
        self, state: BufferState, levels: Level, slots: Int[Array, " B"], returns: Float[Array, " B"]
    ) -> Played:
        """Where played levels lie and the best return on each. ``slots`` are those they were drawn from, -1 if none."""
        keys, slots = hash_levels(levels), jnp.asarray(slots, jnp.int32)
        # Levels that were all drawn from the buffer need no search.
        slots = jax.lax.cond(
            any_seed((slots < 0).any()),
            lambda: jnp.where(slots < 0, self._find(state, levels, keys), slots),
            lambda: slots,
        )
        return Played(levels, slots, self._best_return(state, keys, slots, returns), keys)

    def insert(
        self,
        state: BufferState,
        played: Played,
        score: Float[Array, " B"],
        parent: Int[Array, " B"],
        generation: Int[Array, " B"],
        there: Bool[Array, " B"] | None = None,
    ) -> tuple[BufferState, Int[Array, " B"]]:
        """Insert played levels one after the other. Returns the slot of each, -1 for those that were not kept.

        Levels that are not ``there`` were not played after all, and are as if nobody had proposed them.

        A level that the buffer holds gets its new score and stamp; its best return never falls. A newcomer fills a free
        slot or, in a full buffer, evicts the level with the least support if that one's score is lower.
        """
        # What is stored is always finite, and so are sums and ratios of it.
        score = jnp.clip(jnp.nan_to_num(score, nan=0.0), -1e30, 1e30)
        if there is not None:
            return self._insert_some(state, played, score, parent, generation, there)
        number = score.shape[0]
        same = self._first_same(played.levels, played.keys)
        incoming = Incoming(score, played.best, played.slots, same, played.keys)
        # A proportional weight depends on all scores at once, so nothing less than all of them will do.
        candidates = candidates_suffice(self.capacity, number) and self.prioritisation != "proportional"
        outcome = insert_batch(_stats(state), incoming, self._support, candidates)
        return self._written(state, played, parent, generation, outcome), outcome.placed

    def _insert_some(
        self, state: BufferState, played: Played, score: Array, parent: Array, generation: Array, there: Array
    ) -> tuple[BufferState, Int[Array, " B"]]:
        """The same for those levels of a batch that were played, which then come first."""
        order = jnp.argsort(~there, stable=True)
        played, score, parent, generation = jax.tree.map(lambda x: x[order], (played, score, parent, generation))
        same = self._first_same(played.levels, played.keys)
        incoming = Incoming(score, played.best, played.slots, same, played.keys)
        outcome = insert_reference(_stats(state), incoming, self._support, there.sum(dtype=jnp.int32))
        after = self._written(state, played, parent, generation, outcome)
        return after, jnp.zeros_like(outcome.placed).at[order].set(outcome.placed)

    def _written(
        self, state: BufferState, played: Played, parent: Array, generation: Array, outcome: Outcome
    ) -> BufferState:
        """A buffer after an insertion."""
        stats, placed, wrote = outcome
        number = placed.shape[0]
        # Only now are the levels themselves written, each to the slot where it was the last newcomer.
        to = jnp.where(wrote, placed, self.capacity)

        def write(old: Array, new: Array) -> Array:
            return old.at[to].set(new.astype(old.dtype), mode="drop")

        return BufferState(
            levels=jax.tree.map(write, state.levels, played.levels),
            score=stats.score,
            best=stats.best,
            stamp=stats.stamp,
            id=write(state.id, state.next_id + jnp.arange(number)),
            parent=write(state.parent, parent),
            generation=write(state.generation, generation),
            hash=write(state.hash, played.keys),
            order=stats.order,
            size=stats.size,
            clock=stats.clock,
            next_id=state.next_id + stats.clock - state.clock,
        )

    def _find(self, state: BufferState, levels: Level, keys: UInt32[Array, "B 2"]) -> Int[Array, " B"]:
        """The slot that holds each level, -1 for a level that is in none."""
        if self.duplicates:
            return jnp.full(keys.shape[0], -1, jnp.int32)
        slot = slots_of(keys, state.hash, state.size)
        same = jax.vmap(_equal)(jax.tree.map(lambda x: x[jnp.maximum(slot, 0)], state.levels), levels)
        return jnp.where((slot >= 0) & same, slot, -1)

    def with_clock_stopped(self, before: BufferState, after: BufferState, placed: Int[Array, " B"]) -> BufferState:
        """An insertion during which nobody aged, where the clock counts replayed levels only: who was played is new."""
        played = jnp.zeros(self.capacity, bool).at[jnp.where(placed >= 0, placed, self.capacity)].set(True, mode="drop")
        return after._replace(stamp=jnp.where(played, before.clock, before.stamp), clock=before.clock)

    def _first_same(self, levels: Level, keys: UInt32[Array, "B 2"]) -> Int[Array, " B"]:
        """For each level the first one of the batch that is the same: often itself."""
        order = jnp.arange(keys.shape[0])
        if self.duplicates:
            return order
        first = jnp.argmax((keys[:, None] == keys[None, :]).all(-1), axis=1)
        level = jax.tree.map(lambda x: x[first], levels)
        return jnp.where(jax.vmap(_equal)(level, levels), first, order).astype(jnp.int32)

    def _best_return(
        self, state: BufferState, keys: UInt32[Array, "B 2"], slots: Int[Array, " B"], returns: Float[Array, " B"]
    ) -> Float[Array, " B"]:
        """In the buffer and the batch up to each level: one that comes twice remembers the first time."""
        order = jnp.arange(returns.shape[0])
        same = (keys[:, None] == keys[None, :]).all(-1) & (order[None, :] <= order[:, None])
        if self.duplicates:
            same = same & ((order[:, None] == order[None, :]) | ((slots[:, None] == slots[None, :]) & (slots >= 0)))
        before = jnp.where(slots >= 0, state.best[jnp.maximum(slots, 0)], -jnp.inf)
        return jnp.maximum(before, jnp.where(same, returns[None, :], -jnp.inf).max(axis=1))


def _stats(state: BufferState) -> SlotStats:
    return SlotStats(state.score, state.best, state.stamp, state.order, state.size, state.clock)


def _stale(state: BufferState) -> Float[Array, ""]:
    return _stats(state).staleness.to_float()


def ordered(state: BufferState) -> BufferState:
    """A state made by hand, with its order found by a sort."""
    return state._replace(order=sort(state.score, state.size))


def slots_of(keys: UInt32[Array, "B 2"], hashes: UInt32[Array, "K 2"], size: Int[Array, ""]) -> Int[Array, " B"]:
    """The last of the first ``size`` slots with each key as its hash, -1 where there is none."""
    capacity, number = hashes.shape[0], keys.shape[0]

    def among_all() -> Int[Array, " B"]:
        place = jnp.arange(capacity, dtype=jnp.int32)
        place = jnp.where(place < size, place, -1)
        first, second = jax.lax.optimization_barrier((hashes[:, 0], hashes[:, 1]))
        return jax.lax.map(lambda key: jnp.where((first == key[0]) & (second == key[1]), place, -1).max(), keys)

    blocks, most = -(-capacity // _BLOCK), 8 * number
    if blocks < 4 * most:
        return among_all()
    # Few slots share their first bits with a key, so few blocks of slots have to be compared with them.
    marked = jnp.zeros(2**20, bool).at[keys[:, 0] >> 12].set(True)
    hit = jnp.pad(marked[hashes[:, 0] >> 12], (0, -capacity % _BLOCK)).reshape(blocks, _BLOCK).any(axis=1)
    block = jnp.nonzero(hit, size=most, fill_value=0)[0]
    near = jnp.minimum((block[:, None] * _BLOCK + jnp.arange(_BLOCK)).reshape(-1), capacity - 1)
    same = (hashes[near][:, None] == keys).all(axis=-1) & (near < size)[:, None]
    found = jnp.where(same, near[:, None], -1).max(axis=0).astype(jnp.int32)
    return recompute_if(hit.sum() > most, found, among_all)


_BLOCK = 64
"""Slots that are compared together."""


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
