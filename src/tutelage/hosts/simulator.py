"""One worker: it plays some Gymnasium environments and answers through shared memory. No JAX here or in any worker.

All that crosses between processes is a byte for what to do, an empty answer or a sentence for what went wrong, and
arrays at fixed places in shared memory. Nothing is pickled but the few words that start a process.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
        return -(-size // 64) * 64  # a cache line at least, so that no two fields share one


def arrays(memory: SharedMemory, fields: Sequence[Field]) -> dict[str, np.ndarray]:
    """The arrays in a piece of shared memory, one after the other."""
    found, start = {}, 0
    for field in fields:
        found[field.name] = np.ndarray(field.shape, field.dtype, memory.buf, start)
        start += field.bytes
    return found


class Maker(NamedTuple):
    """Where the function is that makes an environment: a module's name or a file, and a name inside it."""

    module: str
    name: str
    arguments: str = "{}"
    """JSON."""

    def function(self) -> Callable[..., Any]:
        if not self.module.endswith(".py"):
            return getattr(importlib.import_module(self.module), self.name)
        name = f"_tutelage_{Path(self.module).stem}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, self.module)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return getattr(sys.modules[name], self.name)

    def __call__(self) -> Any:
        return self.function()(**json.loads(self.arguments))


class Malformed(Exception):
    """An environment has answered with what it did not announce."""


def work(pipe: Connection, memory_name: str, fields: Sequence[Field], mine: range, maker: Maker) -> None:
    """The life of a worker that plays the environments ``mine``."""
    memory = SharedMemory(memory_name)
    shared = arrays(memory, fields)
    levels = sorted(name for name in shared if name.startswith("level/"))
    at = mine.start
    try:
        environments = {}
        for at in mine:
            environments[at] = maker()
        pipe.send_bytes(DONE)
        while (order := pipe.recv_bytes()) != QUIT:
            for at in mine:
                shared["busy"][mine.start] = at  # should this be the last thing that the worker does
                level = {name.removeprefix("level/"): shared[name][at].copy() for name in levels}
                if order == RESET:
                    _show(shared, at, "obs", _reset(environments[at], shared, at, level))
                else:
                    _step(environments[at], shared, at, level)
            pipe.send_bytes(DONE)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # whoever asks is gone, and so is the need for an answer
    except BaseException as error:
        said = {"at": at, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        pipe.send_bytes(json.dumps(said).encode())
    finally:
        memory.close()


def _reset(environment: Any, shared: dict[str, np.ndarray], at: int, level: dict[str, np.ndarray]) -> Any:
    # A counter of episodes makes the simulator's own dice: the same run plays the same episodes.
    seed = int(shared["seed"][at])
    shared["seed"][at] = (seed * 1_103_515_245 + 12_345) % 2**31
    given = level.get("", level)  # a level that is one array, or a dictionary of arrays
    return environment.reset(seed=seed, options={"level": given})[0]


def _step(environment: Any, shared: dict[str, np.ndarray], at: int, level: dict[str, np.ndarray]) -> None:
    action = shared["action"][at]
    played = action.copy() if action.ndim else action.item()
    obs, reward, terminated, truncated, _ = environment.step(played)
    _show(shared, at, "next_obs", obs)
    if not np.isfinite(reward):
        raise Malformed(f"step() gave a reward of {reward}")
    shared["reward"][at], shared["terminated"][at], shared["truncated"][at] = reward, terminated, truncated
    _show(shared, at, "obs", _reset(environment, shared, at, level) if terminated or truncated else obs)


def _show(shared: dict[str, np.ndarray], at: int, name: str, obs: Any) -> None:
    place = shared[name][at]
    obs = np.asarray(obs)
    if obs.shape != place.shape:
        raise Malformed(f"an observation has the shape {obs.shape}, and the observation space says {place.shape}")
    if not np.can_cast(obs.dtype, place.dtype, "same_kind"):
        raise Malformed(f"an observation is of {obs.dtype}, and the observation space says {place.dtype}")
    place[...] = obs
