"""A student's weights as text for a page: 16 bits each where that changes no decision, and 32 where it would."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ...envs.base import Task
from ...evaluation.record import Episode, record
from ...rl.agent import Agent, AgentState

_LARGEST = 2**15 - 1


class Packed(NamedTuple):
    """Weights as the page holds them."""

    bits: int
    arrays: tuple[dict[str, Any], ...]
    """Name, shape, and where in the data its numbers and its scales begin; no scales for floats."""
    data: bytes

    def as_json(self) -> dict[str, Any]:
        return {"arrays": list(self.arrays), "data": base64.b64encode(self.data).decode()}


class Choice(NamedTuple):
    """How a student's weights are kept, and what was seen when that was decided."""

    packed: Packed
    episodes: tuple[Episode, ...]
    """One for each task, by the likeliest actions of the weights as trained."""
    changed: tuple[str, ...]
    """Where weights of 16 bits act differently: the task and the first such step."""
    full_size: int
    """Bytes of the data with 32 bits."""

    @property
    def steps(self) -> int:
        return sum(episode.length for episode in self.episodes)

    @property
    def sentence(self) -> str:
        """What was chosen, and what it costs."""
        size, full = len(self.packed.data) / 1e3, self.full_size / 1e3
        seen = f"on {len(self.episodes)} mazes and {self.steps:,} steps"
        if self.packed.bits == 16:
            return f"16-bit weights, {size:,.0f} kB instead of {full:,.0f}: {seen} every greedy action stays the same"
        return (
            f"32-bit weights, {size:,.0f} kB: with 16 bits some greedy actions would change, {seen} in "
            f"{len(self.changed)} of the mazes ({self.changed[0]})"
        )


def pack(params: Any, bits: int) -> Packed:
    """With 16 ``bits``, arrays of two axes become whole numbers with a scale for each column; others stay floats."""
    arrays, parts, end = [], [], 0

    def add(values: np.ndarray) -> int:
        nonlocal end
        data = values.tobytes() + bytes(-values.nbytes % 4)  # each begins at a multiple of 4, where floats have to
        parts.append(data)
        end += len(data)
        return end - len(data)

    for name, array in named(params).items():
        if bits == 16 and array.ndim == 2:
            scales = _scales(array)
            place = add(scales)
            whole = np.round(array / scales).astype("<i2")
            arrays.append({"name": name, "shape": list(array.shape), "offset": add(whole), "scales": place})
        else:
            arrays.append({"name": name, "shape": list(array.shape), "offset": add(array), "scales": None})
    return Packed(bits, tuple(arrays), b"".join(parts))


def rounded(params: Any) -> Any:
    """The weights that a page with 16 bits has."""

    def through(array: Any) -> Any:
        array = np.asarray(array, np.float32)
        if array.ndim != 2:
            return array
        scales = _scales(array)
        return np.round(array / scales).astype(np.float32) * scales

    return jax.tree.map(through, params)


def _scales(array: np.ndarray) -> np.ndarray:
    """By column: what a step of one is worth."""
    largest = np.abs(array).max(axis=0)
    return np.where(largest > 0, largest / _LARGEST, 1).astype("<f4")


def named(params: Any) -> dict[str, np.ndarray]:
    """Weights by their place in the network, as in ``core/kernel``."""
    leaves = jax.tree_util.tree_leaves_with_path(params["params"])
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): np.asarray(leaf, "<f4", order="C")
        for path, leaf in leaves
    }


def choose(agent: Agent, state: AgentState, tasks: Sequence[Task]) -> Choice:
    """Play the first episode of every task greedily with both, and take 16 bits if no action differs."""
    full = pack(state.params, 32)
    episodes = tuple(record(agent, state, task, greedy=True) for task in tasks)
    small = state._replace(params=rounded(state.params))
    changed = []
    for task, episode in zip(tasks, episodes, strict=True):
        other = record(agent, small, task, greedy=True)
        if not np.array_equal(other.actions, episode.actions):
            common = min(episode.length, other.length)
            differs = np.flatnonzero(other.actions[:common] != episode.actions[:common])
            changed.append(f"{task.name} from step {int(differs[0]) + 1 if differs.size else common + 1}")
    packed = full if changed else pack(state.params, 16)
    return Choice(packed, episodes, tuple(changed), len(full.data))
