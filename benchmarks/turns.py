"""A process that is warm and waits: for every line it is given it works for one turn, and answers with what it timed.

Imported by both sides of a comparison, so by interpreters with different packages: standard library only.
"""

import json
import sys
import time
from collections.abc import Callable

READY = "ready"


def take_turns(work: Callable[[], tuple[int, int]]) -> None:
    """Say that all is compiled and warm; then, for every line with a number, work for so many seconds.

    `work` does a piece of it, to its end, and returns (environment steps, PPO updates). A turn is answered by one line
    of JSON, an entry for every piece.
    """
    print(READY, flush=True)
    for line in sys.stdin:
        pieces: list[dict[str, float]] = []
        end = time.perf_counter() + float(line)
        while (began := time.perf_counter()) < end:
            steps, updates = work()
            pieces.append({"steps": steps, "seconds": time.perf_counter() - began, "updates": updates})
        print(json.dumps(pieces), flush=True)
