"""The level buffer against a plain-Python one that does what Algorithms 1 and 2 say, one level at a time."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tutelage.curricula import buffer as finding
from tutelage.curricula.buffer import BufferState, Entries, LevelBuffer, hash_levels, ordered
from tutelage.curricula.uint64 import sum_uint64
from tutelage.errors import UserError

CAPACITY, BATCH = 5, 6


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

    def enter(self, number: int, slot: int, score: float, best: float, parent: int, generation: int) -> int:
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


def tree(weights: np.ndarray, capacity: int = 1) -> np.float32:
    """The sum of the two halves' sums, and so on down."""
    size = max(len(weights), capacity)
    weights = np.pad(weights.astype(FLOAT), (0, 2 ** (size - 1).bit_length() - len(weights)))
    while len(weights) > 1:
        weights = weights[: len(weights) // 2] + weights[len(weights) // 2 :]
    return weights[0]


@partial(jax.jit, static_argnums=1)
def power(base: Any, exponent: float) -> Any:
    return jnp.where(base > 0, base**exponent, 0.0)


hash_jit = jax.jit(hash_levels)


class Programs(NamedTuple):
    """A buffer's functions, compiled once for all examples."""

    buffer: LevelBuffer
    probabilities: Any
    sample: Any
    find: Any
    update: Any
    best_return: Any


@cache
def programs(buffer: LevelBuffer, variant: int = 0) -> Programs:
    """``variant`` tells apart programs that were traced while something was changed."""
    # Small buffers are compiled fast and large ones as in earnest: what they give must not depend on it.
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    jit = partial(jax.jit, compiler_options=options if buffer.capacity < 1000 else None)
    # A function of its own each time: JAX takes the methods of equal buffers for one and does not trace them again.
    functions = (buffer.find, lambda *args: buffer.update(*args), buffer.best_return)
    sample = jit(buffer.sample, static_argnums=2)
    return Programs(buffer, jit(buffer.probabilities), sample, *(jit(function) for function in functions))


def empty(buffer: LevelBuffer) -> BufferState:
    return buffer.init(Place(np.int32(0), np.int32(0)))


def put(
    run: Programs, state: BufferState, numbers: list[int], scores: list[float], slots: list[int] | None = None,
    best: list[float] | None = None,
) -> tuple[BufferState, list[int]]:  # fmt: skip
    """Enter a batch as a curriculum does: stored levels are recognised first. Parent and generation are made up."""
    levels = places(numbers)
    given_slots = np.array([-1] * len(numbers) if slots is None else slots, np.int32)
    given_slots = np.where(given_slots < 0, run.find(state, levels), given_slots)
    returns = np.array([-np.inf] * len(numbers) if best is None else best, np.float32)
    number = np.array(numbers, np.int32)
    entries = Entries(levels, given_slots, np.array(scores, np.float32), returns, 100 + number, number)
    state, placed = run.update(state, entries)
    return state, placed.tolist()


# --- one batch is its levels one by one

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
LARGER = [
    LevelBuffer(60, "rank", 0.3, 0.3),
    LevelBuffer(60, "rank", 1.0, 0.3),
    LevelBuffer(59, "rank", 0.01, 0.0),
    LevelBuffer(60, "proportional", 0.5, 0.3, duplicates=True),
    LevelBuffer(60, "proportional", 0.3, 0.0),
    LevelBuffer(41, "greedy", 1.0, 0.3),
    LevelBuffer(41, "uniform", 0.3, 0.3),
    LevelBuffer(60, "uniform", 0.3, 0.0),
]

# What a batch brings: a level by its number, or (as a negative number) a slot to be replayed.
played = st.tuples(
    st.integers(-CAPACITY, 9),
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, -1.0]),
    st.sampled_from([-np.inf, -3.0, 0.0, 1.0]),
)
batches = st.lists(st.lists(played, min_size=BATCH, max_size=BATCH), min_size=1, max_size=5)


def batch(*entries: tuple[int, float]) -> list[tuple[int, float, float]]:
    return [(number, score, 0.0) for number, score in entries]


