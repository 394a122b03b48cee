"""One worker: it plays some Gymnasium environments and answers through shared memory. No JAX here.

All that crosses between processes is two bytes for what to do and where, a byte for an answer or a sentence for what
went wrong, and arrays at fixed places in shared memory. Nothing is pickled but the few words that start a process.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import isfinite
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np

from ..plugins import load_file
from .fields import Field, arrays, nested
from .spaces import Malformed, Observed, Played, observed, played

RESET, STEP, QUIT = b"r", b"s", b"q"
DONE = b"."

PARTS = {b"a": slice(None), b"0": slice(0, None, 2), b"1": slice(1, None, 2)}
"""Of all environments an order is for: all, or every other one. The second byte of an order."""
ALL, EVEN, ODD = PARTS

OBS, FINAL = "obs/", "final_obs/"
"""What the names of an observation's arrays begin with: of the one to act on, and of what the last action has led to.
They differ where an episode has ended, for there another has been started.
"""


class Maker(NamedTuple):
    """Where the function is that makes an environment: a module's name or a file, and a dotted name inside it."""

    module: str
    name: str
    arguments: str = "{}"
    """JSON."""

    def __call__(self) -> Any:
        module = load_file(self.module) if self.module.endswith(".py") else importlib.import_module(self.module)
        function: Callable[..., Any] = reduce(getattr, self.name.split("."), module)
        return function(**json.loads(self.arguments))


def work(pipe: Connection, memory_name: str, fields: Sequence[Field], mine: range, maker: Maker) -> None:
    """The life of a worker that plays the environments ``mine``."""
    # Ctrl-C is for who trains: it ends the iteration first, and that needs its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Should the environment's file use JAX to draw levels, it must not take an accelerator here.
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "SCHED_BATCH"):
        # A worker that gets an order does not push aside who gives it: others wait for theirs.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    memory = SharedMemory(memory_name)
    shared = arrays(memory, fields)
    simulators = None
    try:
        simulators = Simulators(shared, mine, maker)
        pipe.send_bytes(DONE)
        while (order := pipe.recv_bytes()) != QUIT:
            simulators.obey(order)
            pipe.send_bytes(DONE)
    except (EOFError, BrokenPipeError):
        pass  # whoever asks is gone, and so is the need for an answer
    except BaseException as error:
        said = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        pipe.send_bytes(json.dumps(said).encode())
    finally:
        del simulators
        shared.clear()
        memory.close()


class Simulators:
    """The environments of one worker and their places in shared memory.

    What can be done for several environments at once is: NumPy takes as long for one number as for a hundred, and that
    is as long as a simple environment's step.
    """

    def __init__(self, shared: Mapping[str, np.ndarray], mine: range, maker: Maker) -> None:
        self._shared, self._busy = shared, shared["busy"][mine.start : mine.start + 1]
        self._levels = [name for name in shared if name.startswith("level/")]
        self._environments = {}
        for at in mine:
            self._busy[0] = at
            self._environments[at] = maker()
        first = self._environments[mine.start]
        self._seen = self._layout(observed(first.observation_space))
        self._played: Played = played(first.action_space)
        everyone = range(shared["active"].size)
        self._parts = {name: [at for at in everyone[part] if at in mine] for name, part in PARTS.items()}

    def _layout(self, entries: Sequence[Observed]) -> dict[str, list[tuple[Observed, np.ndarray]]]:
        """The arrays of an observation, with where each is shown."""
        announced = {name.removeprefix(OBS) for name in self._shared if name.startswith(OBS)}
        given = {entry.field.name for entry in entries}
        if given != announced:
            raise Malformed(f"the observation space has the entries {sorted(given)}, and not {sorted(announced)}")
        return {kind: [(entry, self._shared[kind + entry.field.name]) for entry in entries] for kind in (OBS, FINAL)}

    def obey(self, order: bytes) -> None:
        """Play a step, or start an episode, in a part of the environments."""
        places = self._parts[order[1:]]
        places = [at for at, active in zip(places, self._shared["active"][places].tolist(), strict=True) if active]
        if order[:1] == STEP:
            places = self._step(places)
        for at in places:
            self._busy[0] = at
            self._show(OBS, at, self._reset(at))
        self._check_finite(OBS, places)

    def _step(self, places: list[int]) -> list[int]:
        """Returns where an episode has ended."""
        shared, done = self._shared, []
        rewards, terminations, truncations = shared["reward"], shared["terminated"], shared["truncated"]
        for at, action in zip(places, self._played.actions(shared["action"][places]), strict=True):
            self._busy[0] = at  # should this be the last thing that the worker does
            obs, reward, terminated, truncated, _ = self._environments[at].step(action)
            self._show(FINAL, at, obs)
            if not isfinite(reward):
                raise Malformed(f"step() gave a reward of {reward}")
            rewards[at], terminations[at], truncations[at] = reward, terminated, truncated
            if terminated or truncated:
                done.append(at)
        self._check_finite(FINAL, places)
        for (_, shown), (_, final) in zip(self._seen[OBS], self._seen[FINAL], strict=True):
            shown[places] = final[places]
        return done

    def _reset(self, at: int) -> Any:
        shared = self._shared
        # Each seed follows from the one before: the same run plays the same episodes.
        seed = int(shared["seed"][at])
        shared["seed"][at] = (seed * 1_103_515_245 + 12_345) % 2**31
        level = nested({name.removeprefix("level/"): shared[name][at].copy() for name in self._levels})
        return self._environments[at].reset(seed=seed, options={"level": level})[0]

    def _show(self, kind: str, at: int, given: Any) -> None:
        for ((name, _, _), read), shown in self._seen[kind]:
            array, shape, dtype = read(given), shown.shape[1:], shown.dtype
            if array.shape != shape:
                raise Malformed(f"{_called(name)} has the shape {array.shape}, and the observation space says {shape}")
            if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
                raise Malformed(f"{_called(name)} is of {array.dtype}, and the observation space says {dtype}")
            shown[at] = array

    def _check_finite(self, kind: str, places: list[int]) -> None:
        for ((name, _, _), _), shown in self._seen[kind]:
            if shown.dtype.kind == "f" and not np.isfinite(shown[places]).all():
                self._busy[0] = next(at for at in places if not np.isfinite(shown[at]).all())
                raise Malformed(f"{_called(name)} has an entry that is not finite")


def _called(name: str) -> str:
    return f"'{name}' of an observation" if name else "an observation"
