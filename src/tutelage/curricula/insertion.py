"""Played levels are inserted one after the other: where each goes, and which level it evicts from a full buffer.

Two ways with the same results to the last bit. ``insert_reference`` passes over all slots for every level of the
batch, and says what is meant. ``insert_candidates`` passes over them a few times for the whole batch: it chooses the
slots that may come to have the least support meanwhile, the candidates, and evicts only among them. It knows a bound
for all others, and so knows when the candidates were not enough.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ..seeds import any_seed, recompute_if
from .ranking import ahead, move, number_ahead, ranks
from .uint64 import UInt64, sum_uint64


class SlotStats(NamedTuple):
    """What a buffer of ``K`` slots knows of its levels."""

    score: Float[Array, " K"]
    best: Float[Array, " K"]
    stamp: Int[Array, " K"]
    order: Int[Array, " K"]
    size: Int[Array, ""]
    clock: Int[Array, ""]

    @property
    def capacity(self) -> int:
        return self.score.shape[0]

    @property
    def staleness(self) -> UInt64:
        """How long ago all levels together were played, exactly."""
        filled = jnp.arange(self.capacity) < self.size
        return sum_uint64(jnp.where(filled, self.clock - self.stamp, 0).astype(jnp.uint32))


class Incoming(NamedTuple):
    """A batch of ``B`` levels to insert."""

    score: Float[Array, " B"]
    best: Float[Array, " B"]
    slot: Int[Array, " B"]
    """Where a level was found, -1 for a newcomer."""
    same: Int[Array, " B"]
    """The first of the batch that is the same level."""
    key: UInt32[Array, "B 2"]
    """Equal for equal levels."""


class Outcome(NamedTuple):
    stats: SlotStats
    placed: Int[Array, " B"]
    """The slot each level went to, -1 for those that were not kept."""
    wrote: Bool[Array, " B"]
    """Was the level the last newcomer in its slot?"""


class Changes(NamedTuple):
    """What inserting a batch makes of a buffer: as many rows as the batch has levels, so it is small."""

    slot: Int[Array, " B"]
    """Those that were played or filled, each once; -1 where there is none."""
    score: Float[Array, " B"]
    best: Float[Array, " B"]
    stamp: Int[Array, " B"]
    rank: Int[Array, " B"]
    size: Int[Array, ""]
    placed: Int[Array, " B"]
    wrote: Bool[Array, " B"]


class Support(Protocol):
    """The replay probability of levels in a full buffer. It never rises when the total staleness does."""

    def __call__(
        self, rank: Array | np.ndarray, score: Array, stamp: Array, clock: Array, staleness: Array
    ) -> Array: ...


# --- every slot, for every level


class _Slots(NamedTuple):
    """All slots while a batch is inserted."""

    score: Array
    best: Array
    stamp: Array
    rank: Array
    writer: Array
    """Which newcomer of the batch took the slot, -1 if none."""
    size: Array


def insert_reference(
    stats: SlotStats, incoming: Incoming, support: Support, first: Int[Array, ""] | None = None
) -> Outcome:
    """One level after the other, each with a look at all slots; of the batch only the ``first`` so many, if given."""
    number, k = incoming.score.shape[0], stats.capacity
    places = jnp.arange(k)

    def insert_one(carry: tuple[_Slots, Array], i: Array) -> tuple[tuple[_Slots, Array], Array]:
        slots, home = carry
        clock, score = stats.clock + i, incoming.score[i]
        slot = home[incoming.same[i]]
        writer = slots.writer[jnp.maximum(slot, 0)]
        # Within the batch a newcomer may have taken the slot.
        known = (slot >= 0) & ((writer < 0) | (incoming.key[writer] == incoming.key[i]).all())
        full = slots.size >= k

        def weakest() -> Array:
            now = SlotStats(slots.score, slots.best, slots.stamp, stats.order, slots.size, clock)
            supports = support(slots.rank, slots.score, slots.stamp, clock, now.staleness.to_float())
            # Of levels with equal support the worst scored is evicted.
            return jnp.argmax(jnp.where(supports == supports.min(), slots.rank, 0)).astype(jnp.int32)

        free = jnp.minimum(slots.size, k - 1)
        victim = jax.lax.cond(any_seed(~known & full), weakest, lambda: free)
        target = jnp.where(known, slot, jnp.where(full, victim, free))
        kept = known | ~full | (slots.score[target] < score)
        if first is not None:
            kept = kept & (i < first)

        old_rank = jnp.where(known | full, slots.rank[target], slots.size + 1)
        size = slots.size + (kept & ~known & ~full)
        others = (places < size) & (places != target)
        new_rank = 1 + (others & ahead(slots.score, places, score, target)).sum(dtype=jnp.int32)
        rank = slots.rank - (others & (slots.rank > old_rank))
        rank = (rank + (others & (rank >= new_rank))).at[target].set(new_rank)
        best = jnp.where(known, jnp.maximum(slots.best[target], incoming.best[i]), incoming.best[i])
        changed = _Slots(
            score=slots.score.at[target].set(score),
            best=slots.best.at[target].set(best),
            stamp=slots.stamp.at[target].set(clock + 1),
            rank=rank,
            writer=slots.writer.at[target].set(jnp.where(known, slots.writer[target], i)),
            size=size,
        )
        slots = jax.tree.map(lambda new, old: jnp.where(kept, new, old), changed, slots)
        placed = jnp.where(kept, target, -1)
        where = placed if first is None else jnp.where(i < first, placed, slot)
        return (slots, home.at[incoming.same[i]].set(where)), placed

    nobody = jnp.full(k, -1, jnp.int32)
    start = _Slots(stats.score, stats.best, stats.stamp, ranks(stats.order), nobody, stats.size)
    # Where each level of the batch lies, kept at the place of the first one that is the same.
    batch = jnp.arange(number, dtype=jnp.int32)
    (slots, _), placed = jax.lax.scan(insert_one, (start, incoming.slot), batch)
    wrote = (placed >= 0) & (slots.writer[jnp.maximum(placed, 0)] == batch)
    order = jnp.zeros_like(stats.order).at[slots.rank - 1].set(jnp.arange(k, dtype=jnp.int32))
    inserted = number if first is None else first
    after = SlotStats(slots.score, slots.best, slots.stamp, order, slots.size, stats.clock + inserted)
    return Outcome(after, placed, wrote)


# --- the candidates, for the whole batch

_BLOCK = 64
_BLOCKS_EACH = 2
"""Candidates are blocks of neighbours in the order, so many for each level to insert. Each may bring one level that was
played just now: twice the batch is enough unless scores and ages are much alike."""


def candidates_suffice(capacity: int, number: int) -> bool:
    """Does it pay to look at candidates only, and are there enough slots to choose them from?"""
    return capacity >= 2 * _BLOCK * _BLOCKS_EACH * number


class _Rows(NamedTuple):
    """Some levels, each once: the candidates, and at the end a row for each level of the batch."""

    slot: Array
    """-1 where there is none."""
    score: Array
    stamp: Array
    rank: Array


class _Work(NamedTuple):
    """What changes while a batch is inserted. ``best`` and ``writer`` belong to the last rows."""

    rows: _Rows
    best: Array
    writer: Array
    home: Array
    size: Array
    stale: UInt64
    enough: Array


def insert_candidates(stats: SlotStats, incoming: Incoming, support: Support) -> tuple[Changes, Bool[Array, ""]]:
    """The same for a large buffer, as changes to it, and whether the candidates were enough to be sure."""
    number, k = incoming.score.shape[0], stats.capacity
    candidates, bound, reach = _candidates(stats, number, support)

    def insert_one(work: _Work, i: Array) -> tuple[_Work, Array]:
        rows, clock, score = work.rows, stats.clock + i, incoming.score[i]
        inserted = jax.tree.map(lambda x: x[-number:], rows)
        slot = work.home[incoming.same[i]]
        writer = jnp.where(inserted.slot == slot, work.writer, -1).max()
        known = (slot >= 0) & ((writer < 0) | (incoming.key[writer] == incoming.key[i]).all())
        full = work.size >= k

        supports = support(jnp.maximum(rows.rank, 1), rows.score, rows.stamp, clock, work.stale.to_float())
        supports = jnp.where(rows.slot >= 0, supports, jnp.inf)
        least = supports.min()
        weakest = jnp.argmax(jnp.where(supports == least, rows.rank, 0))
        # No level but the candidates has as little, or only one that is ranked higher.
        sure = (least < bound) | ((least == bound) & (rows.rank[weakest] > reach))

        target = jnp.where(known, slot, jnp.where(full, rows.slot[weakest], work.size))
        there = rows.slot == target
        at = jnp.where(there.any(), jnp.argmax(there), rows.slot.shape[0] - number + i)
        occupied = known | full
        old_score = jnp.where(there.any(), rows.score[at], stats.score[target])
        old_stamp = jnp.where(there.any(), rows.stamp[at], stats.stamp[target])
        kept = known | ~full | (old_score < score)
        replaces = kept & occupied

        # A slot that the batch comes back to keeps its row; a candidate gets the row of this level.
        place = at - (rows.slot.shape[0] - number)
        again = place >= 0
        place = jnp.where(again, place, i)
        old_best = jnp.where(again & there.any(), work.best[place], stats.best[target])
        rank = rows.rank + (kept & ahead(score, target, rows.score, rows.slot))
        rank = rank - (replaces & ahead(old_score, target, rows.score, rows.slot))

        def put(array: Array, value: Array, at: Array) -> Array:
            return array.at[at].set(jnp.where(kept, value, array[at]))

        row = rows.slot.shape[0] - number + place
        work = _Work(
            rows=_Rows(
                slot=put(jnp.where(kept & there, -1, rows.slot), target, row),
                score=put(rows.score, score, row),
                stamp=put(rows.stamp, clock + 1, row),
                rank=put(rank, _rank(stats, inserted, score, target), row),
            ),
            best=put(work.best, jnp.where(known, jnp.maximum(old_best, incoming.best[i]), incoming.best[i]), place),
            writer=put(work.writer, jnp.where(known, writer, i), place),
            home=work.home.at[incoming.same[i]].set(jnp.where(kept, target, -1)),
            size=work.size + (kept & ~occupied),
            # Everybody grows older by one, and who is played is new.
            stale=work.stale.plus(work.size.astype(jnp.uint32)).minus(
                jnp.where(replaces, clock + 1 - old_stamp, 0).astype(jnp.uint32)
            ),
            enough=work.enough & (known | ~full | sure),
        )
        return work, jnp.where(kept, target, -1)

    nobody = jnp.full(number, -1, jnp.int32)
    none = _Rows(nobody, jnp.zeros(number), nobody, nobody)
    start = _Work(
        rows=jax.tree.map(lambda a, b: jnp.concatenate([a, b]), candidates, none),
        best=jnp.zeros(number),
        writer=nobody,
        home=incoming.slot,
        size=stats.size,
        stale=stats.staleness,
        enough=jnp.array(True),
    )
    work, placed = jax.lax.scan(insert_one, start, jnp.arange(number, dtype=jnp.int32))

    inserted = jax.tree.map(lambda x: x[-number:], work.rows)
    wrote = jnp.zeros(number, bool).at[jnp.where(work.writer >= 0, work.writer, number)].set(True, mode="drop")
    rows = (inserted.slot, inserted.score, work.best, inserted.stamp, inserted.rank)
    return Changes(*rows, work.size, placed, wrote), work.enough


def _candidates(stats: SlotStats, number: int, support: Support) -> tuple[_Rows, Float[Array, ""], Int[Array, ""]]:
    """Levels that may come to have the least support, what that of all others cannot fall below, and the rank that
    those cannot pass.

    While ``number`` levels are inserted, a rank grows by ``number`` at most, no level gets younger that is not played,
    and the total staleness grows by all levels at every step. That gives each level a least support.
    """
    k, place = stats.capacity, jnp.arange(stats.capacity)
    most_stale = stats.staleness.plus_all(jnp.full(number, k, jnp.uint32)).to_float()
    score, stamp = stats.score[stats.order], stats.stamp[stats.order]
    least = support(np.minimum(np.arange(k) + 1 + number, k), score, stamp, stats.clock, most_stale)
    least = jnp.where(place < stats.size, least, jnp.inf)

    blocks, chosen = -(-k // _BLOCK), _BLOCKS_EACH * number
    least = jnp.pad(least, (0, -k % _BLOCK), constant_values=jnp.inf).reshape(blocks, _BLOCK).min(axis=1)
    # Of equals the worst ranked is evicted: the last block is always chosen, and later ones before earlier ones.
    lowest, block = jax.lax.top_k(-least.at[-1].set(-jnp.inf)[::-1], chosen + 1)
    block, bound = blocks - 1 - block[:chosen], -lowest[chosen]
    others = jnp.ones(blocks, bool).at[block].set(False)
    reach = jnp.where(others, jnp.arange(1, blocks + 1), 0).max() * _BLOCK + number

    place = (block[:, None] * _BLOCK + jnp.arange(_BLOCK)).reshape(-1)
    slot = stats.order[jnp.minimum(place, k - 1)]
    filled = place < stats.size
    rows = _Rows(jnp.where(filled, slot, -1), stats.score[slot], stats.stamp[slot], (place + 1).astype(jnp.int32))
    return rows, bound, reach


def _rank(stats: SlotStats, inserted: _Rows, score: Array, slot: Array) -> Int[Array, ""]:
    """The rank that a slot gets with a score, among all others as they are now."""
    was = jnp.append(jnp.where(inserted.slot == slot, -1, inserted.slot), slot)
    gone = (was >= 0) & (was < stats.size) & ahead(stats.score[jnp.maximum(was, 0)], was, score, slot)
    come = (inserted.slot >= 0) & (inserted.slot != slot) & ahead(inserted.score, inserted.slot, score, slot)
    before = number_ahead(stats.order, stats.score, stats.size, score, slot)
    return 1 + before + come.sum(dtype=jnp.int32) - gone.sum(dtype=jnp.int32)


def _places(stats: SlotStats, slots: Int[Array, " B"]) -> Int[Array, " B"]:
    """Where slots were in the order; a slot of -1 is far behind its end."""
    slot = jnp.maximum(slots, 0)
    filled = number_ahead(stats.order, stats.score, stats.size, stats.score[slot], slot)
    return jnp.where(slots < 0, 2 * stats.capacity, jnp.where(slot < stats.size, filled, slot))


def _changes(outcome: Outcome) -> Changes:
    """Those that led to an outcome."""
    stats, placed, wrote = outcome
    batch = jnp.arange(placed.shape[0])
    again = ((placed[:, None] == placed[None, :]) & (batch[:, None] < batch[None, :])).any(axis=1)
    at = jnp.maximum(placed, 0)
    rows = (stats.score[at], stats.best[at], stats.stamp[at], ranks(stats.order)[at])
    return Changes(jnp.where(again, -1, placed), *rows, stats.size, placed, wrote)


def _apply(stats: SlotStats, changes: Changes) -> Outcome:
    """Write changes into a buffer."""
    k, number = stats.capacity, changes.slot.shape[0]
    changed = changes.slot >= 0
    to = jnp.where(changed, changes.slot, k)
    new = jnp.where(changed, changes.rank - 1, 2 * k)
    after = SlotStats(
        score=stats.score.at[to].set(changes.score, mode="drop"),
        best=stats.best.at[to].set(changes.best, mode="drop"),
        stamp=stats.stamp.at[to].set(changes.stamp, mode="drop"),
        order=move(stats.order, changes.slot, _places(stats, changes.slot), new),
        size=changes.size,
        clock=stats.clock + number,
    )
    return Outcome(after, changes.placed, changes.wrote)


def insert_batch(stats: SlotStats, incoming: Incoming, support: Support, candidates: bool) -> Outcome:
    """Whichever way is faster; ``candidates`` says whether looking only at those is."""
    if not candidates:
        return insert_reference(stats, incoming, support)
    changes, enough = insert_candidates(stats, incoming, support)
    # What may have to be worked out anew are the changes, not the buffer: it need not be copied for that.
    changes = recompute_if(~enough, changes, lambda: _changes(insert_reference(stats, incoming, support)))
    return _apply(stats, changes)
