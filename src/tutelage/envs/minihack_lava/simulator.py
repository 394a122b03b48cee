"""LavaGrid in MiniHack. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..minihack.description import description
from ..minihack.engine import MOVES, Engine
from ..minihack.simulator import Level, Played, Simulator

PENALTY = -0.01
_CHARACTERS = np.array([" ", ".", "|", "L"])
"""Of stone, floor, wall and lava, in the order of ``lava.level``."""


@dataclass(frozen=True)
class LavaTask:
    """Pays 1 on the stairs down; who burns gets nothing.

    0.01 is lost at every step in which game time stands still (``bumps``), as in MiniHack, or at all of them.
    """

    penalty: Literal["bumps", "steps"]

    @property
    def keys(self) -> tuple[int, ...]:
        return MOVES

    def describe(self, level: Level) -> str:
        """Seen whole from the start, as in the thesis."""
        rows = ["".join(row) for row in _CHARACTERS[level["tiles"]]]
        (x, y), (right, down) = level["start"].tolist(), level["goal"].tolist()
        return description(rows, (x, y), [f"STAIR:({right},{down}),down"], seen=True)

    def hide(self, level: Level, random: np.random.Generator) -> None:
        """Nothing."""

    def judge(self, step: Played, engine: Engine, hidden: Any, random: np.random.Generator) -> tuple[float, bool]:
        goal = not step.over and engine.downstairs
        costs = self.penalty == "steps" or step.still
        return float(goal) + (PENALTY if costs else 0.0), goal


def simulator(max_steps: int = 100, penalty: Literal["bumps", "steps"] = "bumps", pictures: bool = False) -> Simulator:
    """Nothing here depends on luck, and so nothing on the date."""
    return Simulator(LavaTask(penalty), max_steps, "seed", pictures)
