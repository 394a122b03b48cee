"""Processes that are told to end at once: what they would leave behind goes with them, and nothing complains."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEARS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
"""Whoever runs the tests may ignore signals, as after nohup, and children inherit that."""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEARS + code], capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system does not show its shared memory")
def test_who_is_told_twice_to_stop_takes_its_shared_memory_along() -> None:
    outcome = ended(
        "import os, signal, time\n"
        "from tutelage.hosts import memory\n"
        "from tutelage.runs.signals import interruptible\n"
        "made = memory.create(100)\n"
        "print(made.name, flush=True)\n"
        "with interruptible() as asked:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    assert asked()\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    time.sleep(3600)\n"
    )
    assert (outcome.returncode, outcome.stderr) == (-signal.SIGHUP, "")
    assert not (Path("/dev/shm") / outcome.stdout.strip()).exists()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system does not show its shared memory")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_command_that_a_signal_ends_leaves_no_shared_memory(name: str) -> None:
    """It still dies of the signal, as whoever sent it expects."""
    outcome = ended(
        "import os, time\n"
        "from tutelage.cli.terminal import end_quietly\n"
        "from tutelage.hosts import memory\n"
        "end_quietly()\n"
        "print(memory.create(100).name, flush=True)\n"
        f"os.kill(os.getpid(), signal.{name})\n"
        "time.sleep(3600)\n"
    )
    assert (outcome.returncode, outcome.stderr) == (-getattr(signal, name), "")
    assert not (Path("/dev/shm") / outcome.stdout.strip()).exists()


def test_what_was_removed_in_good_order_is_not_removed_again() -> None:
    outcome = ended(
        "from tutelage import leaving\n"
        "from tutelage.hosts import memory\n"
        "memory.remove(memory.create(100))\n"
        "leaving.remember('a', lambda: print('removed', flush=True))\n"
        "leaving.leave(130)\n"
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "removed\n", "")


def test_leaving_is_not_taken_for_the_users_code_that_runs_meanwhile() -> None:
    outcome = ended(
        "from tutelage.guard import guarded\n"
        "from tutelage.leaving import leave\n"
        "guarded('x.py', '', lambda: leave(130))\n"
    )
    assert (outcome.returncode, outcome.stderr) == (130, "")


@pytest.mark.parametrize(
    "unheard",
    [
        "gc.callbacks.append(lambda phase, info: interrupt()); gc.collect()",
        "class A:\n    def __del__(self): interrupt()\na = A()\ndel a",
        "class A: pass\na = A()\nr = weakref.ref(a, lambda _: interrupt())\ndel a",
    ],
    ids=["collector", "destructor", "weak reference"],
)
def test_an_interrupt_that_nobody_would_hear_ends_the_program(unheard: str) -> None:
    """What is raised in these places would be shown and forgotten."""
    outcome = ended(
        "import gc, os, time, weakref\n"
        "from tutelage.cli.terminal import end_quietly\n"
        "def interrupt():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(1000):\n"
        "        pass\n"
        f"end_quietly()\n{unheard}\ntime.sleep(3600)\n"
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "")


def test_many_interrupts_at_the_very_end_are_no_complaint() -> None:
    """The first comes when a command is done and its output is flushed; the others while the interpreter ends."""
    outcome = ended(
        "import atexit, os, sys\n"
        "from tutelage import cli\n"
        "def interrupted(*words):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(1000):\n"
        "        pass\n"
        "atexit.register(interrupted)\n"
        "cli.main = interrupted\n"
        "sys.exit(cli.program())\n"
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "")
