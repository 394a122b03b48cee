"""Gymnasium's spaces: what of them we can model, and how values cross. For workers and for who asks an environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError


class Observed(NamedTuple):
    """Observations as arrays of one shape."""

    shape: tuple[int, ...]
    dtype: str
    array: Callable[[Any], np.ndarray]


class Played(NamedTuple):
    """Actions as a student gives them: one of ``n``, or ``n`` numbers from -1 to 1."""

    n: int
    discrete: bool
    actions: Callable[[np.ndarray], Sequence[Any] | np.ndarray]
    """Those of several environments, each as its environment wants it."""


def observed(space: Any) -> Observed:
    """A box keeps its shape; any other space of fixed size becomes one vector."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        dtype = "float32" if space.dtype.kind == "f" else str(space.dtype)
        return Observed(space.shape, dtype, np.asarray)
    if getattr(space, "is_np_flattenable", False):
        return Observed((spaces.flatdim(space),), "float32", lambda obs: np.asarray(spaces.flatten(space, obs)))
    raise UserError(
        f"The observation space is {space}, which has no fixed size; give a Box, or a Dict, Tuple or Discrete of them."
    )


def played(space: Any) -> Played:
    """Of a bounded box, -1 and 1 are the bounds; what lies beyond is cut off."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return Played(int(space.n), True, lambda actions: (actions + start).tolist())
    if isinstance(space, spaces.Box) and space.dtype.kind == "f":
        low, high, shape, dtype = space.low, space.high, space.shape, space.dtype
        bounded = np.isfinite(low) & np.isfinite(high)
        middle = np.where(bounded, (np.where(bounded, low, 0) + np.where(bounded, high, 0)) / 2, 0)
        reach = np.where(bounded, (np.where(bounded, high, 0) - np.where(bounded, low, 0)) / 2, 1)

        def scaled(actions: np.ndarray) -> np.ndarray:
            return np.clip(middle + reach * actions.reshape(-1, *shape), low, high).astype(dtype)

        return Played(int(np.prod(shape)), False, scaled)
    raise UserError(
        f"The action space is {space}, which no policy here can model; wrap the environment so that it is a "
        "Discrete or a Box of floating-point numbers."
    )
