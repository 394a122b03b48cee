"""What plays episodes outside of JAX. No JAX here.

A simulator owns a batch of slots of a fleet and plays them in one call (``BatchSimulator``). Gymnasium environments,
which play one episode each, are such a batch through ``one_by_one.OneByOne``.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..plugins import load_file


class Maker(NamedTuple):
    """Where the function is that makes a simulator: a module's name or a file, and a dotted name inside it."""

    module: str
    name: str
    arguments: str = "{}"
    """JSON."""
    batched: bool = False
    """It makes a ``BatchSimulator`` and is told for how many ``slots``; otherwise a Gymnasium environment."""

    def __call__(self, **more: Any) -> Any:
        module = load_file(self.module) if self.module.endswith(".py") else importlib.import_module(self.module)
        function: Callable[..., Any] = reduce(getattr, self.name.split("."), module)
        return function(**json.loads(self.arguments), **more)

    def having(self, **arguments: Any) -> Maker:
        """With other arguments, or more."""
        return self._replace(arguments=json.dumps(json.loads(self.arguments) | arguments))


@dataclass(frozen=True)
class Slots:
    """Places in shared memory whose episodes one simulator plays. It reads and writes these arrays, whose first axis is
    the slot; observations and levels are by the names of their arrays.
    """

    level: Mapping[str, np.ndarray]
    seed: np.ndarray
    """What an episode's own dice start from; a new one for each episode."""
    action: np.ndarray
    obs: Mapping[str, np.ndarray]
    """What is seen at the start of an episode."""
    final: Mapping[str, np.ndarray]
    """What an action has led to."""
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    busy: Callable[[int], None]
    """To be told which slot is being played, by simulators that play one after the other: an error names it."""

    @property
    def number(self) -> int:
        return len(self.seed)


class BatchSimulator(Protocol):
    """Plays a batch of slots. Both functions are for ``which`` of them only, and never touch the others' arrays."""

    def reset(self, slots: Slots, which: list[int]) -> None:
        """Start an episode on the level of each: write ``obs``."""
        ...

    def step(self, slots: Slots, which: list[int]) -> None:
        """Play the action of each: write ``final``, ``reward``, ``terminated`` and ``truncated``.

        No new episode is started here: where one has ended, a reset follows.
        """
        ...


def called(name: str) -> str:
    """What an array of an observation is called in a sentence."""
    return f"'{name}' of an observation" if name else "an observation"
