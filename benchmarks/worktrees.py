"""Compare the speed of two source trees of Tutelage in one run, by turns.

usage: python worktrees.py OLD/src NEW/src [--methods accel robust-plr dr paired] [--presets thesis-accel fast]
       [--devices 1 2] [--turns 6] [--seconds 8] [--parts] [--set SETTING=VALUE ...]

Each tree is imported by a process of its own. It compiles, fills its buffer and learns twice; then the two take turns,
one while the other waits, and whoever begins changes from turn to turn. A turn is the same number of dispatches for
both, ten iterations each, as `tutelage train` hands to the machine at once. Both begin with the same seed, so trees
that make the same random decisions do the same work, update by update; where they do not, that is said. With --parts a
turn also times playing alone and one student's update alone.

Trees from before the redesign (`trainer.student`, logs that are dicts) and from after it can be compared.
"""

import argparse
import datetime
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from run import OURS, spread
from turns import Side, take_turns

ITERATIONS = 10
WARM_UPDATES = 2
PARTS = {"train": "training", "play": "playing", "learn": "an update"}
# Of a turn, with --parts.
PLAYS, LEARNS = 10, 3

Piece = dict[str, Any]
"""Of work: which of `PARTS` it is, environment steps, updates and the seconds they took."""


def timed(part: str, steps: int, work: Callable[[], Any]) -> Piece:
    """``work`` returns how often students learned, when all of it is done."""
    began = time.perf_counter()
    updates = work()
    return {"part": part, "steps": steps, "seconds": time.perf_counter() - began, "updates": updates}


def warm(tree: str, preset: str, method: str, devices: int, changes: dict[str, str], parts: bool) -> Any:
    """A function that takes a turn of so many dispatches, with everything compiled and a full buffer."""
    import jax
    import numpy as np

    import tutelage
    from tutelage.runs.processes import ALONE, start

    found = Path(str(tutelage.__file__)).resolve()
    assert found.is_relative_to(Path(tree).resolve()), f"{found} was imported instead of {tree}"
    start(ALONE, devices)
    settings = tutelage.override(tutelage.preset("maze", method, preset), {"train.devices": str(devices)} | changes)
    replay = getattr(settings.curriculum, "replay", None)
    if replay is not None:
        settings = tutelage.override(settings, {"replay.min_fill": "1"})
    trainer: Any = tutelage.build(settings)
    state = trainer.init(0)
    run: Any = tutelage.compiled(trainer, ITERATIONS)

    def train() -> int:
        nonlocal state
        state, log = run(state, ITERATIONS)
        log = jax.device_get(log)
        learned = log["learned"] if isinstance(log, dict) else log.learned
        return int((np.asarray(learned) > 0).sum())

    def dispatch() -> Piece:
        return timed("train", ITERATIONS * trainer.students * trainer.levels * trainer.rollout, train)

    alone = by_parts(trainer) if parts else list[Piece]
    if replay is not None:
        for _ in range(math.ceil(replay.capacity / trainer.levels / ITERATIONS)):
            train()
    updates = 0
    while updates < WARM_UPDATES:
        updates += train()

    return lambda dispatches: [dispatch() for _ in range(int(dispatches))] + alone()


def by_parts(trainer: Any) -> Callable[[], list[Piece]]:
    """A function that times what training consists of, on a first batch, with everything compiled."""
    import jax
    import jax.numpy as jnp

    state, key = trainer.init(0), jax.random.key(0)
    _, proposal = jax.jit(trainer.propose)(state)
    # Before the redesign a student was one object, and so was its state.
    actors = getattr(state.students, "agent", state.students)
    learner = trainer.learner if hasattr(trainer, "learner") else trainer.student
    collect = jax.jit(trainer.collector.__call__)
    student, rollout = jax.tree.map(lambda x: x[0], (state.students, collect(key, actors, proposal.levels)))
    update = jax.jit(lambda state, rollout: learner.update(key, state, rollout, jnp.float32(0)))

    def play() -> int:
        jax.block_until_ready(collect(key, actors, proposal.levels))
        return 0

    def learn() -> int:
        jax.block_until_ready(update(student, rollout))
        return 1

    def turn() -> list[Piece]:
        plays = [timed("play", trainer.students * trainer.levels * trainer.rollout, play) for _ in range(PLAYS)]
        return plays + [timed("learn", trainer.levels * trainer.rollout, learn) for _ in range(LEARNS)]

    turn()
    return turn


