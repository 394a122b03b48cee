"""Arrays by name: how trees of arrays lie in memory that processes share. No JAX here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np


class Field(NamedTuple):
    """What is known of an array before it is there."""

    name: str
    """The path to it in a tree, joined by ``/``; empty where the tree is one array."""
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


def nested(flat: Mapping[str, Any]) -> Any:
    """The tree of what is named by its path: one thing with an empty name, or dictionaries by the parts of names."""
    if list(flat) == [""]:
        return flat[""]
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split("/")
        reduce(lambda place, key: place.setdefault(key, {}), path, tree)[last] = value
    return tree
