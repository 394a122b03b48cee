"""A run that a process of its own trains, followed by the lab over server-sent events."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tutelage
from tutelage.lab.laboratory import Laboratory
from tutelage.lab.opening import directories, opened

from .made_lab import SMALL, Served, served_lab

ITERATIONS, PER_ITERATION = 2000, 8 * 20
CHANGES = SMALL | {
    "train.steps": str(ITERATIONS * PER_ITERATION),
    "train.log_every": "10",
    "train.checkpoint_every": "100",
    "replay.capacity": "24",
    "replay.min_fill": "0.3",
}
PATIENCE = 300.0
"""Seconds, after which something hangs."""


def trainer(place: Path) -> subprocess.Popen[bytes]:
    """The command that people type."""
    options = [word for name, value in CHANGES.items() for word in (f"--{name}", value)]
    command = [sys.executable, "-m", "tutelage.cli", "train", "maze", "accel", "--preset", "small", "--run", str(place)]
    return subprocess.Popen([*command, "--quiet", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def events(served: Served) -> Iterator[dict[str, Any]]:
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    try:
        line.request("GET", "/api/live")
        answer = line.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        while True:
            text = answer.readline()
            if text.startswith(b"data: "):
                yield json.loads(text[6:])
    finally:
        line.close()


def test_a_run_is_followed_while_another_process_trains_it(tmp_path: Path):
    place = tmp_path / "run"
    process = trainer(place)
    try:
        until = time.monotonic() + PATIENCE
        while not list(place.glob("checkpoints/*")) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert process.poll() is None
        lab = Laboratory(opened(directories([str(place)]), pytest.fail), tmp_path / "kept.txt")
        opened_at = lab.students.run(0).iteration
        assert opened_at < ITERATIONS
        seen, alive, checkpoints, newest = [], [], set(), []
        with served_lab(lab) as served:
            for news in events(served):
                seen += [record["iteration"] for record in news["metrics"]]
                alive.append(process.poll() is None)
                if news["checkpoint"] not in checkpoints:  # what the page does then
                    checkpoints.add(news["checkpoint"])
                    newest.append(served.ask("/api/buffer?run=0&student=0&order=newest&number=6").body["iteration"])
                if seen and seen[-1] >= ITERATIONS:
                    break
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said.decode()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    # It was followed while it went on: several times, through several checkpoints, each record once and in order.
    assert sum(alive) >= 2
    assert len(checkpoints) >= 2
    assert newest == sorted(newest)
    assert newest[-1] > opened_at
    assert seen == sorted(set(seen))
    # Nobody stopped it: it ends where it had to, and can still be loaded.
    assert seen[-1] == ITERATIONS
    assert tutelage.load(place).iteration == ITERATIONS
