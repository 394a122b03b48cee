"""Small runs, and a server in a thread that is asked over real connections."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import tutelage
from tutelage.lab.guard import Door
from tutelage.lab.laboratory import Laboratory
from tutelage.lab.serve import bound, server

PATIENCE = 300.0
"""Seconds, after which something hangs. A first view compiles a program: a minute or more on a busy machine."""
SMALL = {
    "env.size": "5",
    "env.view": "3",
    "env.blocks": "8",
    "env.max_steps": "20",
    "network.core": "lstm",
    "network.width": "8",
    "encoder.filters": "2",
    "ppo.epochs": "1",
    "train.levels": "8",
    "train.rollout": "20",
    "train.log_every": "5",
    "train.checkpoint_every": "10",
    "train.evaluate_every": "0",
    "train.episodes": "4",
    "train.steps": "4800",
}
STRAIGHT = """\
#######
#.....#
#.#.#.#
#.>.G.#
#.....#
#.....#
#######"""
WALLED = """\
#######
#.....#
#.#.###
#.>#G##
#...###
#.....#
#######"""


def settings(method: str) -> Any:
    changes = dict(SMALL)
    if method == "accel":
        changes |= {"replay.capacity": "24", "replay.min_fill": "0.3"}
    return tutelage.override(tutelage.preset("maze", method, "small"), changes)


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]


class Served(NamedTuple):
    """A server that runs."""

    port: int
    lab: Laboratory
    token: str = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, question: Any = None, headers: Mapping[str, str] = {}, method: str = "") -> Answer:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = None if question is None else question if isinstance(question, bytes) else json.dumps(question).encode()
        sent = {"content-type": "application/json", **headers} if data is not None else dict(headers)
        try:
            line.request(method or ("GET" if data is None else "POST"), path, data, sent)
            answer = line.getresponse()
            body = answer.read()
            kind = answer.headers.get("content-type", "")
            return Answer(
                answer.status, json.loads(body) if kind.startswith("application/json") else body, answer.headers
            )
        finally:
            line.close()


@contextmanager
def served_lab(lab: Laboratory, token: str = "") -> Iterator[Served]:
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        running = server(lab, Door("127.0.0.1", port, token))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not running.started and time.monotonic() < until:
            time.sleep(0.02)
        try:
            yield Served(port, lab, token)
        finally:
            running.should_exit = True
            thread.join(10)