FULL = batch((0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (4, 2.0))


def name(buffer: LevelBuffer) -> str:
    return "-".join(str(getattr(buffer, f.name)) for f in fields(buffer))


def enter_both(run: Programs, plain: PlainBuffer, state: BufferState, entries: list[Any]) -> BufferState:
    """Enter a batch here and, one by one, there; everything must be the same, to the bit."""
    slots = [-1 - n if n < 0 and -1 - n < plain.size else -1 for n, _, _ in entries]
    numbers = [int(plain.number[s]) if s >= 0 else abs(n) for s, (n, _, _) in zip(slots, entries, strict=True)]
    scores, best = [score for _, score, _ in entries], [b for _, _, b in entries]
    state, placed = put(run, state, numbers, scores, slots, best)
    expected = [
        plain.enter(n, slot, score, b, 100 + n, n)
        for n, slot, score, b in zip(numbers, slots, scores, best, strict=True)
    ]
    assert placed == expected
    jax.tree.map(np.testing.assert_array_equal, state, plain.state())
    key = jax.random.key(plain.clock)
    np.testing.assert_array_equal(run.sample(key, state, 5), plain.sample(key, 5))
    np.testing.assert_array_equal(run.probabilities(state)[: plain.size], plain.support())
    return state


@pytest.mark.parametrize("buffer", SETTINGS, ids=name)
@given(history=batches)
# A level that is refused the first time in a batch, kept the second time and seen again the third time.
@example(history=[FULL, batch((9, 0.5), (9, 2.0), (9, 2.0), (9, 2.0), (9, 1.0), (9, 0.0))])
# A stored level that is driven out and comes back twice, all in one batch.
@example(history=[FULL, batch((-1, 0.0), (8, 1.0), (7, 1.0), (6, 1.0), (0, 2.0), (0, 2.0))])
def test_a_batch_gives_what_its_levels_give_one_by_one(buffer, history):
    """Own stamps, eviction, equal levels and the clock, which counts levels drawn, included."""
    plain, state = PlainBuffer.empty(buffer), empty(buffer)
    for entries in history:
        state = enter_both(programs(buffer), plain, state, entries)


def some_batch(rng: np.random.Generator, plain: PlainBuffer, number: int) -> list[Any]:
    """Newcomers, known levels and slots to be replayed, with few different scores and with many."""
    newcomers = rng.random() < 0.7
    what = rng.integers(0 if newcomers else -plain.buffer.capacity, 3 * plain.buffer.capacity, number)
    scores = np.where(rng.random(number) < 0.3, rng.integers(-1, 4, number) / 2, rng.random(number) * 2)
    return list(zip(what.tolist(), scores.astype(FLOAT).tolist(), rng.integers(-3, 3, number) * 1.0, strict=True))


@pytest.fixture
def plainly(monkeypatch) -> list[None]:
    """One entry each time that a batch is entered with a look at all slots."""
    found: list[None] = []
    whole = entering.insert_reference

    def counted(*args: Any) -> Any:
        jax.debug.callback(lambda: found.append(None))
        return whole(*args)

    monkeypatch.setattr(entering, "enter_plainly", counted)
    return found


@pytest.mark.parametrize("enough", [True, False])
@pytest.mark.parametrize("buffer", LARGER, ids=name)
def test_a_look_at_few_slots_gives_the_same(buffer, enough, monkeypatch, plainly):
    """Also when they are never sure to suffice, so that every batch is entered twice."""
    monkeypatch.setattr(entering, "_BLOCK", 2)
    monkeypatch.setattr(entering, "_BLOCKS_EACH", 1)
    pick = entering._pick
    if not enough:
        monkeypatch.setattr(entering, "_pick", lambda *args: (pick(*args)[0], -jnp.inf, jnp.int32(1000)))
    run, rng = programs(buffer, 1 + enough), np.random.default_rng(0)
    plain, state = PlainBuffer.empty(buffer), empty(buffer)
    for _ in range(40):
        state = enter_both(run, plain, state, some_batch(rng, plain, BATCH))
    jax.effects_barrier()
    if buffer.prioritisation == "proportional":
        assert len(plainly) == 40, "only all slots will do"
    elif not enough:
        assert plainly
    elif buffer.staleness == 0:
        assert not plainly, "by rank alone the weakest is always known"


@pytest.mark.parametrize(
    ("prioritisation", "temperature", "staleness"),
    [("rank", 0.3, 0.3), ("rank", 0.1, 0.3), ("uniform", 0.3, 0.0)],
)
def test_a_large_buffer_gives_the_same_and_looks_at_few_slots(prioritisation, temperature, staleness, plainly):
    buffer = LevelBuffer(20_000, prioritisation, temperature, staleness)
    k, rng, run = buffer.capacity, np.random.default_rng(0), programs(buffer)
    plain = PlainBuffer.empty(buffer)
    plain.number[:], plain.size, plain.clock = rng.permutation(3 * k)[:k], k, 3 * k
    plain.score[:] = np.where(rng.random(k) < 0.3, rng.integers(0, 4, k) / 4, rng.random(k))
    plain.stamp[:] = rng.permutation(3 * k)[:k] + 1
    state = jax.tree.map(jnp.asarray, plain.state())
    for _ in range(3):
        state = enter_both(run, plain, state, some_batch(rng, plain, 32))
    jax.effects_barrier()
    assert not plainly


def sorted_sizes(jaxpr: Any) -> set[int]:
    """How much a program sorts at once, nested programs included."""
    sizes = set()
    for equation in jaxpr.eqns:
        sizes |= {equation.invars[0].aval.size} if equation.primitive.name in ("sort", "top_k") else set()
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            sizes |= sorted_sizes(inner) if hasattr(inner, "eqns") else set()
    return sizes


def test_nothing_sorts_the_whole_buffer():
    buffer, none = LevelBuffer(20_000), jnp.full(BATCH, -1, jnp.int32)
    entries = Entries(
        jax.tree.map(jnp.asarray, places(range(BATCH))), none, jnp.zeros(BATCH), jnp.zeros(BATCH), none, none
    )
    state = jax.eval_shape(lambda: empty(buffer))
    programs = (lambda s: buffer.update(s, entries), lambda s: buffer.find(s, entries.levels),
                lambda s: buffer.sample(jax.random.key(0), s, BATCH))  # fmt: skip
    sizes = set().union(*(sorted_sizes(jax.make_jaxpr(program)(state).jaxpr) for program in programs))
    assert max(sizes) <= 20_000 / 50


@pytest.mark.parametrize("crowded", [False, True])
def test_levels_are_found_among_many(crowded):
    """Also when more slots share their first bits with a level than are looked at."""
    k, rng = 20_000, np.random.default_rng(0)
    hashes = rng.integers(0, 2**32, (k, 2), dtype=np.uint32)
    if crowded:
        hashes[:, 0] = 7
    keys = np.concatenate([hashes[[5, 5, 17_000, k - 1]], rng.integers(0, 2**32, (2, 2), dtype=np.uint32)])
    found = finding.slots_of(jnp.asarray(keys), jnp.asarray(hashes), jnp.int32(k - 1))
    assert found.tolist() == [5, 5, 17_000, -1, -1, -1]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200), st.integers(0, 2**32 - 1))
