"""A plain-numpy level buffer that does what Algorithms 1 and 2 say, one level at a time; and small buffers to try."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.curricula.buffer import BufferState, LevelBuffer, Played, hash_levels

CAPACITY, BATCH = 5, 6

SETTINGS = [
    LevelBuffer(CAPACITY, "rank", 0.3, 0.3),
    LevelBuffer(CAPACITY, "rank", 1.0, 0.0),
    LevelBuffer(CAPACITY, "rank", 0.3, 1.0),
    LevelBuffer(CAPACITY, "rank", 0.3, 0.3, duplicates=True),
    LevelBuffer(CAPACITY, "proportional", 0.5, 0.3),
    LevelBuffer(CAPACITY, "greedy", 0.3, 0.0),
    LevelBuffer(CAPACITY, "uniform", 0.3, 0.3),
    LevelBuffer(1, "rank", 0.3, 0.3),
    LevelBuffer(13, "proportional", 0.3, 0.0),
    LevelBuffer(13, "proportional", 1.0, 1.0),
    LevelBuffer(16, "greedy", 1.0, 0.3),
    LevelBuffer(16, "greedy", 0.3, 1.0),
    LevelBuffer(7, "uniform", 0.3, 0.0),
    LevelBuffer(7, "uniform", 0.3, 1.0),
]


class Place(NamedTuple):
    """A level. Two levels with one ``cell`` and different ``facing`` are different to play."""

    cell: Any
    facing: Any


def places(numbers: Any) -> Place:
    """Levels ``[B]``; an odd number differs from the even one before it in the direction only."""
    return Place(np.asarray(numbers, np.int32) // 2, np.asarray(numbers, np.int32) % 2)


FLOAT = np.float32


@dataclass
class PlainBuffer:
    """Numpy, one level after the other, with a full search at every lookup and a full sort at every insertion."""

    buffer: LevelBuffer
    number: np.ndarray
    """Which level lies in each slot."""
    score: np.ndarray
    best: np.ndarray
    stamp: np.ndarray
    id: np.ndarray
    parent: np.ndarray
    generation: np.ndarray
    size: int = 0
    clock: int = 0

    @classmethod
    def empty(cls, buffer: LevelBuffer) -> PlainBuffer:
        def fill(value: float, dtype: Any = np.int32) -> np.ndarray:
            return np.full(buffer.capacity, value, dtype)

        return cls(buffer, fill(0), fill(0, FLOAT), fill(-np.inf, FLOAT), fill(0), fill(-1), fill(-1), fill(0))

    def insert(self, number: int, slot: int, score: float, best: float, parent: int, generation: int) -> int:
        """Algorithm 2 for one level. Returns its slot, -1 if it is not kept."""
        id, full = self.clock, self.size == self.buffer.capacity
        if self.buffer.duplicates:
            held = [slot] if slot >= 0 and self.number[slot] == number else []
        else:
            held = np.flatnonzero(self.number[: self.size] == number).tolist()
        weakest = self.weakest() if full and not held else self.size
        self.clock += 1
        if held:
            to = held[0]
            self.score[to], self.best[to], self.stamp[to] = score, max(self.best[to], best), self.clock
            return to
        if full and not self.score[weakest] < score:
            return -1
        self.size += not full
        row = (number, score, best, self.clock, id, parent, generation)
        for array, value in zip(self.arrays(), row, strict=True):
            array[weakest] = value
        return weakest

    def recognise(self, numbers: list[int], slots: list[int], returns: list[float]) -> tuple[list[int], list[float]]:
        """Where each level of a batch lies, and the best return on it so far, level after level."""
        found: list[int] = []
        best: dict[Any, float] = {}
        so_far = []
        for i, (number, slot, played) in enumerate(zip(numbers, slots, returns, strict=True)):
            if slot < 0 and not self.buffer.duplicates:
                slot = next(iter(np.flatnonzero(self.number[: self.size] == number).tolist()), -1)
            # Equal levels that are kept apart are one only where they were drawn from one slot.
            one = number if not self.buffer.duplicates else slot if slot >= 0 else ("newcomer", i)
            before = best.get(one, float(self.best[slot]) if slot >= 0 else -np.inf)
            best[one] = max(before, played)
            found, so_far = [*found, slot], [*so_far, best[one]]
        return found, so_far

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (self.number, self.score, self.best, self.stamp, self.id, self.parent, self.generation)

    def order(self) -> np.ndarray:
        filled = np.argsort(-self.score[: self.size], kind="stable")
        return np.concatenate([filled, np.arange(self.size, self.buffer.capacity)]).astype(np.int32)

    def weakest(self) -> int:
        """The level with the least support; of several, the one with the lowest score, and of those the last."""
        support = self.support()
        return max(np.flatnonzero(support == support.min()), key=lambda i: (-self.score[i], i))

    def support(self) -> np.ndarray:
        """The replay distribution over the filled slots."""
        weight, stale = self.weights(), (self.clock - self.stamp[: self.size]).astype(FLOAT)
        if self.buffer.prioritisation == "proportional":  # numpy's powers and sums have other last bits
            return np.asarray(programs(self.buffer).probabilities(self.state()))[: self.size]
        in_order = self.rank_weights() if self.buffer.prioritisation == "rank" else np.sort(weight)
        total = FLOAT(in_order.astype(np.float64).sum())
        total_stale = as_float(int((self.clock - self.stamp[: self.size].astype(np.int64)).sum()))
        if total_stale == 0:
            stale, total_stale = np.ones_like(stale), FLOAT(self.size)
        by_score = weight * (FLOAT(1 - self.buffer.staleness) / total)
        by_score[by_score < np.finfo(FLOAT).tiny] = 0  # as XLA does
        return by_score + stale * (FLOAT(self.buffer.staleness) / total_stale)

    def rank_weights(self) -> np.ndarray:
        weights = (np.arange(1, self.size + 1) ** (-1 / self.buffer.temperature)).astype(FLOAT)
        return np.where(weights < np.finfo(FLOAT).tiny, FLOAT(0), weights)

    def weights(self) -> np.ndarray:
        score, n = self.score[: self.size], self.size
        rank = np.empty(n, np.int64)
        rank[self.order()[:n]] = np.arange(n)
        if self.buffer.prioritisation == "rank":
            return self.rank_weights()[rank]
        if self.buffer.prioritisation == "greedy":
            return (rank == 0).astype(FLOAT)
        if self.buffer.prioritisation == "uniform" or score.max() <= 0:
            return np.ones(n, FLOAT)
        # Numpy's own powers have other last bits.
        return np.asarray(power(np.maximum(score, 0) / score.max(), 1 / self.buffer.temperature))

    def sample(self, key: Any, number: int) -> np.ndarray:
        """Down from the sum of all to one slot, with a coin at every fork."""
        k_which, k_score, k_stale = jax.random.split(key, 3)
        stale = self.clock - self.stamp[: self.size]
        by_stale = self.walk(k_stale, stale if stale.max() > 0 else np.ones(self.size), number)
        if self.buffer.prioritisation in ("rank", "uniform"):
            weights = self.rank_weights() if self.buffer.prioritisation == "rank" else np.ones(self.size)
            by_score = self.order()[self.walk(k_score, weights, number)]
        elif self.buffer.prioritisation == "greedy":
            by_score = self.order()[0]
        else:
            by_score = self.walk(k_score, self.weights(), number)
        return np.where(np.asarray(jax.random.uniform(k_which, (number,))) < self.buffer.staleness, by_stale, by_score)

    def walk(self, key: Any, weights: np.ndarray, number: int) -> np.ndarray:
        depth = (self.buffer.capacity - 1).bit_length()
        coins = np.asarray(jax.random.uniform(key, (depth, number)))
        leaves = np.zeros(2**depth, FLOAT)
        leaves[: len(weights)] = weights
        # The leaves below a node of some level are those that leave the same remainder.
        nodes = [leaves]
        while len(nodes[0]) > 1:
            half = len(nodes[0]) // 2
            nodes.insert(0, nodes[0][:half] + nodes[0][half:])

        def one(i: int) -> int:
            at = 0
            for level in range(depth):
                left, right = nodes[level + 1][at], nodes[level + 1][at + 2**level]
                at += 2**level * bool(coins[level, i] * nodes[level][at] >= left and right > 0)
            return at

        return np.array([one(i) for i in range(number)])

    def state(self) -> BufferState:
        """The same content as arrays, built from nothing."""
        filled = np.arange(self.buffer.capacity) < self.size
        levels = jax.tree.map(lambda x: np.where(filled, x, 0).astype(np.int32), places(self.number))
        return BufferState(
            levels,
            *(array.copy() for array in self.arrays()[1:]),
            hash=np.where(filled[:, None], hash_jit(levels), 0).astype(np.uint32),
            order=self.order(),
            size=np.int32(self.size),
            clock=np.int32(self.clock),
            next_id=np.int32(self.clock),
        )


def as_float(number: int) -> np.float32:
    return FLOAT(number >> 32) * FLOAT(2**32) + FLOAT(number & 0xFFFFFFFF)


@partial(jax.jit, static_argnums=1)
def power(base: Any, exponent: float) -> Any:
    return jnp.where(base > 0, base**exponent, 0.0)


hash_jit = jax.jit(hash_levels)


class Programs(NamedTuple):
    """A buffer's functions, compiled once for all examples."""

    buffer: LevelBuffer
    probabilities: Any
    sample: Any
    recognise: Any
    insert: Any

    def find(self, state: BufferState, numbers: list[int]) -> list[int]:
        """The slot of each level, if nothing is known but the levels."""
        return self.recognise(state, places(numbers), *newcomers(len(numbers))).slots.tolist()


