"""How much memory a run needs at least, from shapes alone: said before anything is compiled or allocated."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .envs.base import observation_spec
from .errors import UserError
from .trainer import Trainer

BESIDE = 5 * 4
"""Bytes of a step in a rollout beside its observation: action, probability, value, reward and the flags."""


def available() -> int:
    """Bytes that this process may have at most: the machine's, or fewer where a container has a limit."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    if jax.default_backend() != "cpu":
        stats = jax.local_devices()[0].memory_stats() or {}
        found = [int(stats["bytes_limit"])] if "bytes_limit" in stats else []
    return min(found, default=2**63)


def require_room(trainer: Trainer, seeds: int = 1) -> None:
    """Refuse a run that no program could fit into this machine. What is computed in between comes on top."""
    try:
        level = jax.eval_shape(trainer.domain.levels.sample, jax.random.key(0))
        seen = observation_spec(trainer.domain.env, level)
        state = jax.eval_shape(lambda: trainer.init(0))
    except UserError:
        raise
    except (OverflowError, MemoryError, ValueError, TypeError) as problem:  # how shapes beyond 64 bits end
        raise UserError(
            f"The arrays of this run are too large to be counted ({problem}); make its levels, rollouts, buffer or "
            "networks smaller."
        ) from problem
    mesh = trainer.devices.mesh
    shares = 1 if mesh is None or jax.default_backend() == "cpu" else mesh.size  # a CPU's devices share its memory
    steps = trainer.students * trainer.levels * trainer.rollout
    parts = {
        "students, teachers and buffers": seeds * _bytes(state),
        f"rollouts of {trainer.levels:,} levels with {trainer.rollout:,} steps": seeds
        * steps
        * (_bytes(seen) + BESIDE)
        // shares,
    }
    total, room = sum(parts.values()), available()
    if total > room:
        listed = ", ".join(f"{what}: {amount(size)}" for what, size in parts.items())
        raise UserError(
            f"This run needs at least {amount(total)} of memory, and there are {amount(room)} ({listed}); lower "
            "train.levels, train.rollout, replay.capacity, or what makes levels, observations and networks large."
        )


def _bytes(tree: Any) -> int:
    return sum(math.prod(x.shape) * _width(x.dtype) for x in jax.tree.leaves(tree))


def _width(dtype: Any) -> int:
    return 8 if jnp.issubdtype(dtype, jax.dtypes.prng_key) else dtype.itemsize


def amount(size: float) -> str:
    """Bytes for a person."""
    for unit in ("B", "KB", "MB", "GB", "TB", "PB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.0f} EB"
