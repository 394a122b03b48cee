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

from .made_lab import PATIENCE, SMALL, Served, served_lab

CHANGES = SMALL | {
    "train.steps": "1000000000",
    "train.log_every": "10",
    "train.checkpoint_every": "100",
    "replay.capacity": "24",
    "replay.min_fill": "0.3",
}


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
    """The trainer has work for days, so however slow the machine is, it goes on while it is looked at."""
    place = tmp_path / "run"
    process = trainer(place)
    try:
        until = time.monotonic() + PATIENCE
        while not list(place.glob("checkpoints/*")) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        lab = Laboratory(opened(directories([str(place)]), pytest.fail), tmp_path / "kept.txt")
        opened_at = lab.students.run(0).iteration
        seen: list[int] = []
        with served_lab(lab) as served:
            stream = events(served)
            for checkpoints in (2, 4):  # followed, then its buffer is read, then followed again
                there: set[int] = set()
                while len(there) < checkpoints:
                    news = next(stream)
                    assert process.poll() is None
                    there.add(news["checkpoint"])
                    seen += [record["iteration"] for record in news["metrics"]]
                newest = served.ask("/api/buffer?run=0&student=0&order=newest&number=6").body
                assert newest["iteration"] > opened_at
                assert len(newest["levels"]) == 6
            stream.close()
        assert seen == sorted(set(seen))
        assert process.poll() is None  # nobody stopped it
    finally:
        process.kill()
        said, _ = process.communicate()
    assert said == b""  # and it had nothing to complain about
    assert tutelage.load(place).iteration >= newest["iteration"]
