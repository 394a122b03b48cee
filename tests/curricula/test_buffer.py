"""The level buffer against a plain-Python one that does what Algorithms 1 and 2 say, one level at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tutelage.curricula.buffer import BufferState, Entries, LevelBuffer, hash_levels
from tutelage.errors import UserError

CAPACITY, BATCH = 5, 6


class Place(NamedTuple):
    """A level. Two levels with one ``cell`` and different ``facing`` are different to play."""

    cell: Any
    facing: Any


def places(numbers: list[int]) -> Place:
    """Levels ``[B]``; an odd number differs from the even one before it in the direction only."""
    return Place(jnp.array([n // 2 for n in numbers], jnp.int32), jnp.array([n % 2 for n in numbers], jnp.int32))


@dataclass
class Row:
    number: int
    score: float
    best: float
    stamp: int
    id: int
    parent: int
    generation: int


@dataclass
class PlainBuffer:
    """Lists, a full search at every lookup and a full sort at every insertion."""

    buffer: LevelBuffer
    probabilities: Any
    rows: list[Row] = field(default_factory=list)
    clock: int = 0

    def enter(self, number: int, slot: int, score: float, best: float, parent: int, generation: int) -> int:
        """Algorithm 2 for one level. Returns its slot, -1 if it is not kept."""
        id, stamp = self.clock, self.clock + 1
        if self.buffer.duplicates:
            held = [slot] if slot >= 0 and self.rows[slot].number == number else []
        else:
            held = [i for i, row in enumerate(self.rows) if row.number == number]
        weakest = self.weakest() if len(self.rows) == self.buffer.capacity else None
        self.clock += 1
        if held:
            row = self.rows[held[0]]
            row.score, row.best, row.stamp = score, max(row.best, best), stamp
            return held[0]
        row = Row(number, score, best, stamp, id, parent, generation)
        if weakest is None:
            self.rows.append(row)
            return len(self.rows) - 1
        if self.rows[weakest].score < score:
            self.rows[weakest] = row
            return weakest
        return -1

    def weakest(self) -> int:
        """The level with the least support; of several, the one with the lowest score, and of those the last."""
        support = np.asarray(self.probabilities(self.state()))
        least = [i for i in range(len(self.rows)) if support[i] == support.min()]
        return max(least, key=lambda i: (-self.rows[i].score, i))

    def state(self) -> BufferState:
        """The same content as arrays, built from nothing."""

        def slots(name: str, empty: Any, dtype: Any) -> np.ndarray:
            values = [getattr(row, name) for row in self.rows]
            return np.array(values + [empty] * (self.buffer.capacity - len(values)), dtype)

        levels = jax.tree.map(
            lambda x: np.where(np.arange(self.buffer.capacity) < len(self.rows), x, 0).astype(np.int32),
            places(slots("number", 0, np.int32).tolist()),
        )
        hashes = np.where(np.arange(self.buffer.capacity)[:, None] < len(self.rows), hash_jit(levels), 0)
        return BufferState(
            levels,
            *(slots("score", 0.0, np.float32), slots("best", -np.inf, np.float32), slots("stamp", 0, np.int32)),
            *(slots("id", -1, np.int32), slots("parent", -1, np.int32), slots("generation", 0, np.int32)),
            hash=hashes.astype(np.uint32),
            size=np.int32(len(self.rows)),
            clock=np.int32(self.clock),
            next_id=np.int32(self.clock),
        )


hash_jit = jax.jit(hash_levels)


class Programs(NamedTuple):
    """A buffer's functions, compiled once for all examples."""

    buffer: LevelBuffer
    probabilities: Any
    find: Any
    update: Any
    best_return: Any


_programs: dict[LevelBuffer, Programs] = {}


def programs(buffer: LevelBuffer) -> Programs:
    if buffer not in _programs:
        functions = (buffer.probabilities, buffer.find, buffer.update, buffer.best_return)
        _programs[buffer] = Programs(buffer, *(jax.jit(function) for function in functions))
    return _programs[buffer]


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


