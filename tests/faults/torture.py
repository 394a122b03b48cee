"""`make torture`: attack for as long as is asked for, count, and fail if anything broke. See docs/faults.md."""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

from tests.faults import environments, fleets, fuzz, kills, levels, places, surroundings
from tests.faults.helper import Helper
from tests.faults.made import RUNS
from tests.faults.tally import Tally

LEAST = {"kills": 200, "calls": 5000, "records": 5000}
"""What there must be of these. They go on when the time is over, up to a limit."""
SHARES = {
    "kills": 0.32,
    "calls": 0.18,
    "records": 0.18,
    "fleets": 0.06,
    "levels": 0.04,
    "signals": 0.04,
    "disks": 0.04,
    "users": 0.04,
    "environments": 0.03,
    "configs": 0.02,
    "checkpoints": 0.02,
    "streams": 0.02,
    "nowhere": 0.01,
}
"""Of the time; what has what it must have passes most of its share on."""
SATED = 0.1
MEMORY = 8 * 2**30
PARTS = 12
"""Of what is tried in turn, a round takes one of so many."""


def main(words: list[str]) -> int:
    """Attack with every kind in turn, each for its share of the time."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=LEAST["kills"], help="at least so many")
    parser.add_argument("--fuzz", type=int, default=LEAST["calls"], help="calls, and records, at least")
    parser.add_argument("--limit", type=float, default=0.0, help="minutes for that (default: twice the others)")
    parser.add_argument("--only", default="", help="kinds, with commas between")
    parser.add_argument("--runs", default="", help="kinds of runs to kill, with commas between; without, all")
    options = parser.parse_args(words)
    wanted = options.only.split(",") if options.only else list(SHARES)
    if unknown := set(wanted) - set(SHARES):
        parser.error(f"there are no kinds {', '.join(sorted(unknown))}; there are {', '.join(SHARES)}")
    least = {"kills": options.kills, "calls": options.fuzz, "records": options.fuzz}
    least = {name: number for name, number in least.items() if name in wanted}
    logging.disable(logging.WARNING)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:  # as after nohup; those who are attacked shall hear it
            signal.signal(number, lambda got, frame: None)
    # What takes all memory shall end itself, and nobody else on this machine.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    (folder / "here").mkdir()
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    os.chdir(folder / "here")  # a command may write where it is
    try:
        tally = attack(folder, options, wanted, least)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    print(tally.table())
    short = {name: count(tally, name) for name, number in least.items() if count(tally, name) < number}
    for name, number in short.items():
        print(f"Too few: {number} {name}, and not {least[name]}.")
    return 1 if tally.broke or short else 0


def count(tally: Tally, name: str) -> int:
    """Attacks of a kind; kills are counted by what was killed."""
    return sum(number for kind, number in tally.tried.items() if kind.partition(",")[0] == name)


def attack(folder: Path, options: argparse.Namespace, wanted: list[str], least: dict[str, int]) -> Tally:
    """Rounds of all kinds, and what they counted."""
    tally, rng = Tally(), random.Random(options.seed)
    kinds = options.runs.split(",") if options.runs else list(RUNS)
    rng.shuffle(kinds)
    whole: dict[str, list[str]] = {}
    spent, rounds_of = dict.fromkeys(wanted, 0.0), dict.fromkeys(wanted, 0)
    run = folder / "accel-whole"

    def digests(kind: str) -> list[str]:
        if kind not in whole:
            whole[kind] = kills.undisturbed(kind, folder)
        return whole[kind]

    def turn(name: str) -> slice:
        return slice(rounds_of[name] % PARTS, None, PARTS)

    def killing() -> None:
        kind = kinds[rounds_of["kills"] % len(kinds)]
        kills.kill(kind, digests(kind), folder, 6, rng, tally)

    def disks() -> None:
        name, number = digests("accel")[0], rounds_of["disks"] % 4
        if number == 0:
            places.read_only_disk(name, run, folder, tally, "accel")
        elif number == 1:
            places.limited_files(name, folder, rng, tally)
        else:
            places.small_disk(name, run, folder, rng, tally, "accel")

    def signals() -> None:
        kind = rng.choice(["accel", "workers", "walker"])
        surroundings.signals(kind, digests(kind), folder, rng, tally)

    def streams() -> None:
        commands = [["methods"], ["show", str(run)], ["show", "missing"], ["train", "maze", "x"]]
        surroundings.streams(run, tally, [commands[rounds_of["streams"] % 4]])

    helped = Helper(
        {
            "records": lambda tally, seed: fuzz.records(250, run, tally, seed),
            "configs": lambda tally, seed: fuzz.configs(40, run, tally, seed),
            "checkpoints": lambda tally, seed: fuzz.manifests(60, run, tally, seed),
            "calls": lambda tally, seed: fuzz.calls(200, run, folder, tally, seed),
            "levels": lambda tally, seed: levels.levels(300, folder, tally, seed),
            "environments": lambda tally, seed: environments.environments(
                folder, tally, slice(seed % PARTS, None, PARTS)
            ),
            "fleets": lambda tally, seed: fleets.fleets(
                folder, tally, slice(seed % PARTS, None, PARTS), 250 + 37 * (seed // PARTS % 5)
            ),
        }
    )
    others: dict[str, Callable[[], None]] = {
        "kills": killing,
        "streams": streams,
        "nowhere": lambda: surroundings.training_into_nowhere(digests("accel")[0], folder, tally, turn("nowhere")),
        "signals": signals,
        "disks": disks,
        "users": lambda: places.users(run, folder, digests("accel")[0], tally, turn("users")),
    }
    digests("accel")
    began = time.monotonic()

    def due(name: str) -> tuple[bool, float]:
        """The smaller, the sooner: each once, then by the share of time that it has had."""
        sated = name in least and count(tally, name) >= least[name]
        return rounds_of[name] > 0, spent[name] / (SHARES[name] * (SATED if sated else 1))

    while True:
        minutes = (time.monotonic() - began) / 60
        short = [name for name, number in least.items() if count(tally, name) < number]
        left = wanted if minutes < options.minutes else short
        if not left or minutes > (options.limit or 2 * options.minutes):
            break
        name = min(left, key=due)
        start, broken = time.monotonic(), len(tally.broke)
        if name in others:
            try:
                others[name]()
            except Exception:  # a whole run that did not end as it should, or a fault of the harness itself
                tally.note(name, traceback.format_exc()[-3000:])
        else:
            # Those that go through a list take the next part of it; the others draw.
            listed = name in ("environments", "fleets")
            helped(name, rounds_of[name] if listed else rng.randrange(2**32), tally)
        spent[name] += time.monotonic() - start
        rounds_of[name] += 1
        for kind, problem in tally.broke[broken:]:
            print(f"BROKE {kind}: {problem}\n", flush=True)
        so_far = f"{sum(tally.tried.values())} tried, {len(tally.broke)} broke ({name}: {count(tally, name)})"
        print(f"{time.monotonic() - began:7.0f} s  {so_far}", flush=True)
    helped.close()
    print(f"Seconds on the clock, by kind: {json.dumps({name: round(value) for name, value in spent.items()})}")
    return tally


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
