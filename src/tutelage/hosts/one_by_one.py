"""Gymnasium environments as a batch: one for each slot, played one after the other. No JAX here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .fields import nested
from .simulator import Maker, Slots, called
from .spaces import Malformed, observed, played


class OneByOne:
    """A ``BatchSimulator`` of environments that play one episode each."""

    def __init__(self, maker: Maker, slots: Slots) -> None:
        self._environments = []
        for slot in range(slots.number):
            slots.busy(slot)
            self._environments.append(maker())
        first = self._environments[0]
        self._entries, self._played = observed(first.observation_space), played(first.action_space)
        given = {entry.field.name for entry in self._entries}
        if given != set(slots.obs):
            raise Malformed(f"the observation space has the entries {sorted(given)}, and not {sorted(slots.obs)}")

    def reset(self, slots: Slots, which: list[int]) -> None:
        for slot in which:
            slots.busy(slot)
            level = nested({name: array[slot].copy() for name, array in slots.level.items()})
            seen, _ = self._environments[slot].reset(seed=int(slots.seed[slot]), options={"level": level})
            self._show(slots.obs, slot, seen)

    def step(self, slots: Slots, which: list[int]) -> None:
        rewards, terminations, truncations = slots.reward, slots.terminated, slots.truncated
        for slot, action in zip(which, self._played.actions(slots.action[which]), strict=True):
            slots.busy(slot)  # should this be the last thing that the worker does
            seen, reward, terminated, truncated, _ = self._environments[slot].step(action)
            self._show(slots.final, slot, seen)
            rewards[slot], terminations[slot], truncations[slot] = reward, terminated, truncated

    def _show(self, arrays: Mapping[str, np.ndarray], slot: int, given: Any) -> None:
        for (name, _, _), read in self._entries:
            array, shown = read(given), arrays[name]
            shape, dtype = shown.shape[1:], shown.dtype
            if array.shape != shape:
                raise Malformed(f"{called(name)} has the shape {array.shape}, and the observation space says {shape}")
            if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
                raise Malformed(f"{called(name)} is of {array.dtype}, and the observation space says {dtype}")
            shown[slot] = array
