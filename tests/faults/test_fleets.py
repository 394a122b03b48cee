"""Workers that hear what is not meant for them, or answer what no worker answers; and levels that are almost levels."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tutelage.envs.base import Discrete
from tutelage.errors import UserError
from tutelage.hosts.environment import HostEnvironment
from tutelage.hosts.fields import Field
from tutelage.hosts.fleet import Fleet, _complaint, close_all, get_fleet
from tutelage.hosts.simulator import Maker

from . import levels
from .fleets import SAID, SILENT, TRAP
from .tally import Tally

ROOT = Path(__file__).parents[2]
SIMULATOR = """
import gymnasium, numpy as np
class Still(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}
    def step(self, action):
        lie(1)
        return np.ones(2, np.float32), 1.0, False, False, {}
"""


def fleet(folder: Path, body: str) -> Fleet:
    """Two workers, one slot each, that do something at their first step."""
    file = folder / "still.py"
    file.write_text(SIMULATOR + TRAP.replace("WHEN", "1").replace("BODY", body))
    observed = (Field("", (2,), "float32"),)
    env = HostEnvironment(Maker(str(file), "Still"), observed, Discrete(2), workers=2, patience=60.0)
    made = get_fleet(env, {"": np.zeros((2, 1), np.float32)}, 2)
    made.reset({"": np.zeros((2, 1), np.float32)}, np.zeros(2))
    return made


def step(made: Fleet) -> dict[str, np.ndarray]:
    made.send(np.zeros(2, int))
    return made.receive()


def test_workers_do_not_mind_what_asks_a_run_to_stop(tmp_path: Path) -> None:
    """A closed terminal, or a cluster that ends a job, reaches everybody; who trains needs them for its last steps."""
    made = fleet(tmp_path, "pass")
    try:
        for process in made._processes:
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                os.kill(process.pid, number)
        assert step(made)["reward"].tolist() == [1.0, 1.0]
    finally:
        close_all()
    assert made._processes == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dies of a signal", r"Worker \d has died \(exit code -9\) while playing a step"),
        ("closes its pipe", r"Worker \d has died"),
        ("raises what cannot be said", r"Worker \d failed with E\b"),
        ("answers garbage", r"Worker \d answered what no worker answers"),
        (
            "names a slot that is not",
            r"Worker \d failed with ValueError: x.* while playing a step in environment [01]\.",
        ),
    ],
)
def test_what_a_worker_does_instead_is_a_sentence(tmp_path: Path, name: str, says: str) -> None:
    made = fleet(tmp_path, SAID[name])
    with pytest.raises(UserError, match=says):
        step(made)
    close_all()


def test_flags_are_booleans_whatever_is_written(tmp_path: Path) -> None:
    made = fleet(tmp_path, SILENT["flags that are no booleans"])
    try:
        answer = step(made)
        assert {*answer["terminated"].view(np.uint8), *answer["truncated"].view(np.uint8)} <= {0, 1}
    finally:
        close_all()


@pytest.mark.parametrize("said", [b"", b"\xff", b"3", b"[]", b"{}", b"[" * 100_000, b'{"error": 1}'])
def test_an_answer_that_is_none_is_shown(said: bytes) -> None:
    assert _complaint(said)[0].startswith("answered what no worker answers")


@pytest.mark.parametrize("name", ["maze", "matrix", "walker"])
def test_levels_that_are_wrong_are_sentences(tmp_path: Path, name: str) -> None:
    tally = Tally()
    levels.levels(40, tmp_path, tally, names=(name,))
    assert tally.broke == []
    assert tally.tried["levels"] == 40 or tally.skipped


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux who is running")
def test_a_worker_that_hangs_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib; from tests.faults.test_fleets import fleet, np\n"
        "made = fleet(pathlib.Path(sys.argv[1]), 'time.sleep(3600)')\n"
        "made.send(np.zeros(2, int))\n"
        "print(*(process.pid for process in made._processes), flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=where, check=False, capture_output=True)
    assert done.returncode == -9, done.stderr.decode()
    workers = {int(word) for word in done.stdout.split()}
    assert len(workers) == 2
    while {pid for pid in workers if running(pid)}:  # a worker that stays sleeps for an hour
        time.sleep(0.05)


def running(process: int) -> bool:
    """A process that has ended but that nobody has asked about is not running."""
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