def test_wide_sums_are_exact(numbers, more):
    total = sum_uint64(jnp.asarray(np.array(numbers, np.uint32)))

    def whole(wide: Any) -> int:
        return (int(wide.high) << 32) + int(wide.low)

    assert whole(total) == sum(numbers)
    assert whole(total.plus(jnp.uint32(more))) == sum(numbers) + more
    assert whole(total.plus(jnp.uint32(more)).minus(jnp.uint32(numbers[0]))) == sum(numbers) + more - numbers[0]


def test_wide_sums_of_a_million_are_exact():
    assert int(sum_uint64(jnp.full(2**20, 2**31 - 1, jnp.uint32)).high) == (2**20 * (2**31 - 1)) >> 32


# --- weights


def weights_by_hand(buffer: LevelBuffer, scores: list[float], stamps: list[int], clock: int) -> np.ndarray:
    scores_, n = np.array(scores), len(scores)
    order = sorted(range(n), key=lambda i: (-scores_[i], i))
    rank = np.array([order.index(i) + 1 for i in range(n)])
    h = {
        "rank": (1 / rank) ** (1 / buffer.temperature),
        "proportional": np.maximum(scores_, 0) ** (1 / buffer.temperature),
        "greedy": (rank == 1).astype(float),
        "uniform": np.ones(n),
    }[buffer.prioritisation]
    h = h if h.sum() > 0 else np.ones(n)
    stale = clock - np.array(stamps, float)
    stale = stale if stale.sum() > 0 else np.ones(n)
    return (1 - buffer.staleness) * h / h.sum() + buffer.staleness * stale / stale.sum()


