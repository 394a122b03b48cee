"""Inserting levels, against a plain-numpy buffer that does it one level at a time."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tutelage.curricula import insertion
from tutelage.curricula.buffer import BufferState, LevelBuffer

from .plain_buffer import (
    BATCH,
    CAPACITY,
    FLOAT,
    RANKED,
    SETTINGS,
    PlainBuffer,
    Programs,
    empty,
    filled,
    places,
    programs,
    put,
)

# --- one batch is its levels one by one

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


def insert_both(run: Programs, plain: PlainBuffer, state: BufferState, entries: list[Any]) -> BufferState:
    """Insert a batch here and, one by one, there; everything must be the same, to the bit."""
    slots = [-1 - n if n < 0 and -1 - n < plain.size else -1 for n, _, _ in entries]
    numbers = [int(plain.number[s]) if s >= 0 else abs(n) for s, (n, _, _) in zip(slots, entries, strict=True)]
    scores, best = [score for _, score, _ in entries], [b for _, _, b in entries]
    seen = run.recognise(state, places(numbers), np.array(slots, np.int32), np.array(best, FLOAT))
    assert (seen.slots.tolist(), seen.best.tolist()) == plain.recognise(numbers, slots, best)
    state, placed = put(run, state, numbers, scores, slots, best)
    expected = [
        plain.insert(n, slot, score, b, 100 + n, n)
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
# A stored level that is evicted and comes back twice, all in one batch.
@example(history=[FULL, batch((-1, 0.0), (8, 1.0), (7, 1.0), (6, 1.0), (0, 2.0), (0, 2.0))])
def test_a_batch_gives_what_its_levels_give_one_by_one(buffer, history):
    """Own stamps, eviction, equal levels and the clock, which counts levels drawn, included."""
    plain, state = PlainBuffer.empty(buffer), empty(buffer)
    for entries in history:
        state = insert_both(programs(buffer), plain, state, entries)


def some_batch(rng: np.random.Generator, plain: PlainBuffer, number: int) -> list[Any]:
    """Newcomers, known levels and slots to be replayed, with few different scores and with many."""
    newcomers = rng.random() < 0.7
    what = rng.integers(0 if newcomers else -plain.buffer.capacity, 3 * plain.buffer.capacity, number)
    scores = np.where(rng.random(number) < 0.3, rng.integers(-1, 4, number) / 2, rng.random(number) * 2)
    return list(zip(what.tolist(), scores.astype(FLOAT).tolist(), rng.integers(-3, 3, number) * 1.0, strict=True))


@pytest.fixture
def by_reference(monkeypatch) -> list[None]:
    """One item each time that a batch is inserted with a look at all slots."""
    found: list[None] = []
    whole = insertion.insert_reference

    def counted(*args: Any) -> Any:
        jax.debug.callback(lambda: found.append(None))
        return whole(*args)

    monkeypatch.setattr(insertion, "insert_reference", counted)
    return found


@pytest.mark.parametrize("enough", [True, False])
@pytest.mark.parametrize("buffer", LARGER, ids=name)
def test_candidates_give_the_same(buffer, enough, monkeypatch, by_reference):
    """Also when they are never sure to suffice, so that every batch is inserted twice."""
    monkeypatch.setattr(insertion, "_BLOCK", 2)
    monkeypatch.setattr(insertion, "_BLOCKS_EACH", 1)
    candidates = insertion._candidates
    if not enough:
        monkeypatch.setattr(insertion, "_candidates", lambda *args: (candidates(*args)[0], -jnp.inf, jnp.int32(1000)))
    run, rng = programs(buffer, 1 + enough), np.random.default_rng(0)
    plain, state = PlainBuffer.empty(buffer), empty(buffer)
    for _ in range(40):
        state = insert_both(run, plain, state, some_batch(rng, plain, BATCH))
    jax.effects_barrier()
    if buffer.prioritisation == "proportional":
        assert len(by_reference) == 40, "only all slots will do"
    elif not enough:
        assert by_reference
    elif buffer.staleness == 0:
        assert not by_reference, "by rank alone the weakest is always known"


@pytest.mark.parametrize(
    ("prioritisation", "temperature", "staleness"),
    [("rank", 0.3, 0.3), ("rank", 0.1, 0.3), ("uniform", 0.3, 0.0)],
)
def test_a_large_buffer_gives_the_same_with_its_candidates(prioritisation, temperature, staleness, by_reference):
    buffer = LevelBuffer(20_000, prioritisation, temperature, staleness)
    k, rng, run = buffer.capacity, np.random.default_rng(0), programs(buffer)
    plain = PlainBuffer.empty(buffer)
    plain.number[:], plain.size, plain.clock = rng.permutation(3 * k)[:k], k, 3 * k
    plain.score[:] = np.where(rng.random(k) < 0.3, rng.integers(0, 4, k) / 4, rng.random(k))
    plain.stamp[:] = rng.permutation(3 * k)[:k] + 1
    state = jax.tree.map(jnp.asarray, plain.state())
    for _ in range(3):
        state = insert_both(run, plain, state, some_batch(rng, plain, 32))
    jax.effects_barrier()
    assert not by_reference


# --- who is kept and what is remembered


@pytest.mark.parametrize(("score", "kept"), [(0.5, False), (1.0, False), (1.5, True)])
def test_a_newcomer_must_score_higher_than_the_weakest(score, kept):
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, placed = put(RANKED, state, [9] * BATCH, [score] * BATCH)
    assert placed == ([1] * BATCH if kept else [-1] * BATCH)
    assert (9 in (after.levels.cell * 2 + after.levels.facing).tolist()) == kept


def test_support_not_score_decides_which_is_evicted():
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
    assert RANKED.find(state, [1] * BATCH) == [-1] * BATCH, "what was evicted is not found"


def test_equal_levels_are_one_and_direction_makes_them_different():
    state, placed = put(RANKED, empty(RANKED.buffer), [4, 5, 4, 4, 5, 6], [1] * BATCH)
    assert placed == [0, 1, 0, 0, 1, 2]
    assert state.size == 3
    assert RANKED.find(state, [4, 5, 6, 7, 5, 4]) == [0, 1, 2, -1, 1, 0]


def test_on_request_equal_levels_are_kept_apart():
    run = programs(SETTINGS[3])
    state, placed = put(run, empty(run.buffer), [4] * BATCH, [1, 2, 3, 4, 5, 6])
    assert state.size == CAPACITY
    assert placed[:CAPACITY] == list(range(CAPACITY))
    assert run.find(state, [4] * BATCH) == [-1] * BATCH


def test_the_clock_counts_levels_drawn_kept_or_not():
    state = filled(RANKED, [3, 1, 4, 2, 5])
    after, _ = put(RANKED, state, [9] * BATCH, [0] * BATCH)
    assert (state.clock, after.clock) == (BATCH, 2 * BATCH)
    np.testing.assert_array_equal(after.stamp, [1, 2, 3, 4, 6])


def test_with_a_stopped_clock_nobody_ages_and_who_was_played_is_new():
    before = filled(RANKED, [3, 1, 4, 2, 5])
    running, placed = put(RANKED, before, [0, 9, 9, 8, 8, 8], [3, 7, 7, 0, 0, 0])
    assert placed[0] == 0  # played again
    assert placed[1] == placed[2] == 1  # in the place of the level with the least support
    assert placed[3:] == [-1] * 3  # not kept
    after = RANKED.buffer.with_clock_stopped(before, running, np.array(placed))
    assert (before.clock, after.clock) == (BATCH, BATCH)
    np.testing.assert_array_equal(before.stamp, [1, 2, 3, 4, 6])
    np.testing.assert_array_equal(after.stamp, [6, 6, 3, 4, 6])
    jax.tree.map(
        np.testing.assert_array_equal, after._replace(stamp=(), clock=()), running._replace(stamp=(), clock=())
    )


def test_the_best_return_only_ever_rises():
    state = empty(RANKED.buffer)
    numbers = [0, 1, 2, 3, 4, 0]
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[5, -4, -np.inf, 0, 0, 3])
    assert state.best.tolist() == [5, -4, -np.inf, 0, 0]
    # As a duplicate that is recognised, and as a replayed slot.
    state, _ = put(RANKED, state, numbers, [1] * BATCH, best=[2, -3, -9, 0, 0, -np.inf])
    state, _ = put(RANKED, state, numbers, [1] * BATCH, slots=numbers, best=[-1, -9, -np.inf, 0, 0, -1])
    assert state.best.tolist() == [5, -3, -9, 0, 0]


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 3e38, 1e-40])
def test_no_score_that_is_stored_is_infinite(score):
    state, _ = put(RANKED, empty(RANKED.buffer), list(range(BATCH)), [score] * BATCH)
    assert np.isfinite(state.score.sum())
    for run in (RANKED, programs(SETTINGS[4])):
        np.testing.assert_allclose(run.probabilities(state).sum(), 1, atol=1e-6)
