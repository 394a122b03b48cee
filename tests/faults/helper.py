"""A process for what starts JAX, beside the one that is copied for every kill. It may die; then there is another."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from multiprocessing import Pipe

from .tally import Tally

Round = Callable[[Tally, int], None]
"""Attacks for some seconds: counts, and draws from a seed."""
LONGEST_ROUND = 2400.0


class Helper:
    """Does rounds by name, and says what was counted."""

    def __init__(self, rounds: Mapping[str, Round]) -> None:
        self._rounds, self._process = rounds, 0

    def __call__(self, name: str, seed: int, tally: Tally) -> None:
        """One round. If the process dies of it or hangs, that broke."""
        if not self._process:
            self._start()
        self._pipe.send_bytes(json.dumps([name, seed]).encode())
        try:
            if not self._pipe.poll(LONGEST_ROUND):
                tally.note(name, f"a round with the seed {seed} hung")
                self.close()
                return
            tally.add(json.loads(self._pipe.recv_bytes()))
        except (EOFError, OSError):
            _, status = os.waitpid(self._process, 0)
            self._process = 0
            tally.note(name, f"a round with the seed {seed} ended the process: {os.waitstatus_to_exitcode(status)}")

    def _start(self) -> None:
        self._pipe, there = Pipe()
        self._process = os.fork()
        if self._process:
            there.close()
            return
        self._pipe.close()
        code = 70
        try:
            while True:
                name, seed = json.loads(there.recv_bytes())
                tally = Tally()
                self._rounds[name](tally, seed)
                there.send_bytes(json.dumps(tally.plain()).encode(errors="surrogatepass"))
        except EOFError:
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            from tutelage.hosts.fleet import close_all

            close_all()
            os._exit(code)

    def close(self) -> None:
        """End it."""
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = 0
