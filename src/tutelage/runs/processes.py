"""Several processes, on one machine or many, that train one run together.

Every process runs the same program on its share of the levels. The first keeps the run directory, and what it reads or
fails to do there is known to all: none goes on alone, and none waits for another that has given up.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import UserError, require

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """Which process this one is, and where the first listens. Checked before JAX is imported."""

    coordinator: str = ""
    """``host:port`` of the first process; empty for a process that is alone."""
    process: int = 0
    processes: int = 1

    def __post_init__(self) -> None:
        require(self.processes >= 1, f"--processes is {self.processes}; give 1 or more.")
        require(
            0 <= self.process < self.processes,
            f"--process-id is {self.process}, and there are {self.processes} processes, counted from 0; "
            f"give a number from 0 to {self.processes - 1}.",
        )
        require(
            (self.processes > 1) == bool(self.coordinator),
            "Several processes need --coordinator host:port, --processes and --process-id, and one process needs none "
            "of them; give all three, with 2 processes or more, or leave them out.",
        )
        host, _, port = self.coordinator.rpartition(":")
        require(
            not self.coordinator
            or (bool(host) and port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536),
            f"--coordinator is '{self.coordinator}'; give the first process's machine and a free port on it, "
            "as in 10.0.0.1:1234.",
        )


ALONE = Group()


def start(group: Group, devices: int) -> None:
    """Make JAX ready for some devices, of all processes together: cut a CPU into as many, and meet the others."""
    import jax

    share = devices // group.processes
    if share > 1 and "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        # Where JAX has started already it keeps the devices that it has; whether they suffice is seen later.
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", share)
    if group.processes > 1:
        try:
            jax.distributed.initialize(
                group.coordinator,
                group.processes,
                group.process,
                # Otherwise it listens on every address of the machine.
                coordinator_bind_address=group.coordinator if group.process == 0 else None,
            )
        except RuntimeError as problem:
            raise UserError(
                f"The {group.processes} processes did not meet at {group.coordinator} ({problem}). Start all of them "
                "within five minutes, with the same --coordinator and --processes and each with its own --process-id."
            ) from problem


def is_main_process() -> bool:
    """Is this the process that keeps the run directory?"""
    import jax

    return jax.process_index() == 0


def alone() -> bool:
    """Is there no other process?"""
    import jax

    return jax.process_count() == 1


def on_main_process(act: Callable[..., Any], *args: Any) -> None:
    """Act in the first process only. Where it raises there, all raise."""

    def quietly() -> None:
        act(*args)

    broadcast_from_main(quietly)


def broadcast_from_main(act: Callable[..., T], *args: Any) -> T:
    """What ``act`` returns in the first process, in all: anything that JSON can say. Where it raises, all do."""
    import jax

    if jax.process_count() == 1:
        return act(*args)
    problem: Exception | None = None
    message = ""
    if is_main_process():
        try:
            message = json.dumps([act(*args), None, False])
        except Exception as error:  # whatever it is, the others must not wait for what will not come
            problem = error
            message = json.dumps([None, str(error), isinstance(error, UserError)])
    result, failure, expected = json.loads(_sent_by_first(message.encode()))
    if problem is not None:
        raise problem
    if failure is not None:
        raise UserError(failure) if expected else RuntimeError(f"The first process failed: {failure}")
    return result


def broadcast_tree(tree: Any) -> Any:
    """The first process's arrays, in all of them. Every process gives a tree with the same shapes."""
    import jax

    return tree if jax.process_count() == 1 else jax.tree.map(_leaf_of_first, tree)


def _leaf_of_first(leaf: Any) -> Any:
    import jax
    import jax.numpy as jnp
    import numpy as np

    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(_leaf_of_first(jax.random.key_data(leaf)), impl=str(jax.random.key_impl(leaf)))
    array = np.asarray(leaf)
    return jnp.array(np.frombuffer(_sent_by_first(array.tobytes()), array.dtype).reshape(array.shape))


def any_process(flag: bool) -> bool:
    """Does any process say yes? All processes have to ask, and all get the same answer."""
    return bool(_gathered(flag).any())


def require_same(settings: Any) -> None:
    """Refuse, in every process, settings that are not the same in all of them."""
    numbers = _gathered(zlib.crc32(repr(settings).encode()))
    require(
        bool((numbers == numbers[0]).all()),
        "The processes were given different settings; give every process the same command but for its --process-id.",
    )


def _sent_by_first(message: bytes) -> bytes:
    import numpy as np

    length = int(_gathered(len(message))[0])
    # Only what the first one sends is read, but all have to send as much.
    content = np.frombuffer(message, np.uint8) if is_main_process() else np.zeros(length, np.uint8)
    return _gathered(content)[0].tobytes()


def _gathered(value: Any) -> Any:
    """The value of every process, stacked. Gathering waits for the slowest however long it takes."""
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    if jax.process_count() == 1:
        return np.asarray(value)[None]
    return np.asarray(multihost_utils.process_allgather(np.asarray(value)))
