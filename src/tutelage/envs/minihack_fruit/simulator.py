"""Stochastic Fruit Choice in MiniHack. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..minihack.description import description
from ..minihack.engine import EAT, KICK, MOVES, Calendar, Engine
from ..minihack.simulator import Level, Played, Simulator

YES = MOVES[7]
"""The key for north-west is also the one for yes."""
PENALTY = -0.01
APPLE_PAYS, BANANA_PAYS = 3.0, 10.0
Penalty = Literal["frozen", "none"]
Hidden = Literal["level", "episode", "step"]
"""Where the right fruit comes from: the level, or the true distribution, drawn for an episode or at the bite."""
_CHARACTERS = np.array([" ", "|", ".", "+"])
"""Of stone, wall, floor and door, in the order of ``fruit.level``."""


@dataclass(frozen=True)
class FruitTask:
    """Pays when the right fruit is eaten; eating either is the end.

    Which one is right is hidden in the level. A grounded student is paid as if it had been drawn from its true
    distribution: for an episode, or at the step that pays, which is the bite. Nothing before the bite tells anything
    about it, so that given all that was seen it is as likely as it was at the start.
    """

    apple: float
    """The true probability that the apple is right."""
    penalty: Penalty
    """``frozen``: 0.01 is lost at every step in which game time stands still, as in MiniHack."""
    hidden: Hidden

    @property
    def keys(self) -> tuple[int, ...]:
        return (*MOVES, KICK, EAT)

    def describe(self, level: Level) -> str:
        rows = _CHARACTERS[level["tiles"]]
        doors = [f"DOOR:locked,({x},{y})" for y, x in np.argwhere(rows == "+").tolist()]
        places = {name: level[name].tolist() for name in ("apple", "banana")}
        fruit = [f"OBJECT:('%',\"{name}\"),({x},{y})" for name, (x, y) in places.items()]
        x, y = level["start"].tolist()
        return description(["".join(row) for row in rows], (x, y), [*doors, *fruit, "WALLIFY"])

    def hide(self, level: Level, random: np.random.Generator) -> bool:
        """Is the apple the right one?"""
        return self._drawn(random) if self.hidden == "episode" else bool(level["apple_pays"])

    def judge(self, step: Played, engine: Engine, hidden: bool, random: np.random.Generator) -> tuple[float, bool]:
        reward = PENALTY if step.still and self.penalty == "frozen" else 0.0
        # The question names what is about to be eaten. What follows does not: any fruit may be rotten.
        if step.key != YES or b"eat" not in step.asked:
            return reward, False
        apple = b"apple" in step.asked
        right = self._drawn(random) if self.hidden == "step" else hidden
        return reward + ((APPLE_PAYS if apple else BANANA_PAYS) if apple == right else 0.0), True

    def _drawn(self, random: np.random.Generator) -> bool:
        return bool(random.random() < self.apple)


def simulator(
    max_steps: int = 250,
    apple: float = 0.7,
    penalty: Penalty = "frozen",
    calendar: Calendar = "seed",
    hidden: Hidden = "level",
    pictures: bool = False,
) -> Simulator:
    return Simulator(FruitTask(apple, penalty, hidden), max_steps, calendar, pictures)
