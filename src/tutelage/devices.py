"""Several devices that share the work of one run: every device plays and learns from its share of the levels.

All else is whole on every device: students, the level buffer, random keys. So a curriculum knows nothing of devices,
and a run has one buffer however many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from .errors import require

_AXIS = "levels"
_REPLICATED, _SHARDED = P(), P(None, _AXIS)
"""In all that is split here the levels are axis 1: ``[S, B, ...]`` in a rollout, ``[T, B, ...]`` in an update."""


@dataclass(frozen=True)
class Devices:
    """How arrays lie on devices. On one device, without a mesh, every function here does nothing at all."""

    mesh: Mesh | None = None

    def shard(self, tree: Any) -> Any:
        """Shard the levels, axis 1 of every array, over the devices."""
        return self._lay(tree, _SHARDED)

    def replicate(self, tree: Any) -> Any:
        """A copy on every device."""
        return self._lay(tree, _REPLICATED)

    def _lay(self, tree: Any, spec: P) -> Any:
        if self.mesh is None:
            return tree
        return jax.lax.with_sharding_constraint(tree, NamedSharding(self.mesh, spec))

    def per_device(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function(replicated, shard, ...)``, which every device applies to its share by itself. Returns shares."""
        return self._per_device(function, _SHARDED)

    def pmean(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function(replicated, shard, ...)`` of every device's share, averaged over devices.

        That is the function of all levels if it is a mean over them. What it does inside, such as the loop of a
        recurrent gradient, waits for no other device; they meet once, at its end.
        """

        def averaged(*args: Any) -> Any:
            # Each array needs an all-reduce of its own, so the gradient is raveled into one (3% of an update).
            flat, unravel = ravel_pytree(function(*args))
            return unravel(jax.lax.pmean(flat, _AXIS))

        return function if self.mesh is None else self._per_device(averaged, _REPLICATED)

    def _per_device(self, function: Callable[..., Any], out: P) -> Callable[..., Any]:
        if self.mesh is None:
            return function

        def mapped(replicated: Any, *shards: Any) -> Any:
            specs = (_REPLICATED, *[_SHARDED] * len(shards))
            return jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=out, check_vma=False)(
                replicated, *shards
            )

        return mapped

    def local(self, tree: Any) -> Any:
        """What lies whole on every device, as arrays of one device of this process."""
        return tree if self.mesh is None else jax.tree.map(lambda x: x.addressable_data(0), tree)


ONE = Devices()


def use(number: int) -> Devices:
    """The first ``number`` devices, equally many of every process."""
    processes = jax.process_count()
    require(
        number % processes == 0,
        f"train.devices is {number}, which {processes} processes cannot share equally; "
        f"it counts the devices of all processes, so give a multiple of {processes}.",
    )
    each = number // processes
    fewest = min(len(jax.local_devices(i)) for i in range(processes))
    require(
        each <= fewest,
        f"train.devices is {number}, and there {_are(fewest)}{' in each process' if processes > 1 else ''}; give "
        f"{fewest * processes} or fewer. A CPU counts as one device; to cut it into {each}, let "
        f'`jax.config.update("jax_num_cpu_devices", {each})` come before all else that uses JAX '
        "(the command line does this by itself).",
    )
    if number == 1:
        return ONE
    chosen = [device for i in range(processes) for device in jax.local_devices(i)[:each]]
    return Devices(Mesh(np.array(chosen), (_AXIS,), axis_types=(AxisType.Auto,)))


def _are(number: int) -> str:
    return "is 1 device" if number == 1 else f"are {number} devices"