@pytest.mark.parametrize("buffer", SETTINGS, ids=lambda b: f"{b.prioritisation}-{b.staleness}-{b.duplicates}")
@given(history=batches)
# A level that is refused the first time in a batch, kept the second time and seen again the third time.
@example(history=[FULL, batch((9, 0.5), (9, 2.0), (9, 2.0), (9, 2.0), (9, 1.0), (9, 0.0))])
# A stored level that is driven out and comes back twice, all in one batch.
@example(history=[FULL, batch((-1, 0.0), (8, 1.0), (7, 1.0), (6, 1.0), (0, 2.0), (0, 2.0))])
def test_trap_08_a_batch_gives_what_its_levels_give_one_by_one(buffer, history):
    """Also traps 05 (own stamps), 09 (eviction), 10 (equal levels) and 11 (the clock counts levels drawn)."""
    run = programs(buffer)
    plain, state = PlainBuffer(buffer, run.probabilities), empty(buffer)
    for entries in history:
        size = len(plain.rows)
        slots = [-1 - n if n < 0 and -1 - n < size else -1 for n, _, _ in entries]
        numbers = [plain.rows[s].number if s >= 0 else abs(n) for s, (n, _, _) in zip(slots, entries, strict=True)]
        scores, best = [score for _, score, _ in entries], [b for _, _, b in entries]
        state, placed = put(run, state, numbers, scores, slots, best)
        expected = [
            plain.enter(n, slot, score, b, 100 + n, n)
            for n, slot, score, b in zip(numbers, slots, scores, best, strict=True)
        ]
        assert placed == expected
        jax.tree.map(np.testing.assert_array_equal, state, plain.state())


def sorts(jaxpr: Any) -> int:
    """How many times a program sorts, nested programs included."""
    total = 0
    for equation in jaxpr.eqns:
        total += equation.primitive.name in ("sort", "top_k")
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            total += sorts(inner) if hasattr(inner, "eqns") else 0
    return total


def test_trap_08_a_batch_takes_one_sort():
    buffer = SETTINGS[0]
    levels = places(list(range(BATCH)))
    none = jnp.full(BATCH, -1, jnp.int32)
    entries = Entries(levels, none, jnp.zeros(BATCH), jnp.zeros(BATCH), none, none)
    assert sorts(jax.make_jaxpr(buffer.update)(empty(buffer), entries).jaxpr) == 1


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
def test_trap_07_weights_are_the_thesiss_and_sum_to_one(prioritisation, scores, age):
    buffer = LevelBuffer(CAPACITY, prioritisation, 0.5, 0.3)
    run = programs(buffer)
    n = len(scores)
    state = empty(buffer)._replace(
        score=np.array(scores + [99.0] * (CAPACITY - n), np.float32),  # what lies in an empty slot is never read
        stamp=np.array([*range(1, n + 1), *[-50] * (CAPACITY - n)], np.int32),
        size=np.int32(n),
        clock=np.int32(n + age),
    )
    p = run.probabilities(state)
    np.testing.assert_allclose(p[:n], weights_by_hand(buffer, scores, list(range(1, n + 1)), n + age), atol=1e-6)
    np.testing.assert_allclose(p.sum(), 1, atol=1e-6)
    assert (p[n:] == 0).all(), "trap_06: empty slots take no weight"


@pytest.mark.parametrize("prioritisation", ["rank", "proportional", "greedy", "uniform"])
def test_trap_02_an_empty_buffer_has_finite_weights(prioritisation):
    run = programs(LevelBuffer(CAPACITY, prioritisation, 0.5, 0.3))
    assert run.probabilities(empty(run.buffer)).tolist() == [0] * CAPACITY


def test_trap_06_ties_are_broken_by_the_lower_slot():
    buffer = LevelBuffer(CAPACITY, "greedy", 0.5, 0.0)
    state = empty(buffer)._replace(score=np.array([1, 2, 2, 1, 0], np.float32), size=np.int32(4))
    assert programs(replace(buffer, staleness=0.3)).probabilities(state).argmax() == 1


def test_trap_07_equally_stale_levels_are_weighted_alike():
    run = programs(SETTINGS[2])
    state = empty(run.buffer)._replace(size=np.int32(4), stamp=np.full(CAPACITY, 7, np.int32), clock=np.int32(7))
    np.testing.assert_allclose(run.probabilities(state), [0.25] * 4 + [0])


def test_a_low_temperature_neither_overflows_nor_vanishes():
    for prioritisation in ("rank", "proportional"):
        buffer = LevelBuffer(CAPACITY, prioritisation, 0.01, 0.0)
        scores = np.array([1e-6, 1e6, 3, 2, 1], np.float32)
        p = jax.jit(buffer.probabilities)(empty(buffer)._replace(score=scores, size=np.int32(5)))
        np.testing.assert_allclose(p, [0, 1, 0, 0, 0], atol=1e-6)


# --- drawing


