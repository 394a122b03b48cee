"""Gymnasium's spaces: what of them we can model, and how values cross. For workers and for who asks an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError, require
from .fields import Field

MOST_ACTIONS = 65_536
"""Of one policy."""
MOST_SEEN = 2**26
"""Numbers of one array of an observation."""


class Malformed(Exception):
    """An environment has answered with what it did not announce."""


class Observed(NamedTuple):
    """One array of an observation, and how it is read from what an environment gives."""

    field: Field
    read: Callable[[Any], np.ndarray]


class Played(NamedTuple):
    """Actions as a student gives them: one of ``n``, or ``n`` numbers from -1 to 1."""

    n: int
    discrete: bool
    actions: Callable[[np.ndarray], Sequence[Any] | np.ndarray]
    """Those of several environments, each as its environment wants it."""


def observed(space: Any) -> tuple[Observed, ...]:
    """The arrays of an observation. A box keeps its shape; the entries of dictionaries and tuples stay apart, called by
    their keys and numbers; any other space of fixed size becomes one vector.
    """
    found = tuple(_arrays(space, ""))
    for one in found:
        size = int(np.prod(one.field.shape, dtype=np.float64))
        require(
            0 < size <= MOST_SEEN,
            f"The observation space has {'the entry ' + one.field.name if one.field.name else 'an array'} of the shape "
            f"{one.field.shape}; give 1 to {MOST_SEEN:,} numbers.",
        )
    require(len(found) > 0, f"The observation space is {space}, which is empty; give it an entry.")
    names = [one.field.name for one in found]
    for i, name in enumerate(names):
        for other in names[:i] + names[i + 1 :]:
            require(
                other != name and not other.startswith(f"{name}/"),
                f"The observation space has the entries '{name}' and '{other}', and a '/' in a name is for an entry "
                "within another; rename one.",
            )
    return found


def _arrays(space: Any, name: str) -> Iterator[Observed]:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        entries = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, inner in entries:
            for field, read in _arrays(inner, f"{name}/{key}" if name else str(key)):
                yield Observed(field, _entry(key, field.name, read))
    elif isinstance(space, spaces.Box):
        dtype = "float32" if space.dtype.kind == "f" else str(space.dtype)
        yield Observed(Field(name, space.shape, dtype), np.asarray)
    elif getattr(space, "is_np_flattenable", False):
        shape = (spaces.flatdim(space),)
        yield Observed(Field(name, shape, "float32"), lambda obs: np.asarray(spaces.flatten(space, obs)))
    else:
        where = f"At '{name}' the" if name else "The"
        raise UserError(
            f"{where} observation space is {space}, which has no fixed size; "
            "give a Box, or a Dict, Tuple or Discrete of them."
        )


def _entry(key: Any, name: str, read: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    def inner(obs: Any) -> np.ndarray:
        try:
            part = obs[key]
        except (KeyError, IndexError, TypeError):
            raise Malformed(f"an observation has no '{name}', and the observation space has") from None
        return read(part)

    return inner


def played(space: Any) -> Played:
    """Of a bounded box, -1 and 1 are the bounds; what lies beyond is cut off."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        require(
            int(space.n) <= MOST_ACTIONS and abs(start) < 2**31,
            f"The action space is {space}; a policy here has at most {MOST_ACTIONS:,} actions, within 32 bits.",
        )
        return Played(int(space.n), True, lambda actions: (actions + start).tolist())
    if isinstance(space, spaces.Box) and space.dtype.kind == "f":
        low, high, shape, dtype = space.low, space.high, space.shape, space.dtype
        require(
            0 < int(np.prod(shape)) <= MOST_ACTIONS,
            f"The action space is of the shape {shape}; give 1 to {MOST_ACTIONS:,} numbers.",
        )
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
