"""How cost grows with levels in parallel, the buffer's size and the maze's size; writes growth.json and growth.png.

usage: python growth.py

Every figure is the fastest of three (of twenty for the buffer), on the `fast` preset: a student of 64 LSTM units, 256
steps a level.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from buffer import measure as measure_buffer

import tutelage

HERE = Path(__file__).resolve().parent
LEVELS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
CAPACITIES = (4_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)
SIZES = (7, 13, 19, 25, 37, 51)


def fastest(function: Callable[[], Any], times: int = 3) -> float:
    jax.block_until_ready(function())
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        jax.block_until_ready(function())
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def training(levels: int = 256, size: int = 13) -> dict[str, float]:
    """Microseconds a step: playing, one update on what was played, and the metrics of the levels."""
    blocks = size * size // 3
    changes = {"train.levels": str(levels), "env.size": str(size), "env.blocks": str(blocks)}
    settings = tutelage.override(tutelage.preset("maze", "dr", "fast"), changes)
    trainer = tutelage.build(settings)
    key, state = jax.random.key(0), trainer.init(0)
    _, proposal = jax.jit(trainer.curriculum.propose)(key, key, state.curriculum)
    collect = jax.jit(trainer.collector.__call__)
    rollout = jax.block_until_ready(collect(key, state.students.agent, proposal.levels))
    student, played = jax.tree.map(lambda x: x[0], (state.students, rollout))
    update = jax.jit(lambda state, rollout: trainer.learner.update(key, state, rollout, jnp.float32(0)))
    metrics = jax.jit(jax.vmap(jax.vmap(trainer.domain.levels.metrics)))
    seconds = {
        "play": fastest(lambda: collect(key, state.students.agent, proposal.levels)),
        "learn": fastest(lambda: update(student, played)),
        "metrics": fastest(lambda: metrics(proposal.levels)),
    }
    return {name: round(1e6 * spent / (levels * trainer.rollout), 3) for name, spent in seconds.items()}


def draw(figures: dict[str, Any], path: Path) -> None:
    """Three panels, logarithmic both ways, so that what grows with its cause rises at a constant slope."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    training = {"learn": "an update (3 epochs)", "play": "playing", "metrics": "metrics of the levels"}
    entering = {"new": "entering 32 new ones", "sample": "drawing 32"}
    for axes, what, lines in ((left, "levels", training), (middle, "capacity", entering), (right, "size", training)):
        x = [int(key) for key in figures[what]]
        for (name, label), style in zip(lines.items(), ("s--", "o-", "^:"), strict=False):
            axes.plot(x, [row[name] for row in figures[what].values()], style, label=label, markersize=4)
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3, which="both", linewidth=0.5)
    # Growth in proportion, to compare with. On the left it is a level line: a step costs the same.
    for axes, what, names, power in ((middle, "capacity", entering, 1), (right, "size", ("play", "metrics"), 2)):
        x = [int(key) for key in figures[what]]
        label = "in proportion" if what == "capacity" else "in proportion to cells"
        for name in names:
            first = figures[what][str(x[0])][name]
            axes.plot(x, [first * (n / x[0]) ** power for n in x], color="0.6", linewidth=0.8, label=label)
            label = None
    for axes in (left, middle, right):
        axes.legend(frameon=False, fontsize=8)
    left.set(xlabel="levels in parallel", ylabel="µs a step", ylim=(0.001, 300))
    middle.set(xlabel="levels in the buffer", ylabel="ms")
    right.set(xlabel="cells a side of the maze", ylabel="µs a step", ylim=(0.001, 300))
    for axes, ticks in ((left, (32, 128, 512, 2048)), (right, SIZES)):
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
    panels.savefig(path, dpi=110)


def main() -> None:
    figures: dict[str, Any] = {"load before": os.getloadavg()[0], "levels": {}, "size": {}}
    for what, values in (("levels", LEVELS), ("size", SIZES)):
        for value in values:
            figures[what][str(value)] = training(**{what: value})
            print(what, value, figures[what][str(value)], flush=True)
    figures["capacity"] = {
        str(capacity): {name: round(spent, 3) for name, spent in times.items()}
        for capacity, times in measure_buffer(*CAPACITIES).items()
    }
    print(*figures["capacity"].items(), sep="\n")
    figures["load after"] = os.getloadavg()[0]
    (HERE / "growth.json").write_text(json.dumps(figures, indent=2) + "\n")
    draw(figures, HERE / "growth.png")


if __name__ == "__main__":
    main()
