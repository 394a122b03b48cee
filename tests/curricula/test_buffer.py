"""The level buffer: weights, draws, and levels that are recognised. Insertion has a file of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.curricula.buffer import LevelBuffer, Played, hash_levels, ordered, slots_of
from tutelage.errors import UserError

from .plain_buffer import BATCH, CAPACITY, RANKED, SETTINGS, empty, filled, places, programs

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


# --- recognising


@pytest.mark.parametrize("crowded", [False, True])
def test_levels_are_found_among_many(crowded):
    """Also when more slots share their first bits with a level than are looked at."""
    k, rng = 20_000, np.random.default_rng(0)
    hashes = rng.integers(0, 2**32, (k, 2), dtype=np.uint32)
    if crowded:
        hashes[:, 0] = 7
    keys = np.concatenate([hashes[[5, 5, 17_000, k - 1]], rng.integers(0, 2**32, (2, 2), dtype=np.uint32)])
    found = slots_of(jnp.asarray(keys), jnp.asarray(hashes), jnp.int32(k - 1))
    assert found.tolist() == [5, 5, 17_000, -1, -1, -1]


def test_levels_of_any_dtype_differ_in_every_bit():
    level = {"x": jnp.zeros((1, 3)), "b": jnp.zeros((1, 2), bool), "i": jnp.zeros((1, 2), jnp.int8)}
    changed = [
        level | {"x": level["x"].at[0, 1].set(1e-30)},
        level | {"b": level["b"].at[0, 1].set(True)},
        level | {"i": level["i"].at[0, 0].set(-1)},
    ]
    hashes = {tuple(hash_levels(other)[0].tolist()) for other in [level, *changed]}
    assert len(hashes) == 4


def test_the_best_return_remembers_the_buffer_and_the_batch():
    state = filled(RANKED, [1] * CAPACITY)._replace(best=np.array([7, -7, -np.inf, 0, 0], np.float32))
    levels, slots = places([0, 1, 2, 9, 9, 9]), np.array([0, 1, 2, -1, -1, -1], np.int32)
    returns = np.array([1, 1, -np.inf, -5, -6, -2], np.float32)
    best = RANKED.recognise(state, levels, slots, returns).best
    assert best.tolist() == [7, 1, -np.inf, -5, -5, -2]


# --- what it costs


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
    levels, zeros = jax.tree.map(jnp.asarray, places(range(BATCH))), jnp.zeros(BATCH)
    played = Played(levels, none, zeros, hash_levels(levels))
    state = jax.eval_shape(lambda: empty(buffer))
    programs = (
        lambda s: buffer.insert(s, played, zeros, none, none),
        lambda s: buffer.recognise(s, levels, none, zeros),
        lambda s: buffer.sample(jax.random.key(0), s, BATCH),
    )
    sizes = set().union(*(sorted_sizes(jax.make_jaxpr(program)(state).jaxpr) for program in programs))
    assert max(sizes) <= 20_000 / 50


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
