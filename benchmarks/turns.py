"""A process that is warm and waits, and works when it is its turn; and whoever says whose turn it is.

Imported by both sides of a comparison, so by interpreters with different packages: standard library only.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

READY = "ready"


def take_turns(turn: Callable[[float], list[Any]]) -> None:
    """Say that all is compiled and warm; then, for every line with a number, take a turn and print what it gives."""
    print(READY, flush=True)
    for line in sys.stdin:
        print(json.dumps(turn(float(line))), flush=True)


def train_in_turns(work: Callable[[], tuple[int, int]]) -> None:
    """Train for so many seconds a turn. `work` does a piece of it, to its end, and returns (environment steps, PPO
    updates); a turn gives an entry for every piece.
    """

    def turn(seconds: float) -> list[dict[str, float]]:
        pieces: list[dict[str, float]] = []
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            steps, updates = work()
            pieces.append({"steps": steps, "seconds": time.perf_counter() - began, "updates": updates})
        return pieces

    take_turns(turn)


def environment(path: str = "") -> dict[str, str]:
    """For a process that is measured: no settings of whoever started us. Modules are looked for in ``path`` first."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JAX_COMPILATION_CACHE_DIR")}
    return env | {"JAX_PLATFORMS": "cpu"} | ({"PYTHONPATH": path} if path else {})


class Side:
    """One side of a comparison: a process that takes turns."""

    def __init__(self, python: Path | str, script: Path, *arguments: str, path: str = "") -> None:
        self.name = f"{script.name} {' '.join(arguments)}"
        self.process = subprocess.Popen(
            [python, script, *arguments],
            env=environment(path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read(READY)

    def turn(self, number: float) -> list[Any]:
        assert self.process.stdin
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return json.loads(self._read("["))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self, beginning: str) -> str:
        """The next line that begins so; libraries print what they like in between."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line
        raise SystemExit(f"{self.name} failed (exit status {self.process.wait()}); its message is above.")
