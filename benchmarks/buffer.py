"""Time the level buffer: drawing 32 levels from a full one and entering 32; print JSON, milliseconds by capacity.

usage: python buffer.py [--peer PYTHON] [CAPACITY ...]

PYTHON is an interpreter with `peers/jaxued-requirements.txt`; with it, jaxued's level sampler is timed in the same way.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tutelage import LevelBuffer
from tutelage.curricula import entering
from tutelage.curricula.buffer import BufferState, Entries, hash_levels, ordered

BATCH, TURNS = 32, 20
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


def measure(*capacities: int) -> dict[int, dict[str, float]]:
    """By capacity the fastest of some turns, in milliseconds: `sample` (slots and levels), `replay` and `new` (entering
    the levels that were drawn, and as many new ones), and `both`, which is `sample` and the slower of the two.

    The capacities take turns, so that a slow second of the machine is nobody's own.
    """
    turns = {capacity: warm(capacity) for capacity in capacities}
    taken = [{capacity: turn() for capacity, turn in turns.items()} for _ in range(TURNS)]
    figures = {}
    for capacity in capacities:
        fastest = {name: min(times[capacity][name] for times in taken) for name in taken[0][capacity]}
        fastest["both"] = fastest["sample"] + max(fastest["replay"], fastest["new"])
        figures[capacity] = {name: round(figure, 2) for name, figure in fastest.items()}
    return figures


def warm(capacity: int) -> Callable[[], dict[str, float]]:
    """A function that takes one turn and says how long each part took, with everything compiled.

    By rank, with a temperature and a staleness of 0.3. Entering includes looking for equal levels and the best returns.
    First a batch is entered in both ways that there are: it has to give the same.
    """
    buffer, rng = LevelBuffer(capacity, "rank", 0.3, 0.3), np.random.default_rng(0)
    state = full(buffer, rng)
    compare(buffer, state, rng)

    @jax.jit
    def sample(key: Any, state: BufferState) -> Any:
        slots = buffer.sample(key, state, BATCH)
        return slots, buffer.take(state, slots)

    def enter(state: BufferState, levels: Any, slots: Any, scores: Any) -> Any:
        slots = jnp.where(slots < 0, buffer.find(state, levels), slots)
        best = buffer.best_return(state, levels, slots, scores)
        none = jnp.full_like(slots, -1)
        return buffer.update(state, Entries(levels, slots, scores, best, none, none))

    enter = jax.jit(enter, donate_argnums=0)
    none = jnp.full(BATCH, -1, jnp.int32)

    def turn() -> dict[str, float]:
        nonlocal state
        times: dict[str, float] = {}

        def timed(name: str, function: Any, *arguments: Any) -> Any:
            began = time.perf_counter()
            result = jax.block_until_ready(function(*arguments))
            times[name] = 1000 * (time.perf_counter() - began)
            return result

        key, scores = jax.random.key(int(state.clock)), jnp.array(rng.random((2, BATCH)), jnp.float32)
        slots, levels = timed("sample", sample, key, state)
        state, _ = timed("replay", enter, state, levels, slots, scores[0])
        state, _ = timed("new", enter, state, jax.tree.map(jnp.array, mazes(rng, BATCH)), none, scores[1])
        return times

    turn()
    return turn


def compare(buffer: LevelBuffer, state: BufferState, rng: np.random.Generator) -> None:
    """Enter half new and half drawn levels with a look at all slots for each, and as a large buffer does."""
    if not entering.few_are_fewer(buffer.capacity, BATCH):
        return  # there is one way only
    slots = np.where(np.arange(BATCH) < BATCH // 2, -1, rng.permutation(buffer.capacity)[:BATCH]).astype(np.int32)
    keys = jnp.array(rng.integers(0, 2**32, (BATCH, 2), np.uint32))
    score = jnp.array(rng.random(BATCH), jnp.float32)
    arrivals = entering.Arrivals(score, score, jnp.array(slots), jnp.arange(BATCH), keys)
    held = entering.Held(state.score, state.best, state.stamp, state.order, state.size, state.clock)
    ways = [
        jax.jit(lambda h, few=few: entering.enter(h, arrivals, buffer._support, few))(held) for few in (False, True)
    ]
    jax.tree.map(np.testing.assert_array_equal, *ways)


def measure_peer(python: str, capacity: int) -> dict[str, float]:
    """The same of jaxued, in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JAX_COMPILATION_CACHE_DIR")}
    command = [python, "-W", "ignore", PEER, str(capacity)]
    done = subprocess.run(command, env=env | {"JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{PEER.name} failed (exit status {done.returncode}); its message is above.")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("capacities", nargs="*", type=int, default=[4_000, 100_000, 1_000_000], metavar="CAPACITY")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has jaxued")
    options = parser.parse_args()
    figures: dict[str, dict[int, dict[str, float]]] = {"tutelage": {}}
    for capacity in options.capacities:
        figures["tutelage"] |= measure(capacity)
        if options.peer:
            figures.setdefault("jaxued", {})[capacity] = measure_peer(options.peer, capacity)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
