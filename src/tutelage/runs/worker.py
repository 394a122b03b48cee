"""One run of a study, in a process of its own: `python -m tutelage.runs.worker DIRECTORY`.

The study made the directory. It holds the other end of our input: when that closes, because the study was stopped or
has died however it did, we stop as well, with a checkpoint.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from ..errors import UserError
from ..plugins import absolute, is_file
from ..streams import guarded
from ..trusted import trust
from ..visible import visible

STOPPED = 130


def main(arguments: Sequence[str]) -> int:
    """Train the run to its end; 0 if that was reached, 130 if it was stopped, 2 if it cannot be done."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("run")
    parser.add_argument("--cores", default="", help="processors to stay on, such as 0,1")
    parser.add_argument("--log", action="append", default=[])
    parser.add_argument("--trust", action="store_true", help="run the files that the run names: the study has asked")
    options = parser.parse_args(arguments)
    threading.Thread(target=_stop_with_the_study, daemon=True).start()
    if options.cores:  # before JAX counts them
        os.sched_setaffinity(0, map(int, options.cores.split(",")))
    try:
        with guarded():  # its log may be on a disk that is full
            return _told(options.run, options.log, options.trust)
    except KeyboardInterrupt:
        return STOPPED


def _told(path: str, log: Sequence[str], trusted: bool) -> int:
    try:
        if trusted:
            _trust(path)
        return 0 if _train(path, log) else STOPPED
    except (UserError, OSError) as problem:
        print(visible(f"tutelage: {problem}"), file=sys.stderr)
        return 2


def _trust(path: str) -> None:
    from .directory import RunDirectory

    outline = RunDirectory.open(path).outline()
    for name in filter(is_file, (outline.environment, outline.method)):
        trust(absolute(name))


def _train(path: str, log: Sequence[str]) -> bool:
    from . import session
    from .directory import RunDirectory
    from .launch import start_jax
    from .progress import ProgressLine

    start_jax(devices=RunDirectory.open(path).settings().train.devices)
    with ProgressLine() as progress:
        return session.resume(path, progress, log=log).finished


def _stop_with_the_study() -> None:
    # Not sys.stdin: Python would wait for its lock when it ends.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
