"""Measure speed beside minimax-lib, jaxued and plain flax: the same maze, batch, network and buffer, on this machine.

First one PPO update beside a plain flax one (`update.py`), the maze alone (`environment.py`), and the level buffer
beside jaxued's level sampler (`buffer.py`). Then training steps beside minimax-lib, each library in a process of its
own. Compiling, filling the level buffer and two updates of warm-up come first; then they take short turns, one while
the others wait (`turns.py`), so that whatever else the machine does hits all of them.

Whether a batch is learned from is a coin toss in these methods, and a batch that is costs several times one that is
not, so the plain rate of a short turn depends on its luck. A least-squares split of all timed pieces gives the seconds
of a rollout and of an update, and from them the rate at the expected share of updates. A turn's own rate is that, times
how long its work should have taken by the same split over how long it took.

Ours is measured twice: with the CPU cut into as many devices as there are cores, which is what `tutelage train` does
by itself, and on one device. Either way both libraries, and plain flax, have all cores: on one device they are threads
within an operation.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from turns import Side, environment

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
LEVELS = 32
STEPS_PER_ROLLOUT = LEVELS * 256
# Expected PPO updates a rollout. An ACCEL replay (probability 0.8) is learned from and followed by a rollout of edits.
UPDATES_PER_ROLLOUT = {"dr": 1.0, "plr": 1.0, "robust_plr": 0.5, "accel": 0.8 / 1.8}
PEER_METHODS = ("robust_plr", "accel")
# The most devices that have a core each and share the levels equally.
DEVICES = max(n for n in range(1, LEVELS + 1) if LEVELS % n == 0 and n <= (os.cpu_count() or 1))
OURS = {f"ours, {n} device{'s' * (n > 1)}": n for n in dict.fromkeys((1, DEVICES))}

Piece = dict[str, float]
"""Of work: environment steps, PPO updates and the seconds they took."""


def peer_python(name: str) -> Path:
    """The interpreter of a peer's own environment, which is created (or renewed) where its pins are not met."""
    venv, pins = HERE / f".venv-{name}", HERE / "peers" / f"{name}-requirements.txt"
    python, stamp = venv / "bin" / "python", venv / "pins.txt"
    if not stamp.exists() or stamp.read_text() != pins.read_text():
        print(f"Installing {name} into {venv.relative_to(HERE.parent)} (once) ...", flush=True)
        base = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11")
        if base is None:
            raise SystemExit(f"{name}'s dependencies install on Python 3.11 only: put python3.11 on the PATH.")
        subprocess.run([base, "-m", "venv", "--clear", venv], check=True)
        # --no-deps: the pins are complete, and the library's own ranges admit versions that it fails with.
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "-r", pins], check=True)
        shutil.copyfile(pins, stamp)
    return python


def measure(script: Path, *arguments: str) -> Any:
    """Run one measurement in a process of its own; its last line of output is JSON."""
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(
            f"{script.name} {' '.join(arguments)} failed (exit status {done.returncode}); its message is above."
        )
    return json.loads(done.stdout.splitlines()[-1])


def work(pieces: list[Piece]) -> np.ndarray:
    """Rollouts and updates of every piece."""
    return np.array([[piece["steps"] / STEPS_PER_ROLLOUT, piece["updates"]] for piece in pieces])


def seconds(pieces: list[Piece]) -> np.ndarray:
    return np.array([piece["seconds"] for piece in pieces])


def summarise(method: str, turns: list[list[Piece]]) -> dict[str, Any]:
    """The plain rate, seconds of a rollout and of an update, and the rate at the expected share of updates."""
    pieces = [piece for turn in turns for piece in turn]
    done, taken = work(pieces), seconds(pieces)
    # Where every rollout is learned from, the two cannot be told apart, nor need be.
    split, *_ = np.linalg.lstsq(done, taken, rcond=None)
    expected = STEPS_PER_ROLLOUT / (split @ (1, UPDATES_PER_ROLLOUT[method]))
    return {
        "plain": float(done[:, 0].sum() * STEPS_PER_ROLLOUT / taken.sum()),
        "share": float(done[:, 1].sum() / done[:, 0].sum()),
        "rollouts": float(done[:, 0].sum()),
        "playing": float(split[0]),
        "learning": float(split[1]),
        "expected": float(expected),
        "turns": [float(expected * (work(turn) @ split).sum() / seconds(turn).sum()) for turn in turns],
    }


def spread(figures: list[float], digits: int = 2) -> str:
    middle, low, high = (f"{x:,.{digits}f}" for x in (statistics.median(figures), min(figures), max(figures)))
    return f"{middle} ({low}-{high})"