@cache
def programs(buffer: LevelBuffer, variant: int = 0) -> Programs:
    """``variant`` tells apart programs that were traced while something was changed."""
    # Small buffers are compiled fast and large ones as in earnest: what they give must not depend on it.
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    jit = partial(jax.jit, compiler_options=options if buffer.capacity < 1000 else None)
    # A function of its own each time: JAX takes the methods of equal buffers for one and does not trace them again.
    insert = jit(lambda *args: buffer.insert(*args))
    sample = jit(buffer.sample, static_argnums=2)
    return Programs(buffer, jit(buffer.probabilities), sample, jit(buffer.recognise), insert)


def empty(buffer: LevelBuffer) -> BufferState:
    return buffer.init(Place(np.int32(0), np.int32(0)))


def newcomers(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Slots and returns of levels of which nothing is known."""
    return np.full(number, -1, np.int32), np.full(number, -np.inf, FLOAT)


def put(
    run: Programs, state: BufferState, numbers: list[int], scores: list[float], slots: list[int] | None = None,
    best: list[float] | None = None,
) -> tuple[BufferState, list[int]]:  # fmt: skip
    """Insert a batch as a curriculum does: stored levels are recognised first. Parent and generation are made up."""
    unknown, never = newcomers(len(numbers))
    given_slots = unknown if slots is None else np.array(slots, np.int32)
    returns = never if best is None else np.array(best, FLOAT)
    # The returns themselves, not the best in the batch: whatever is inserted, the buffer's own never fall.
    played: Played = run.recognise(state, places(numbers), given_slots, returns)._replace(best=returns)
    number = np.array(numbers, np.int32)
    state, placed = run.insert(state, played, np.array(scores, FLOAT), 100 + number, number)
    return state, placed.tolist()


def filled(run: Programs, scores: list[float]) -> BufferState:
    """A full buffer of the levels 0, 1, 2, ... and whatever the rest of the batch brings: nothing."""
    numbers = list(range(CAPACITY))
    return put(run, empty(run.buffer), [*numbers, numbers[-1]], [*scores, scores[-1]])[0]


RANKED = programs(SETTINGS[1])
"""By rank only: the level with the least support is the one with the lowest score."""
