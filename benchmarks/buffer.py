"""Time the level buffer: drawing 32 levels from a full one and inserting 32; print JSON, milliseconds by capacity.

usage: python buffer.py [--peer PYTHON] [CAPACITY ...]

PYTHON is an interpreter with `peers/jaxued-requirements.txt`; with it, jaxued's level sampler takes turns with ours.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from turns import Side

from tutelage import LevelBuffer
from tutelage.curricula import insertion
from tutelage.curricula.buffer import BufferState, hash_levels, ordered

BATCH, TURNS = 32, 20
PEER_TURNS = 5
PEER = Path(__file__).resolve().parent / "peers" / "jaxued_buffer.py"


class Maze(NamedTuple):
    """A level of the thesis's maze."""

    walls: Any
    start: Any
    direction: Any
    goal: Any


def mazes(rng: np.random.Generator, number: int) -> Maze:
    """Random levels: what they are is nothing to a buffer."""
    return Maze(
        walls=rng.random((number, 13, 13)) < 0.3,
        start=rng.integers(0, 13, (number, 2), np.int32),
        direction=rng.integers(0, 4, number, np.int32),
        goal=rng.integers(0, 13, (number, 2), np.int32),
    )


def full(buffer: LevelBuffer, rng: np.random.Generator) -> BufferState:
    """A buffer that has been in use: every level was last played at a time of its own."""
    k = buffer.capacity
    levels = mazes(rng, k)
    parts = [jax.tree.map(lambda x: x[i : i + 50_000], levels) for i in range(0, k, 50_000)]  # noqa: B023
    state = buffer.init(jax.tree.map(lambda x: x[0], levels))._replace(
        levels=jax.tree.map(jnp.array, levels),
        score=jnp.array(rng.random(k), jnp.float32),
        stamp=jnp.array(rng.permutation(k) + 1, jnp.int32),
        hash=jnp.concatenate([hash_levels(part) for part in parts]),
        size=jnp.int32(k),
        clock=jnp.int32(k),
        next_id=jnp.int32(k),
    )
    return ordered(state)


Times = dict[str, float]
"""Milliseconds: `sample` (slots and levels), `replay` and `new` (inserting the levels that were drawn, and as many
new ones), and `both`, which is `sample` and the slower of the two."""


def fastest(turns: list[Times]) -> Times:
    """Of some turns, part by part."""
    return summed({name: min(times[name] for times in turns) for name in turns[0]})


def summed(times: Times) -> Times:
    return times | {"both": times["sample"] + max(times["new"], times.get("replay", 0.0))}


def measure(*capacities: int) -> dict[int, Times]:
    """The fastest of some turns, by capacity. They take turns, so that a slow second of the machine hits them all."""
    turns = {capacity: warm(capacity) for capacity in capacities}
    taken = [{capacity: turn() for capacity, turn in turns.items()} for _ in range(TURNS)]
    return {capacity: fastest([times[capacity] for times in taken]) for capacity in capacities}


def measure_beside(python: str, capacity: int) -> tuple[Times, Times, list[float]]:
    """Ours and jaxued's, the fastest of the turns of each, and how many times as long jaxued's took in each of its."""
    turn, peer = warm(capacity), Side(python, PEER, str(capacity))
    ours, theirs, ratios = [], [], []
    try:
        for number in range(PEER_TURNS):
            some = [turn() for _ in range(TURNS // PEER_TURNS)]
            (other,) = peer.turn(number)
            ours, theirs = [*ours, *some], [*theirs, other]
            ratios.append(summed(other)["both"] / statistics.median(summed(times)["both"] for times in some))
    finally:
        peer.end()
    return fastest(ours), fastest(theirs), ratios


def warm(capacity: int) -> Callable[[], Times]:
    """A function that takes one turn and says how long each part took, with everything compiled.

    By rank, with a temperature and a staleness of 0.3. Inserting includes looking for equal levels and the best
    returns. First a batch is inserted in both ways that there are: it has to give the same.
    """
    buffer, rng = LevelBuffer(capacity, "rank", 0.3, 0.3), np.random.default_rng(0)
    state = full(buffer, rng)
    compare(buffer, state, rng)

    @jax.jit
    def sample(key: Any, state: BufferState) -> Any:
        slots = buffer.sample(key, state, BATCH)
        return slots, buffer.take(state, slots)

    def insert(state: BufferState, levels: Any, slots: Any, scores: Any) -> Any:
        none = jnp.full_like(slots, -1)
        return buffer.insert(state, buffer.recognise(state, levels, slots, scores), scores, none, none)

    insert = jax.jit(insert, donate_argnums=0)
    none = jnp.full(BATCH, -1, jnp.int32)

    def turn() -> Times:
        nonlocal state
        times: Times = {}

        def timed(name: str, function: Any, *arguments: Any) -> Any:
            began = time.perf_counter()
            result = jax.block_until_ready(function(*arguments))
            times[name] = 1000 * (time.perf_counter() - began)
            return result

        key, scores = jax.random.key(int(state.clock)), jnp.array(rng.random((2, BATCH)), jnp.float32)
        slots, levels = timed("sample", sample, key, state)
        state, _ = timed("replay", insert, state, levels, slots, scores[0])
        state, _ = timed("new", insert, state, jax.tree.map(jnp.array, mazes(rng, BATCH)), none, scores[1])
        return times

    turn()
    return turn


def compare(buffer: LevelBuffer, state: BufferState, rng: np.random.Generator) -> None:
    """Insert half new and half drawn levels with a look at all slots for each, and with one at the candidates."""
    if not insertion.candidates_suffice(buffer.capacity, BATCH):
        return  # there is one way only
    slots = np.where(np.arange(BATCH) < BATCH // 2, -1, rng.permutation(buffer.capacity)[:BATCH]).astype(np.int32)
    keys = jnp.array(rng.integers(0, 2**32, (BATCH, 2), np.uint32))
    score = jnp.array(rng.random(BATCH), jnp.float32)
    incoming = insertion.Incoming(score, score, jnp.array(slots), jnp.arange(BATCH), keys)
    stats = insertion.SlotStats(state.score, state.best, state.stamp, state.order, state.size, state.clock)

    def inserted(candidates: bool) -> insertion.Outcome:
        return jax.jit(lambda stats: insertion.insert_batch(stats, incoming, buffer._support, candidates))(stats)

    jax.tree.map(np.testing.assert_array_equal, inserted(False), inserted(True))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("capacities", nargs="*", type=int, default=[4_000, 100_000, 1_000_000], metavar="CAPACITY")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has jaxued")
    options = parser.parse_args()
    figures: dict[str, dict[int, Any]] = {"tutelage": {}, "jaxued": {}, "ratios": {}}
    for capacity in options.capacities:
        if options.peer:
            results = measure_beside(options.peer, capacity)
            for name, result in zip(figures, results, strict=True):
                figures[name][capacity] = result
        else:
            figures["tutelage"] |= measure(capacity)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
