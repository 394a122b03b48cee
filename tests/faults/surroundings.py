"""Streams that are closed or full, signals, disks that are full or read-only, users without a home."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .calls import Outcome, digest, finish, run, start
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


def training_into_nowhere(wanted: str, folder: Path, tally: Tally) -> None:
    """A run whose progress nobody can read ends in the same bits."""
    for name, redirection in STREAMS.items():
        path = folder / f"nowhere-{name.replace(' ', '-')}"
        words = [word for word in arguments("accel", folder) if word != "--quiet"]
        line = subprocess.list2cmdline([sys.executable, "-m", "tutelage.cli", *words, "--run", str(path)])
        outcome = finish(_shell(f"{line} {redirection}"))
        problem = outcome._replace(err=outcome.err or "said elsewhere").problem((0, 1))
        if not problem and (found := digest(path)) != wanted:
            problem = f"ended in {found} and not {wanted}"
        tally.note("streams", f"training, {name}: {problem}" if problem else "")


# --- signals

SIGNALS = {
    "Ctrl-C": [signal.SIGINT],
    "a polite kill": [signal.SIGTERM],
    "a closed terminal": [signal.SIGHUP],
    "Ctrl-C twice": [signal.SIGINT] * 2,
    "Ctrl-C five times": [signal.SIGINT] * 5,
    "everything at once": [signal.SIGHUP, signal.SIGTERM, signal.SIGINT],
}


def signals(kind: str, wanted: list[str], folder: Path, rng: random.Random, tally: Tally, only: str = "") -> None:
    """Signals to everybody in a run's group at some time. It stops in good order, and goes on to the same end."""
    for name, sent in SIGNALS.items() if not only else [(only, SIGNALS[only])]:
        path = folder / f"signal-{rng.randrange(10**9)}"
        words = [word for word in arguments(kind, folder) if word != "--quiet"]
        # Long enough to be met on its way, and then to its own end.
        process = start([*words, "--run", str(path)])
        if rng.random() < 0.8:
            _wait_for(path / "metrics.jsonl", process)
        else:
            time.sleep(rng.uniform(0.2, 3.0))
        time.sleep(rng.uniform(0.0, 0.3))
        for number in sent:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            time.sleep(rng.choice([0.0, 0.05, 0.2]))
        outcome = finish(process)
        # Before it trains, nobody is there to stop in good order.
        problem = outcome._replace(err=outcome.err or "stopped").problem(
            (0, 2, 130, *(-number for number in set(sent)))
        )
        if not problem and (path / "config.toml").exists():
            again = run(["resume", str(path), "--quiet"])
            problem = again.problem((0,)) or ("" if digest(path) == wanted[0] else "another result")
        tally.note("signals", f"{name}, {kind}: {problem}" if problem else "")
        shutil.rmtree(path, ignore_errors=True)


def _wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(2000):
        if file.exists() or process.poll() is not None:
            return
        time.sleep(0.03)


# --- disks


def full_disk(wanted: str, folder: Path, rng: random.Random, tally: Tally, kind: str = "accel") -> None:
    """No file may grow beyond some size, which the system itself refuses: then there is room again, and it goes on."""
    path = folder / f"full-{rng.randrange(10**9)}"
    limit = rng.choice([0, 100, 400, 1000, 3000, 20_000, 40_000])
    # The limit is set by the process itself, before it becomes the command.
    limited = (
        "import os, resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (int(sys.argv[1]), r.RLIM_INFINITY));"
        "os.execv(sys.executable, [sys.executable, '-m', 'tutelage.cli', *sys.argv[2:]])"
    )
    words = arguments(kind, folder)
    command = [sys.executable, "-c", limited, str(limit), *words, "--run", str(path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    first = finish(subprocess.Popen(command, text=True, errors="replace", start_new_session=True, **pipes))
    problem = first.problem((0, 2))
    tally.note("a full disk", f"limit {limit}: {problem}" if problem else _goes_on(path, words, wanted))


def _goes_on(path: Path, words: list[str], wanted: str) -> str:
    """With room again, the run ends where it should."""
    if (path / "config.toml").exists():
        again = run(["resume", str(path), "--quiet"])
    else:
        shutil.rmtree(path, ignore_errors=True)
        again = run([*words, "--run", str(path)])
    problem = again.problem((0,)) or ("" if digest(path) == wanted else "another result")
    shutil.rmtree(path, ignore_errors=True)
    return problem


def as_nobody(home: str | None, folder: Path) -> dict[str, object]:
    """A user id that nobody has, which root can take; permissions then mean something. Others stay who they are."""
    folder.chmod(0o777)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOME", "XDG", "JAX_COMP"))}
    more: dict[str, object] = {"env": clean | ({"HOME": home} if home else {})}
    return more | ({"user": 54321, "group": 54321, "extra_groups": []} if os.getuid() == 0 else {})


def users(run_path: Path, folder: Path, tally: Tally) -> None:
    """Somebody without a name, without a home, with a home that cannot be written, and a run that may not be."""
    shared = folder / "shared"
    shutil.copytree(run_path, shared)
    for path in (shared, *shared.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (folder / "closed").mkdir(exist_ok=True)
    (folder / "closed").chmod(0o000)
    cases: list[tuple[str, list[str], Callable[[Outcome], bool]]] = [
        ("show", ["show", str(shared)], lambda outcome: outcome.code == 0),
        ("compare", ["compare", str(shared)], lambda outcome: outcome.code == 0),
        ("resume read-only", ["resume", str(shared)], lambda outcome: outcome.code == 2),
        ("eval read-only", ["eval", str(shared), "--episodes", "1"], lambda outcome: outcome.code in (0, 2)),
        ("train there", [*arguments("plr", folder), "--run", str(shared / "x")], lambda outcome: outcome.code == 2),
        ("a closed directory", ["show", str(folder / "closed" / "x")], lambda outcome: outcome.code == 2),
    ]
    for home in (None, "/nonexistent", str(folder / "closed")):
        for name, words, right in cases:
            settings = as_nobody(home, folder)
            command = [sys.executable, "-m", "tutelage.cli", *words]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
            try:
                process: subprocess.Popen[str] = subprocess.Popen(
                    command, text=True, errors="replace", start_new_session=True, **pipes, **settings
                )
            except PermissionError:  # this Python is in a place that others may not enter
                return
            outcome = finish(process)
            problem = outcome.problem() or ("" if right(outcome) or os.getuid() != 0 else f"{outcome}")
            tally.note("users", f"{name}, home {home}: {problem}" if problem else "")
    for path in (shared, *shared.rglob("*")):
        path.chmod(0o755)
    (folder / "closed").chmod(0o755)
    shutil.rmtree(shared)
