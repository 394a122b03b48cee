"""Stochastic Fruit Choice in MiniHack. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..description import description
from ..engine import EAT, KICK, MOVES, Calendar, Engine
from ..simulator import Level, Played, Simulator

YES = MOVES[7]
"""The key for north-west is also the one for yes."""
_CHARACTERS = np.array([" ", ".", "|", "+"])
"""Of stone, floor, wall and door, in the order of ``fruit.level``."""


@dataclass(frozen=True)
class FruitTask:
    """Pays when the right fruit is eaten; eating either is the end.

    Which one is right is hidden in the level. Grounding draws it from its true distribution instead: ``naive`` at the
    start of an episode, ``samplr`` at the bite. Nothing before the bite tells anything about it, so that given all that
    was seen it is as likely as it was at the start.
    """

    apple: float
    """The true probability that the apple is right."""
    rewards: tuple[float, float]
    """For the apple and for the banana, where it is right."""
    penalty: float
    """For a step in which game time stands still."""
    grounding: Literal["none", "naive", "samplr"]

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
        return self._drawn(random) if self.grounding == "naive" else bool(level["right"])

    def judge(self, step: Played, engine: Engine, hidden: bool, random: np.random.Generator) -> tuple[float, bool]:
        reward = self.penalty if step.still else 0.0
        # The question names what is about to be eaten. What follows does not: any fruit may be rotten.
        if step.key != YES or b"eat" not in step.asked:
            return reward, False
        apple = b"apple" in step.asked
        right = self._drawn(random) if self.grounding == "samplr" else hidden
        return reward + (self.rewards[0 if apple else 1] if apple == right else 0.0), True

    def _drawn(self, random: np.random.Generator) -> bool:
        return bool(random.random() < self.apple)


def simulator(
    max_steps: int = 250,
    apple: float = 0.7,
    rewards: tuple[float, float] = (3.0, 10.0),
    penalty: float = 0.0,
    calendar: Calendar = "seed",
    grounding: Literal["none", "naive", "samplr"] = "none",
    pictures: bool = False,
) -> Simulator:
    return Simulator(FruitTask(apple, rewards, penalty, grounding), max_steps, calendar, pictures)