@pytest.mark.parametrize("prioritisation", ["rank", "proportional", "greedy", "uniform"])
@given(
    scores=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5, 2.0, -1.0]), min_size=1, max_size=CAPACITY),
    age=st.integers(0, 9),
)
def test_weights_are_the_thesiss_and_sum_to_one(prioritisation, scores, age):
    buffer = LevelBuffer(CAPACITY, prioritisation, 0.5, 0.3)
    run = programs(buffer)
    n = len(scores)
    state = empty(buffer)._replace(
        score=np.array(scores + [99.0] * (CAPACITY - n), np.float32),  # what lies in an empty slot is never read
        stamp=np.array([*range(1, n + 1), *[-50] * (CAPACITY - n)], np.int32),
        size=np.int32(n),
        clock=np.int32(n + age),
    )
    state = ordered(state)
    p = run.probabilities(state)
    np.testing.assert_allclose(p[:n], weights_by_hand(buffer, scores, list(range(1, n + 1)), n + age), atol=1e-6)
    np.testing.assert_allclose(p.sum(), 1, atol=1e-6)
    assert (p[n:] == 0).all(), "empty slots take no weight"


@pytest.mark.parametrize("prioritisation", ["rank", "proportional", "greedy", "uniform"])
def test_an_empty_buffer_has_finite_weights(prioritisation):
    run = programs(LevelBuffer(CAPACITY, prioritisation, 0.5, 0.3))
    assert run.probabilities(empty(run.buffer)).tolist() == [0] * CAPACITY


def test_ties_are_broken_by_the_lower_slot():
    buffer = LevelBuffer(CAPACITY, "greedy", 0.5, 0.0)
    state = empty(buffer)._replace(score=np.array([1, 2, 2, 1, 0], np.float32), size=np.int32(4))
    assert programs(replace(buffer, staleness=0.3)).probabilities(ordered(state)).argmax() == 1


def test_equally_stale_levels_are_weighted_alike():
    run = programs(SETTINGS[2])
    state = empty(run.buffer)._replace(size=np.int32(4), stamp=np.full(CAPACITY, 7, np.int32), clock=np.int32(7))
    np.testing.assert_allclose(run.probabilities(state), [0.25] * 4 + [0])


def test_a_low_temperature_neither_overflows_nor_vanishes():
    for prioritisation in ("rank", "proportional"):
        buffer = LevelBuffer(CAPACITY, prioritisation, 0.01, 0.0)
        scores = np.array([1e-6, 1e6, 3, 2, 1], np.float32)
        p = jax.jit(buffer.probabilities)(ordered(empty(buffer)._replace(score=scores, size=np.int32(5))))
        np.testing.assert_allclose(p, [0, 1, 0, 0, 0], atol=1e-6)


# --- drawing


@pytest.mark.parametrize("size", [1, 3, CAPACITY])
def test_draws_follow_the_weights_and_never_leave_the_filled_slots(size):
    """Empty slots have no rank."""
    buffer = SETTINGS[0]
    state = empty(buffer)._replace(
        score=np.array([0.1, 3, 0.2, 1, 2], np.float32),
        stamp=np.array([1, 2, 3, 4, 5], np.int32),
        size=np.int32(size),
        clock=np.int32(9),
    )
    state, number = ordered(state), 20_000
    drawn = np.asarray(jax.jit(buffer.sample, static_argnums=2)(jax.random.key(0), state, number))
    p = np.asarray(programs(buffer).probabilities(state))
    seen = np.bincount(drawn, minlength=CAPACITY)
    assert (seen[size:] == 0).all()
    chi_square = ((seen - number * p) ** 2 / np.where(p > 0, number * p, 1)).sum()
    assert chi_square < 20, "four degrees of freedom: 20 is passed once in 2000 seeds"


# --- keeping


def filled(run: Programs, scores: list[float]) -> BufferState:
    """A full buffer of the levels 0, 1, 2, ... and whatever the rest of the batch brings: nothing."""
    numbers = list(range(CAPACITY))
    return put(run, empty(run.buffer), [*numbers, numbers[-1]], [*scores, scores[-1]])[0]


RANKED = programs(SETTINGS[1])
"""By rank only: the level with the least support is the one with the lowest score."""


@pytest.mark.parametrize(("score", "kept"), [(0.5, False), (1.0, False), (1.5, True)])
def test_a_newcomer_must_score_higher_than_the_weakest(score, kept):
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, placed = put(RANKED, state, [9] * BATCH, [score] * BATCH)
    assert placed == ([1] * BATCH if kept else [-1] * BATCH)
    assert (9 in (after.levels.cell * 2 + after.levels.facing).tolist()) == kept


def test_support_not_score_decides_who_leaves():
    """With staleness alone the level played last has the least support, however high it scores."""
    run = programs(SETTINGS[2])
    state = filled(run, [1, 1, 1, 1, 3])
    _, placed = put(run, state, [9] * BATCH, [5] * BATCH)
    assert placed[0] == 4


