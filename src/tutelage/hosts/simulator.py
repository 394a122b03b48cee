"""One worker: it plays some Gymnasium environments and answers through shared memory. No JAX here.

All that crosses between processes is a byte for what to do, an empty answer or a sentence for what went wrong, and
arrays at fixed places in shared memory. Nothing is pickled but the few words that start a process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .spaces import Observed, Played, observed, played

RESET, STEP, QUIT = b"r", b"s", b"q"
DONE = b"."


class Field(NamedTuple):
    """An array that both sides see, with one entry for every environment."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        size = int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize
        return max(-(-size // 64), 1) * 64  # a cache line at least, so that no two fields share one


def arrays(memory: SharedMemory, fields: Sequence[Field]) -> dict[str, np.ndarray]:
    """The arrays in a piece of shared memory, one after the other."""
    found, start = {}, 0
    for field in fields:
        found[field.name] = np.ndarray(field.shape, field.dtype, memory.buf, start)
        start += field.bytes
    return found


def load_file(path: str) -> ModuleType:
    """A Python file as a module, run once in every process."""
    name = f"_tutelage_{Path(path).stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == path:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


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


class Malformed(Exception):
    """An environment has answered with what it did not announce."""


class Simulator(NamedTuple):
    """One environment with what its spaces mean."""

    environment: Any
    observed: Observed
    played: Played

    @classmethod
    def make(cls, maker: Maker) -> Simulator:
        environment = maker()
        return cls(environment, observed(environment.observation_space), played(environment.action_space))


def work(pipe: Connection, memory_name: str, fields: Sequence[Field], mine: range, maker: Maker) -> None:
    """The life of a worker that plays the environments ``mine``."""
    # Ctrl-C is for who trains: it ends the iteration first, and that needs its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Should the environment's file use JAX to draw levels, it must not take an accelerator here.
    os.environ["JAX_PLATFORMS"] = "cpu"
    memory = SharedMemory(memory_name)
    shared = arrays(memory, fields)
    names = [name for name in shared if name.startswith("level/")]
    at = mine.start
    try:
        simulators = {}
        for at in mine:
            simulators[at] = Simulator.make(maker)
        pipe.send_bytes(DONE)
        while (order := pipe.recv_bytes()) != QUIT:
            for at in mine:
                if not shared["active"][at]:
                    continue
                shared["busy"][mine.start] = at  # should this be the last thing that the worker does
                if order == RESET:
                    _show(shared, at, "obs", _reset(simulators[at], shared, at, names))
                else:
                    _step(simulators[at], shared, at, names)
            pipe.send_bytes(DONE)
    except (EOFError, BrokenPipeError):
        pass  # whoever asks is gone, and so is the need for an answer
    except BaseException as error:
        said = {"at": at, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        pipe.send_bytes(json.dumps(said).encode())
    finally:
        shared.clear()
        memory.close()


def nested(flat: Mapping[str, Any]) -> Any:
    """A level as its environment is given it: an array, or dictionaries of arrays by the names of its fields."""
    if list(flat) == [""]:
        return flat[""]
    level: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split("/")
        reduce(lambda place, key: place.setdefault(key, {}), path, level)[last] = value
    return level


def _reset(simulator: Simulator, shared: dict[str, np.ndarray], at: int, names: Sequence[str]) -> np.ndarray:
    # Each seed follows from the one before: the same run plays the same episodes.
    seed = int(shared["seed"][at])
    shared["seed"][at] = (seed * 1_103_515_245 + 12_345) % 2**31
    level = nested({name.removeprefix("level/"): shared[name][at].copy() for name in names})
    return simulator.observed.array(simulator.environment.reset(seed=seed, options={"level": level})[0])


def _step(simulator: Simulator, shared: dict[str, np.ndarray], at: int, names: Sequence[str]) -> None:
    action = simulator.played.action(shared["action"][at])
    obs, reward, terminated, truncated, _ = simulator.environment.step(action)
    obs = simulator.observed.array(obs)
    _show(shared, at, "next_obs", obs)
    if not np.isfinite(reward):
        raise Malformed(f"step() gave a reward of {reward}")
    shared["reward"][at], shared["terminated"][at], shared["truncated"][at] = reward, terminated, truncated
    _show(shared, at, "obs", _reset(simulator, shared, at, names) if terminated or truncated else obs)


def _show(shared: dict[str, np.ndarray], at: int, name: str, obs: np.ndarray) -> None:
    place = shared[name][at]
    if obs.shape != place.shape:
        raise Malformed(f"an observation has the shape {obs.shape}, and the observation space says {place.shape}")
    if not np.can_cast(obs.dtype, place.dtype, "same_kind"):
        raise Malformed(f"an observation is of {obs.dtype}, and the observation space says {place.dtype}")
    if obs.dtype.kind == "f" and not np.isfinite(obs).all():
        raise Malformed("an observation has an entry that is not finite")
    shared[name][at] = obs
