"""Time from the start of a process to the first iteration and the first update of `tutelage train maze METHOD`,
and the time that `tutelage --help` takes (the best of five).

usage: python startup.py [--method accel] [--devices N] [--preset NAME]

By default on as many devices as there are cores, as the command line does.

Twice, each in a process of its own: with no compiled programs kept from before (cold), and with those of the first
(warm). Prints one JSON line for each, in seconds since the process began:

imported      Python and JAX are there
state         the first state is computed (its program compiled)
evaluated     the untrained student has played the held-out suite, which is the first point of every run's curve
iteration     the first iteration is done: the whole program, update included, is compiled by then
update        the first iteration that learned is done; methods with a buffer fill it first, and how far is a setting
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutelage.machine import cores


class Enough(Exception):
    """The first update is done."""


class Watch:
    """Notes when things happen."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.times: dict[str, float] = {}

    def note(self, name: str) -> None:
        self.times.setdefault(name, round(time.time() - self.began, 1))

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None:
        self.note("state")

    def advanced(self, record: Mapping[str, Any]) -> None:
        self.note("iteration")
        if record["learned"] > 0:
            self.note("update")
            self.times["iterations before"] = record["iteration"] - 1
            raise Enough

    def evaluated(self, iteration: int, evaluation: Any) -> None:
        self.note("evaluated")

    def said(self, message: str) -> None: ...


def child(began: float, method: str, devices: int, preset: str, run: str) -> None:
    """What the command line does, in its order."""
    import tutelage
    from tutelage.runs.launch import start_jax

    changes = {"train.log_every": "1", "train.devices": str(devices)}
    settings = tutelage.override(tutelage.preset("maze", method, preset), changes)
    start_jax(devices=devices)
    from tutelage.runs import session

    watch = Watch(began)
    watch.note("imported")
    try:
        session.train(settings, run, watch)
    except Enough:
        print(json.dumps(watch.times))


def seconds_of_help() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tutelage.cli", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--method", default="accel")
    parser.add_argument("--devices", type=int, default=len(cores()))
    parser.add_argument("--preset", default="")
    parser.add_argument("--child", nargs=2, metavar=("BEGAN", "RUN"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(float(options.child[0]), options.method, options.devices, options.preset, options.child[1])
        return
    with tempfile.TemporaryDirectory() as place:
        env = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
        env |= {"XDG_CACHE_HOME": place, "JAX_PLATFORMS": "cpu"}
        print("--help", f"{min(seconds_of_help() for _ in range(5)):.2f} s", flush=True)
        for name in ("cold", "warm"):
            command = [sys.executable, __file__, "--method", options.method, "--devices", str(options.devices)]
            command += ["--preset", options.preset, "--child", str(time.time()), str(Path(place) / name)]
            load = os.getloadavg()[0]
            done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
            print(name, f"(load {load:.1f})", done.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