def test_a_level_that_replaces_another_inherits_nothing():
    state = filled(RANKED, [3, 1, 4, 2, 5])._replace(best=np.full(CAPACITY, 50, np.float32))
    state, placed = put(RANKED, state, [9, 0, 0, 0, 0, 0], [6] * BATCH, best=[-2.0] * BATCH)
    slot, clock = placed[0], BATCH
    assert state.best[slot] == -2
    assert state.stamp[slot] == clock + 1
    assert (state.id[slot], state.parent[slot], state.generation[slot]) == (BATCH, 109, 9)
    assert RANKED.find(state, places([1] * BATCH)).tolist() == [-1] * BATCH, "the level that left is not found any more"


def test_equal_levels_are_one_and_direction_makes_them_different():
    state, placed = put(RANKED, empty(RANKED.buffer), [4, 5, 4, 4, 5, 6], [1] * BATCH)
    assert placed == [0, 1, 0, 0, 1, 2]
    assert state.size == 3
    assert RANKED.find(state, places([4, 5, 6, 7, 5, 4])).tolist() == [0, 1, 2, -1, 1, 0]


def test_on_request_equal_levels_are_kept_apart():
    run = programs(SETTINGS[3])
    state, placed = put(run, empty(run.buffer), [4] * BATCH, [1, 2, 3, 4, 5, 6])
    assert state.size == CAPACITY
    assert placed[:CAPACITY] == list(range(CAPACITY))
    assert run.find(state, places([4] * BATCH)).tolist() == [-1] * BATCH


def test_levels_of_any_dtype_differ_in_every_bit():
    level = {"x": jnp.zeros((1, 3)), "b": jnp.zeros((1, 2), bool), "i": jnp.zeros((1, 2), jnp.int8)}
    changed = [
        level | {"x": level["x"].at[0, 1].set(1e-30)},
        level | {"b": level["b"].at[0, 1].set(True)},
        level | {"i": level["i"].at[0, 0].set(-1)},
    ]
    hashes = {tuple(hash_levels(other)[0].tolist()) for other in [level, *changed]}
    assert len(hashes) == 4


def test_the_clock_counts_levels_drawn_kept_or_not():
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, _ = put(RANKED, state, [9] * BATCH, [0] * BATCH)
    assert (state.clock, after.clock) == (BATCH, 2 * BATCH)
    np.testing.assert_array_equal(after.stamp, [1, 2, 3, 4, 6])


def test_the_best_return_only_ever_rises():
    state = empty(RANKED.buffer)
    numbers = [0, 1, 2, 3, 4, 0]
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[5, -4, -np.inf, 0, 0, 3])
    assert state.best.tolist() == [5, -4, -np.inf, 0, 0]
    # As a duplicate that is recognised, and as a replayed slot.
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[2, -3, -9, 0, 0, -np.inf])
    state, _ = put(RANKED, state, numbers, [1] * BATCH, slots=numbers, best=[-1, -9, -np.inf, 0, 0, -1])
    assert state.best.tolist() == [5, -3, -9, 0, 0]


def test_the_best_return_remembers_the_buffer_and_the_batch():
    state = filled(RANKED, [1] * CAPACITY)._replace(best=np.array([7, -7, -np.inf, 0, 0], np.float32))
    levels, slots = places([0, 1, 2, 9, 9, 9]), np.array([0, 1, 2, -1, -1, -1], np.int32)
    returns = np.array([1, 1, -np.inf, -5, -6, -2], np.float32)
    best = RANKED.best_return(state, levels, slots, returns)
    assert best.tolist() == [7, 1, -np.inf, -5, -5, -2]


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 3e38, 1e-40])
def test_no_score_that_is_stored_is_infinite(score):
    state, _ = put(RANKED, empty(RANKED.buffer), list(range(BATCH)), [score] * BATCH)
    assert np.isfinite(state.score.sum())
    for run in (RANKED, programs(SETTINGS[4])):
        np.testing.assert_allclose(run.probabilities(state).sum(), 1, atol=1e-6)


# --- refused where it is built


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"capacity": 0}, "at least 1"),
        ({"temperature": 0.0}, "greater than 0"),
        ({"staleness": 1.5}, "from 0 to 1"),
        ({"prioritisation": "ranks"}, "Did you mean rank"),
    ],
)
def test_contradictions_are_refused_where_they_are_built(wrong, message):
    with pytest.raises(UserError, match=message):
        LevelBuffer(**({"capacity": 4} | wrong))
