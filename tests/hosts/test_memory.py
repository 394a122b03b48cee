"""Shared memory of dead processes is removed by the next who starts; that of living ones is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tutelage.hosts import memory

FLEET = """
import sys, time
from tutelage.hosts import memory
segment = memory.create(1000)
print(segment.name, flush=True)
time.sleep(100)
"""


def left_by_a_killed_group() -> str:
    process = subprocess.Popen([sys.executable, "-c", FLEET], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    assert (memory.FOLDER / name).exists()
    memory.clean()
    assert (memory.FOLDER / name).exists()  # it lives
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.1)
    return name


@pytest.mark.skipif(not memory.FOLDER.is_dir(), reason="this system shows no shared memory")
def test_what_a_killed_group_left_is_removed_at_the_next_start() -> None:
    name = left_by_a_killed_group()
    assert (memory.FOLDER / name).exists()
    segment = memory.create(10)
    try:
        assert not (memory.FOLDER / name).exists()
        assert (memory.FOLDER / segment.name).exists()
        assert segment.name.startswith(f"tutelage-{os.getpid()}-")
    finally:
        segment.close()
        segment.unlink()


def test_only_our_own_names_are_touched(tmp_path: Path) -> None:
    dead = 2**22 + 5  # beyond the largest process number of Linux
    ours = f"tutelage-{dead}-0123456789ab"
    others = [
        "tutelage-x-0123456789ab",
        f"tutelage-{os.getpid()}-0123456789ab",
        f"psm_{dead}",
        "tutelage-1-0123456789ab",
    ]
    for name in [ours, *others]:
        (tmp_path / name).touch()
    assert memory.clean(tmp_path) == [ours]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


@pytest.mark.skipif(not memory.FOLDER.is_dir(), reason="this system does not show its shared memory")
def test_a_segment_that_somebody_else_has_removed_is_no_trouble() -> None:
    """Nor a complaint of the tracker, when the process ends."""
    code = (
        "from tutelage.hosts import memory\n"
        "made = memory.create(100)\n"
        "(memory.FOLDER / made.name).unlink()\n"
        "made.close()\n"
        "memory.remove(made)\n"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (outcome.returncode, outcome.stderr) == (0, "")
