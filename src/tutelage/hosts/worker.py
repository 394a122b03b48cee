"""One worker: it plays some slots of a fleet and answers through shared memory. No JAX here.

All that crosses between processes is two bytes for what to do and where, a byte for an answer or a sentence for what
went wrong, and arrays at fixed places in shared memory. Nothing is pickled but the few words that start a process.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import NamedTuple

import numpy as np

from .fields import Field, arrays
from .one_by_one import OneByOne
from .simulator import BatchSimulator, Maker, Slots, called
from .spaces import Malformed

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a run to stop. Processes are started with these blocked."""

RESET, STEP, QUIT = b"r", b"s", b"q"
DONE = b"."

PARTS = {b"a": slice(None), b"0": slice(0, None, 2), b"1": slice(1, None, 2)}
"""Of all slots an order is for: all, or every other one. The second byte of an order."""
ALL, EVEN, ODD = PARTS

OBS, FINAL = "obs/", "final_obs/"
"""What the names of an observation's arrays begin with: of the one to act on, and of what the last action has led to.
They differ where an episode has ended, for there another has been started.
"""


def work(pipe: Connection, memory_name: str, fields: Sequence[Field], mine: range, maker: Maker) -> None:
    """The life of a worker that plays the slots ``mine``."""
    # Ctrl-C, a closed terminal and a polite kill reach everybody, but are for who trains: it ends the iteration first,
    # and that needs its workers. They end when the pipe does.
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Should the environment's file use JAX to draw levels, it must not take an accelerator here.
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "SCHED_BATCH"):
        # A worker that gets an order does not push aside who gives it: others wait for theirs.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    memory = SharedMemory(memory_name)
    shared = arrays(memory, fields)
    player = None
    try:
        player = Player(shared, mine, maker)
        pipe.send_bytes(DONE)
        while (order := pipe.recv_bytes()) != QUIT:
            player.obey(order)
            pipe.send_bytes(DONE)
    except (EOFError, BrokenPipeError):
        pass  # whoever asks is gone, and so is the need for an answer
    except BaseException as error:
        said = {"error": _said(error), "trace": traceback.format_exc()}
        with suppress(OSError):  # nobody is there any more
            pipe.send_bytes(json.dumps(said).encode())
    finally:
        del player
        shared.clear()
        memory.close()


def _end_with_parent() -> None:
    """A simulator that hangs does not read the pipe, so that it would outlive a training process that was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # one of a simulator's own, which cannot even be said
        return type(error).__name__


class _Batch(NamedTuple):
    """A simulator and its slots."""

    simulator: BatchSimulator
    slots: Slots
    active: np.ndarray
    """Which of them somebody still plays."""


class Player:
    """Obeys orders with the simulators of one worker.

    What can be done for several slots at once is: NumPy takes as long for one number as for a hundred, and that is as
    long as a simple environment's step.
    """

    def __init__(self, shared: Mapping[str, np.ndarray], mine: range, maker: Maker) -> None:
        self._shared, self._busy = shared, shared["busy"][mine.start : mine.start + 1]
        if maker.batched:
            # A batch is played whole, so those that take turns are batches of their own.
            parts = {part: mine[(mine.start + first) % 2 :: 2] for first, part in enumerate((EVEN, ODD))}
            made = {part: [self._batch(places, maker)] for part, places in parts.items() if places}
            batches = {ALL: [batch for some in made.values() for batch in some], **made}
            self._parts = {part: [(b, list(range(b.slots.number))) for b in batches.get(part, [])] for part in PARTS}
        else:
            batch, everyone = self._batch(mine, maker), range(shared["active"].size)
            self._parts = {
                name: [(batch, [at - mine.start for at in everyone[part] if at in mine])]
                for name, part in PARTS.items()
            }

    def _batch(self, places: range, maker: Maker) -> _Batch:
        def named(prefix: str) -> dict[str, np.ndarray]:
            return {name.removeprefix(prefix): array[rows] for name, array in shared.items() if name.startswith(prefix)}

        def busy(slot: int) -> None:
            self._busy[0] = places[slot]

        shared, rows = self._shared, slice(places.start, places.stop, places.step)
        busy(0)
        slots = Slots(
            level=named("level/"),
            obs=named(OBS),
            final=named(FINAL),
            busy=busy,
            **{name: shared[name][rows] for name in ("seed", "action", "reward", "terminated", "truncated")},
        )
        simulator = maker(slots=slots.number) if maker.batched else OneByOne(maker, slots)
        return _Batch(simulator, slots, shared["active"][rows])

    def obey(self, order: bytes) -> None:
        """Play a step, or start an episode, in a part of the slots."""
        for batch, which in self._parts[order[1:]]:
            which = [slot for slot, active in zip(which, batch.active[which].tolist(), strict=True) if active]
            if which and order[:1] == STEP:
                which = self._step(batch, which)
            if which:
                self._reset(batch, which)

    def _step(self, batch: _Batch, which: list[int]) -> list[int]:
        """Returns where an episode has ended."""
        slots = batch.slots
        slots.busy(which[0])
        batch.simulator.step(slots, which)
        rewards = slots.reward[which]
        if not np.isfinite(rewards).all():
            slot, reward = next(pair for pair in zip(which, rewards, strict=True) if not np.isfinite(pair[1]))
            slots.busy(slot)
            raise Malformed(f"step() gave a reward of {reward}")
        _check_finite(slots, slots.final, which)
        for name, final in slots.final.items():
            slots.obs[name][which] = final[which]
        ended = slots.terminated[which] | slots.truncated[which]
        return [slot for slot, end in zip(which, ended.tolist(), strict=True) if end]

    def _reset(self, batch: _Batch, which: list[int]) -> None:
        slots = batch.slots
        slots.busy(which[0])
        batch.simulator.reset(slots, which)
        # Each seed follows from the one before: the same run plays the same episodes.
        slots.seed[which] = (slots.seed[which] * 1_103_515_245 + 12_345) % 2**31
        _check_finite(slots, slots.obs, which)


def _check_finite(slots: Slots, seen: Mapping[str, np.ndarray], which: list[int]) -> None:
    for name, shown in seen.items():
        if shown.dtype.kind == "f" and not np.isfinite(shown[which]).all():
            slots.busy(next(slot for slot in which if not np.isfinite(shown[slot]).all()))
            raise Malformed(f"{called(name)} has an entry that is not finite")