@pytest.mark.parametrize("size", [1, 3, CAPACITY])
def test_draws_follow_the_weights_and_never_leave_the_filled_slots(size):
    """trap_06"""
    buffer = SETTINGS[0]
    state = empty(buffer)._replace(
        score=np.array([0.1, 3, 0.2, 1, 2], np.float32),
        stamp=np.array([1, 2, 3, 4, 5], np.int32),
        size=np.int32(size),
        clock=np.int32(9),
    )
    number = 20_000
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
def test_trap_09_a_newcomer_must_score_higher_than_the_weakest(score, kept):
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, placed = put(RANKED, state, [9] * BATCH, [score] * BATCH)
    assert placed == ([1] * BATCH if kept else [-1] * BATCH)
    assert (9 in (after.levels.cell * 2 + after.levels.facing).tolist()) == kept


def test_trap_09_support_not_score_decides_who_leaves():
    """With staleness alone the level played last has the least support, however high it scores."""
    run = programs(SETTINGS[2])
    state = filled(run, [1, 1, 1, 1, 3])
    _, placed = put(run, state, [9] * BATCH, [5] * BATCH)
    assert placed[0] == 4


def test_trap_05_a_level_that_replaces_another_inherits_nothing():
    state = filled(RANKED, [3, 1, 4, 2, 5])._replace(best=np.full(CAPACITY, 50, np.float32))
    state, placed = put(RANKED, state, [9, 0, 0, 0, 0, 0], [6] * BATCH, best=[-2.0] * BATCH)
    slot, clock = placed[0], BATCH
    assert state.best[slot] == -2
    assert state.stamp[slot] == clock + 1
    assert (state.id[slot], state.parent[slot], state.generation[slot]) == (BATCH, 109, 9)
    assert RANKED.find(state, places([1] * BATCH)).tolist() == [-1] * BATCH, "the level that left is not found any more"


def test_trap_10_equal_levels_are_one_and_direction_makes_them_different():
    state, placed = put(RANKED, empty(RANKED.buffer), [4, 5, 4, 4, 5, 6], [1] * BATCH)
    assert placed == [0, 1, 0, 0, 1, 2]
    assert state.size == 3
    assert RANKED.find(state, places([4, 5, 6, 7, 5, 4])).tolist() == [0, 1, 2, -1, 1, 0]


def test_trap_10_on_request_equal_levels_are_kept_apart():
    run = programs(SETTINGS[3])
    state, placed = put(run, empty(run.buffer), [4] * BATCH, [1, 2, 3, 4, 5, 6])
    assert state.size == CAPACITY
    assert placed[:CAPACITY] == list(range(CAPACITY))
    assert run.find(state, places([4] * BATCH)).tolist() == [-1] * BATCH


def test_trap_10_levels_of_any_dtype_differ_in_every_bit():
    level = {"x": jnp.zeros((1, 3)), "b": jnp.zeros((1, 2), bool), "i": jnp.zeros((1, 2), jnp.int8)}
    changed = [
        level | {"x": level["x"].at[0, 1].set(1e-30)},
        level | {"b": level["b"].at[0, 1].set(True)},
        level | {"i": level["i"].at[0, 0].set(-1)},
    ]
    hashes = {tuple(hash_levels(other)[0].tolist()) for other in [level, *changed]}
    assert len(hashes) == 4


def test_trap_11_the_clock_counts_levels_drawn_kept_or_not():
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, _ = put(RANKED, state, [9] * BATCH, [0] * BATCH)
    assert (state.clock, after.clock) == (BATCH, 2 * BATCH)
    np.testing.assert_array_equal(after.stamp, [1, 2, 3, 4, 6])


def test_trap_01_the_best_return_only_ever_rises():
    state = empty(RANKED.buffer)
    numbers = [0, 1, 2, 3, 4, 0]
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[5, -4, -np.inf, 0, 0, 3])
    assert state.best.tolist() == [5, -4, -np.inf, 0, 0]
    # As a duplicate that is recognised, and as a replayed slot.
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[2, -3, -9, 0, 0, -np.inf])
    state, _ = put(RANKED, state, numbers, [1] * BATCH, slots=numbers, best=[-1, -9, -np.inf, 0, 0, -1])
    assert state.best.tolist() == [5, -3, -9, 0, 0]


def test_trap_01_the_best_return_remembers_the_buffer_and_the_batch():
    state = filled(RANKED, [1] * CAPACITY)._replace(best=np.array([7, -7, -np.inf, 0, 0], np.float32))
    levels, slots = places([0, 1, 2, 9, 9, 9]), np.array([0, 1, 2, -1, -1, -1], np.int32)
    returns = np.array([1, 1, -np.inf, -5, -6, -2], np.float32)
    best = RANKED.best_return(state, levels, slots, returns)
    assert best.tolist() == [7, 1, -np.inf, -5, -5, -2]


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 3e38, 1e-40])
def test_trap_02_no_score_that_is_stored_is_infinite(score):
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
