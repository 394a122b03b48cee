"""Streams that are closed or full, and signals."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .calls import digest, finish, run, start
from .made import arguments
from .tally import Tally

STREAMS = {
    "closed stdout": "1>&-",
    "full stdout": ">/dev/full",
    "closed stderr": "2>&-",
    "full stderr": "2>/dev/full",
    "closed both": "1>&- 2>&-",
    "full both": ">/dev/full 2>&1",
    "closed stdin": "<&-",
    "all closed": "0<&- 1>&- 2>&-",
}


def streams(run_path: Path, tally: Tally, commands: list[list[str]] | None = None) -> None:
    """Commands whose output goes nowhere. They end as they would, or with 1 where a result was lost."""
    for words in commands or [["methods"], ["show", str(run_path)], ["show", "missing"], ["train", "maze", "x"]]:
        for name, redirection in STREAMS.items():
            line = subprocess.list2cmdline([sys.executable, "-m", "tutelage.cli", *words])
            outcome = finish(_shell(f"{line} {redirection}"))
            said = outcome._replace(err=outcome.err or "said elsewhere")
            tally.note("streams", f"{name}, {words}: {p}" if (p := said.problem()) else "")


def _shell(line: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(["bash", "-c", line], text=True, errors="replace", start_new_session=True, **pipes)


def training_into_nowhere(wanted: str, folder: Path, tally: Tally, only: slice = slice(None)) -> None:
    """A run whose progress nobody can read ends in the same bits."""
    for name, redirection in list(STREAMS.items())[only]:
        path = folder / f"nowhere-{name.replace(' ', '-')}"
        words = [word for word in arguments("accel", folder) if word != "--quiet"]
        line = subprocess.list2cmdline([sys.executable, "-m", "tutelage.cli", *words, "--run", str(path)])
        outcome = finish(_shell(f"{line} {redirection}"))
        problem = outcome._replace(err=outcome.err or "said elsewhere").problem((0, 1))
        if not problem and (found := digest(path)) != wanted:
            problem = f"ended in {found} and not {wanted}"
        tally.note("nowhere", f"{name}: {problem}" if problem else "")
        shutil.rmtree(path, ignore_errors=True)


# --- signals

SIGNALS = {
    "Ctrl-C": [signal.SIGINT],
    "a polite kill": [signal.SIGTERM],
    "a closed terminal": [signal.SIGHUP],
    "Ctrl-C twice": [signal.SIGINT] * 2,
    "Ctrl-C five times": [signal.SIGINT] * 5,
    "everything at once": [signal.SIGHUP, signal.SIGTERM, signal.SIGINT],
}
TARGETS = ("everybody", "the parent", "a worker")


def signals(kind: str, wanted: list[str], folder: Path, rng: random.Random, tally: Tally, only: str = "") -> None:
    """One sort of signals, at some time. A run stops in good order, and goes on to the same end; a worker does not mind
    what is meant for who trains.
    """
    name, target = only or rng.choice(list(SIGNALS)), "everybody" if only else rng.choice(TARGETS)
    target = "everybody" if target == "a worker" and kind not in ("workers", "walker") else target
    sent = SIGNALS[name]
    path = folder / f"signal-{rng.randrange(10**9)}"
    words = [word for word in arguments(kind, folder) if word != "--quiet"]
    process = start([*words, "--run", str(path)])
    started = rng.random() < 0.8
    if started or target == "a worker":
        _wait_for(path / "metrics.jsonl", process)
    else:
        time.sleep(rng.uniform(0.2, 3.0))
    time.sleep(rng.uniform(0.0, 0.3))
    begun = (path / "metrics.jsonl").exists()
    for number in sent:
        with suppress(ProcessLookupError):
            if target == "everybody":
                os.killpg(process.pid, number)
            elif target == "the parent":
                process.send_signal(number)
            else:
                for child in _children(process.pid):
                    os.kill(child, number)
        time.sleep(rng.choice([0.0, 0.05, 0.2]))
    outcome = finish(process)
    endings = (0, 130, *(-number for number in set(sent))) if begun else (0, 2, 130, *(-number for number in set(sent)))
    if target == "a worker":
        endings = (0,)
    elif begun and len(sent) == 1 and digest(path) != wanted[0]:  # with all of it saved, it was on its way out
        endings = (0, 130)
    # Before it trains, nobody is there to stop in good order.
    problem = outcome._replace(err=outcome.err or "stopped").problem(endings)
    if not problem and begun and "resource_tracker" in outcome.err:
        problem = f"the tracker of shared memory complains: {outcome.err[-500:]}"
    if not problem and any((path / file).exists() for file in ("config.toml", "seeds.json")):
        again = run(["resume", str(path), "--quiet"])
        problem = again.problem((0,)) or ("" if digest(path) == wanted[0] else "another result")
    tally.note("signals", f"{name} to {target}, {kind}: {problem}" if problem else "")
    shutil.rmtree(path, ignore_errors=True)


def _children(parent: int) -> list[int]:
    """The workers of a process of ours: its children that are Python's spawned processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            above = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if above == parent and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def _wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    while not file.exists() and process.poll() is None:
        time.sleep(0.03)
