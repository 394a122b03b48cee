"""`make torture`: attack for as long as is asked for, count, and fail if anything broke. See docs/faults.md."""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

from tests.faults import environments, fuzz, kills, surroundings
from tests.faults.made import RUNS, arguments
from tests.faults.tally import Tally


def main(words: list[str]) -> int:
    """Attack everything once, and then over and over until the time is over."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=200, help="at least so many")
    parser.add_argument("--fuzz", type=int, default=5000, help="calls, and records, at least")
    parser.add_argument("--only", default="", help="kinds, with commas between")
    parser.add_argument("--runs", default="", help="kinds of runs to kill, with commas between; without, all")
    options = parser.parse_args(words)
    kinds = options.runs.split(",") if options.runs else list(RUNS)
    logging.disable(logging.WARNING)
    tally, rng, began = Tally(), random.Random(options.seed), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    shown = [0]

    def over() -> bool:
        return time.monotonic() - began > 60 * options.minutes

    def report(kind: str) -> None:
        for what, problem in tally.broke[shown[0] :]:
            print(f"BROKE {what}: {problem}\n", flush=True)
        shown[0] = len(tally.broke)
        print(
            f"{time.monotonic() - began:7.0f} s  {sum(tally.tried.values())} tried, {len(tally.broke)} broke ({kind})",
            flush=True,
        )

    whole: dict[str, list[str]] = {}

    def digests(kind: str) -> list[str]:
        if kind not in whole:
            whole[kind] = kills.undisturbed(kind, folder)
        return whole[kind]

    def killing() -> None:
        kind = rng.choice(kinds)
        kills.kill(kind, digests(kind), folder, 5, rng, tally)

    def fuzzing(attack: Callable[..., None], number: int) -> Callable[[], None]:
        return lambda: attack(number, folder / "accel-whole", tally, rng.randrange(2**32))

    rounds: dict[str, Callable[[], None]] = {
        "kills": killing,
        "records": fuzzing(fuzz.records, 250),
        "configs": fuzzing(fuzz.configs, 60),
        "checkpoints": fuzzing(fuzz.manifests, 100),
        "calls": lambda: fuzz.calls(250, folder / "accel-whole", folder, tally, rng.randrange(2**32)),
        "environments": lambda: environments.environments(folder, tally),
        "streams": lambda: surroundings.streams(folder / "accel-whole", tally),
        "nowhere": lambda: surroundings.training_into_nowhere(digests("accel")[0], folder, tally),
        "signals": lambda: surroundings.signals("accel", digests("accel"), folder, rng, tally),
        "disks": lambda: [surroundings.full_disk(digests("accel")[0], folder, rng, tally) for _ in range(3)] and None,
        "users": lambda: surroundings.users(folder / "accel-whole", folder, tally),
    }
    wanted = options.only.split(",") if options.only else list(rounds)
    late = [name for name in wanted if name != "kills"]
    if late or "kills" not in wanted:
        digests("accel")
    print(f"undisturbed: {whole}; arguments {arguments('accel', folder)}", flush=True)
    least = {"kills": options.kills, "calls": options.fuzz, "records": options.fuzz}
    # Kills first: copies of this process are made for them, and JAX must not have started here.
    while "kills" in wanted and tally.tried["kills"] < options.kills and not over():
        killing()
        report("kills")
    while late:
        for name in late:
            rounds[name]()
            report(name)
        short = [name for name in late if tally.tried[name] < least.get(name, 0)]
        late = late if not over() else short
    print(tally.table())
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if tally.broke else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
