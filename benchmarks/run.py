"""Measure speed beside minimax-lib, jaxued and plain flax: the same maze, batch, network and buffer, on this machine.

First one PPO update beside a plain flax one (`update.py`), the maze alone (`environment.py`), and the level buffer
beside jaxued's level sampler (`buffer.py`). Then training steps beside minimax-lib: the two libraries take turns, each
in a process of its own (ours, minimax, ours, minimax, ...), so that whatever else the machine does hits both.
Compiling, filling the level buffer and two updates of warm-up come before the clock starts.

Whether a batch is learned from is a coin toss in these methods, and a batch that is costs several times one that is
not, so the plain rate of a short run depends on its luck. Every iteration is timed by itself, and a least-squares split
of the time gives the seconds of a rollout and of an update, and from them the rate at the expected share of updates.

Ours is measured twice: with the default, one device, and with the CPU cut into as many devices as there are cores
(`--devices`, which a user has to ask for). Either way both libraries, and plain flax, have all cores: on one device
they are threads within an operation.
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

Iteration = dict[str, float]


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


def measure(python: Path | str, script: Path, *arguments: str) -> Any:
    """Run one measurement in a process of its own; its last line of output is JSON."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JAX_COMPILATION_CACHE_DIR")}
    done = subprocess.run(
        [python, script, *arguments], env=env | {"JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SystemExit(
            f"{script.name} {' '.join(arguments)} failed (exit status {done.returncode}); its message is above."
        )
    return json.loads(done.stdout.splitlines()[-1])


def summarise(method: str, iterations: list[Iteration]) -> dict[str, float]:
    """The plain rate, seconds of a rollout and of an update, and the rate at the expected share of updates."""
    rollouts = np.array([[i["steps"] / STEPS_PER_ROLLOUT, i["updates"]] for i in iterations])
    seconds = np.array([i["seconds"] for i in iterations])
    playing, learning = np.linalg.lstsq(rollouts, seconds, rcond=None)[0].tolist()
    return {
        "plain": float(rollouts[:, 0].sum() * STEPS_PER_ROLLOUT / seconds.sum()),
        "share": float(rollouts[:, 1].sum() / rollouts[:, 0].sum()),
        "rollouts": float(rollouts[:, 0].sum()),
        "playing": playing,
        "learning": learning,
        "expected": STEPS_PER_ROLLOUT / (playing + learning * UPDATES_PER_ROLLOUT[method]),
    }


def spread(figures: list[float]) -> str:
    return f"{statistics.median(figures):.2f} ({min(figures):.2f}-{max(figures):.2f})"


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
    parser.add_argument("--methods", nargs="+", default=list(UPDATES_PER_ROLLOUT), choices=list(UPDATES_PER_ROLLOUT))
    parser.add_argument("--seconds", type=float, default=30, help="timed seconds of each turn")
    parser.add_argument("--rounds", type=int, default=2, help="turns that each library gets")
    parser.add_argument("--training-only", action="store_true", help="leave out update, maze and buffer")
    options = parser.parse_args()

    peers = {"minimax-lib": peer_python("minimax"), "jaxued": peer_python("jaxued")}
    facts = machine(peers)
    results: dict[str, Any] = {"machine": facts}
    if not options.training_only:
        print("one update, ours and a plain flax one in turns ...", flush=True)
        results["update"] = {
            side: measure(sys.executable, HERE / "update.py", str(2 * options.seconds), "--devices", str(devices))
            for side, devices in OURS.items()
        }
        print("the maze alone ...", flush=True)
        results["environment"] = measure(sys.executable, HERE / "environment.py")
        print("the level buffer, ours and jaxued's in turns ...", flush=True)
        results["buffer"] = measure(sys.executable, HERE / "buffer.py", "--peer", str(peers["jaxued"]))
    sides: dict[str, tuple[Path, Path, list[str]]] = {
        side: (Path(sys.executable), HERE / "ours.py", ["--devices", str(devices)]) for side, devices in OURS.items()
    }
    sides["minimax-lib"] = (peers["minimax-lib"], HERE / "peers" / "minimax.py", [])
    measured: dict[str, dict[str, list[list[Iteration]]]] = {}
    for method in options.methods:
        playing = [side for side in sides if side in OURS or method in PEER_METHODS]
        measured[method] = {side: [] for side in playing}
        for turn in range(options.rounds):
            for side in playing:
                python, script, more = sides[side]
                print(f"{method}: {side}, turn {turn + 1} of {options.rounds} ...", flush=True)
                measured[method][side].append(measure(python, script, method, str(options.seconds), *more))
    facts["load average after"] = " ".join(f"{load:.2f}" for load in os.getloadavg())

    summaries = {
        m: {side: summarise(m, [i for turn in turns for i in turn]) for side, turns in measured[m].items()}
        for m in measured
    }
    results |= {"summary": summaries, "iterations": measured}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")

    print("\n" + "\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    for side, both in results.get("update", {}).items():
        ratios = [flax / ours for flax, ours in zip(both["flax"], both["tutelage"], strict=True)]
        print(f"update, {side}: {spread(both['tutelage'])} s, flax {spread(both['flax'])} s, ratio {spread(ratios)}")
    for entry in results.get("environment", []):
        name = f"{entry['size']}x{entry['size']} maze, {entry['levels']} levels"
        print(f"{name}: {entry['steps_per_second']:,.0f} steps/s with random actions")
    buffer = results.get("buffer", {"tutelage": {}})
    for capacity, ours in buffer["tutelage"].items():
        theirs = buffer["jaxued"][capacity]
        each = f"{ours['sample']:.1f} + {ours['new']:.1f} ms, jaxued {theirs['sample']:.1f} + {theirs['new']:.1f} ms"
        print(f"buffer of {int(capacity):,}, drawing + entering 32: {each}, ratio {theirs['both'] / ours['both']:.0f}")
    print()
    columns = ("steps/s", "updates/rollout", "rollouts", "s a rollout", "s an update", "at expected")
    print(f"{'method':<12}{'library':<18}" + "".join(f"{column:>{len(column) + 2}}" for column in columns))
    for method, by_side in summaries.items():
        for side, s in by_side.items():
            counted = f"{s['plain']:>9,.0f}{s['share']:>17.2f}{s['rollouts']:>10.0f}"
            print(f"{method:<12}{side:<18}{counted}{s['playing']:>13.3f}{s['learning']:>13.3f}{s['expected']:>13,.0f}")
        if "minimax-lib" not in by_side:
            continue
        theirs = by_side["minimax-lib"]["expected"]
        for side in OURS:
            turns = [
                summarise(method, ours)["expected"] / summarise(method, peer)["expected"]
                for ours, peer in zip(measured[method][side], measured[method]["minimax-lib"], strict=True)
            ]
            each = f"by turn {', '.join(f'{ratio:.2f}' for ratio in turns)}"
            print(f"{method:<12}{side}: {by_side[side]['expected'] / theirs:.2f} x minimax-lib at expected ({each})")


if __name__ == "__main__":
    main()