def machine(peers: dict[str, Path]) -> dict[str, str]:
    """What the figures were measured on."""

    def versions(name: str) -> str:
        code = f"import importlib.metadata as m; print(m.version('{name}'), 'on jax', m.version('jax'))"
        return subprocess.run([peers[name], "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": str(os.cpu_count()),
        "load average": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "python": platform.python_version(),
        "tutelage": f"{importlib.metadata.version('tutelage')} on jax {importlib.metadata.version('jax')}",
    } | {name: versions(name) for name in peers}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--methods", nargs="+", default=["dr", *PEER_METHODS], choices=list(UPDATES_PER_ROLLOUT))
    parser.add_argument("--seconds", type=float, default=10, help="seconds of a turn, at least")
    parser.add_argument("--rounds", type=int, default=6, help="turns that each side gets")
    parser.add_argument("--training-only", action="store_true", help="leave out update, maze and buffer")
    options = parser.parse_args()

    peers = {"minimax-lib": peer_python("minimax"), "jaxued": peer_python("jaxued")}
    facts = machine(peers)
    results: dict[str, Any] = {"machine": facts}
    if not options.training_only:
        print("one update, ours and a plain flax one in turns ...", flush=True)
        results["update"] = {
            side: measure(HERE / "update.py", str(options.seconds * options.rounds), "--devices", str(devices))
            for side, devices in OURS.items()
        }
        print("the maze alone ...", flush=True)
        results["environment"] = measure(HERE / "environment.py")
        print("the level buffer, ours and jaxued's in turns ...", flush=True)
        results["buffer"] = measure(HERE / "buffer.py", "--peer", str(peers["jaxued"]))
    commands: dict[str, tuple[Path | str, Path, list[str]]] = {
        side: (sys.executable, HERE / "ours.py", ["--devices", str(devices)]) for side, devices in OURS.items()
    }
    commands["minimax-lib"] = (peers["minimax-lib"], HERE / "peers" / "minimax.py", [])
    measured: dict[str, dict[str, list[list[Piece]]]] = {}
    for method in options.methods:
        measured[method] = {side: [] for side in commands if side in OURS or method in PEER_METHODS}
        sides: dict[str, Side] = {}
        try:
            for name in measured[method]:
                print(f"{method}: {name}, warming up ...", flush=True)
                python, script, more = commands[name]
                sides[name] = Side(python, script, method, *more)
            for turn in range(options.rounds):
                print(f"{method}: turn {turn + 1} of {options.rounds} ...", flush=True)
                for name, side in sides.items():
                    measured[method][name].append(side.turn(options.seconds))
        finally:
            for side in sides.values():
                side.end()
    facts["load average after"] = " ".join(f"{load:.2f}" for load in os.getloadavg())

    summaries = {
        method: {side: summarise(method, turns) for side, turns in by_side.items()}
        for method, by_side in measured.items()
    }
    results |= {"summary": summaries, "pieces": measured}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")

    print("\n" + "\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    for side, both in results.get("update", {}).items():
        pairs = [flax / ours for flax, ours in zip(both["flax"], both["tutelage"], strict=True)]
        print(f"update, {side}: {spread(both['tutelage'])} s, flax {spread(both['flax'])} s, ratio {spread(pairs)}")
    for entry in results.get("environment", []):
        name = f"{entry['size']}x{entry['size']} maze, {entry['levels']} levels"
        print(f"{name}: {spread([rate / 1e6 for rate in entry['steps_per_second']])}M steps/s with random actions")
    buffer = results.get("buffer", {"tutelage": {}})
    for capacity, ours in buffer["tutelage"].items():
        theirs, ratios = buffer["jaxued"][capacity], spread(buffer["ratios"][capacity], 0)
        each = f"{ours['sample']:.1f} + {ours['new']:.1f} ms, jaxued {theirs['sample']:.1f} + {theirs['new']:.1f} ms"
        print(f"buffer of {int(capacity):,}, drawing + entering 32: {each}, ratio {ratios}")
    print()
    columns = ("steps/s", "updates/rollout", "rollouts", "s a rollout", "s an update", "at expected")
    print(f"{'method':<12}{'library':<18}" + "".join(f"{column:>{len(column) + 2}}" for column in columns))
    for method, by_side in summaries.items():
        for side, s in by_side.items():
            counted = f"{s['plain']:>9,.0f}{s['share']:>17.2f}{s['rollouts']:>10.0f}"
            print(f"{method:<12}{side:<18}{counted}{s['playing']:>13.3f}{s['learning']:>13.3f}{s['expected']:>13,.0f}")
        if "minimax-lib" not in by_side:
            continue
        theirs = by_side["minimax-lib"]
        for side in OURS:
            ours = by_side[side]
            each = spread([a / b for a, b in zip(ours["turns"], theirs["turns"], strict=True)])
            print(f"{method:<12}{side}: {ours['expected'] / theirs['expected']:.2f} x minimax-lib; by turn {each}")


if __name__ == "__main__":
    main()