def rate(turn: list[Piece], part: str) -> float:
    """Steps a second."""
    pieces = [piece for piece in turn if piece["part"] == part]
    return sum(piece["steps"] for piece in pieces) / sum(piece["seconds"] for piece in pieces)


def updates(turns: list[list[Piece]]) -> list[int]:
    """Of every dispatch."""
    return [piece["updates"] for turn in turns for piece in turn if piece["part"] == "train"]


def compare(
    title: str, trees: dict[str, str], arguments: list[str], turns: int, seconds: float
) -> dict[str, list[list[Piece]]]:
    """The turns of both trees."""
    sides: dict[str, Side] = {}
    measured: dict[str, list[list[Piece]]] = {name: [] for name in trees}
    try:
        for name, tree in trees.items():
            print(f"{title}: {name}, warming up ...", file=sys.stderr, flush=True)
            sides[name] = Side(
                sys.executable, Path(__file__).resolve(), *trees.values(), "--side", tree, *arguments, path=tree
            )
        # How long a dispatch takes depends on how often it happens to learn: two say more than one.
        trial = [piece["seconds"] for side in sides.values() for piece in side.turn(2) if piece["part"] == "train"]
        number = max(1, round(seconds / statistics.mean(trial)))
        for turn in range(turns):
            print(f"{title}: turn {turn + 1} of {turns} ...", file=sys.stderr, flush=True)
            for name in list(sides)[:: -1 if turn % 2 else 1]:
                measured[name].append(sides[name].turn(number))
    finally:
        for side in sides.values():
            side.end()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", metavar="OLD/src", help="a folder that has the package tutelage in it")
    parser.add_argument("new", metavar="NEW/src", help="another")
    parser.add_argument("--methods", nargs="+", default=["accel", "robust-plr", "dr", "paired"])
    parser.add_argument("--presets", nargs="+", default=["thesis-accel", "fast"], help="of the maze")
    parser.add_argument(
        "--devices", nargs="+", type=int, default=list(OURS.values()), help="(default: 1, and all cores)"
    )
    parser.add_argument("--turns", type=int, default=6, help="that each tree gets")
    parser.add_argument("--seconds", type=float, default=8, help="of a turn, about; one dispatch at least")
    parser.add_argument("--parts", action="store_true", help="time playing and an update by themselves as well")
    parser.add_argument("--set", nargs="+", default=[], metavar="SETTING=VALUE", help="changes to the presets")
    parser.add_argument("--side", metavar="TREE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        changes = dict(change.split("=", 1) for change in options.set)
        (preset,), (method,), (devices,) = options.presets, options.methods, options.devices
        take_turns(warm(options.side, preset, method, devices, changes, options.parts))
        return
    trees = {"old": str(Path(options.old).resolve()), "new": str(Path(options.new).resolve())}
    for tree in trees.values():
        if not (Path(tree) / "tutelage").is_dir():
            parser.error(f"there is no package tutelage in {tree}; give a tree's src")

    parts = list(PARTS) if options.parts else ["train"]
    begun = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    print(f"old: {trees['old']}\nnew: {trees['new']}\n{begun}, load average {os.getloadavg()[0]:.1f}\n")
    print(
        "| preset | method | devices | old, steps/s | new, steps/s | "
        + " | ".join(f"new / old, {PARTS[p]}" for p in parts)
        + " |"
    )
    print("|---" * (5 + len(parts)) + "|", flush=True)
    for preset in options.presets:
        for method in options.methods:
            for devices in options.devices:
                arguments = ["--presets", preset, "--methods", method, "--devices", str(devices)]
                arguments += ["--parts"] * options.parts + (["--set", *options.set] if options.set else [])
                title = f"{preset}, {method}, devices {devices}"
                measured = compare(title, trees, arguments, options.turns, options.seconds)
                rates = [
                    f"{statistics.median(rate(turn, 'train') for turn in turns):,.0f}" for turns in measured.values()
                ]
                ratios = [
                    spread([rate(new, part) / rate(old, part) for old, new in zip(*measured.values(), strict=True)])
                    for part in parts
                ]
                print(f"| {' | '.join([preset, method, str(devices), *rates, *ratios])} |", flush=True)
                old, new = (updates(turns) for turns in measured.values())
                if old != new:
                    print(
                        f"(not the same work: {sum(old)} updates in the old tree and {sum(new)} in the new)", flush=True
                    )
    print(f"\nload average after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
