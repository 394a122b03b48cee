"""The sixteen games: what is known of each. No JAX here."""

from __future__ import annotations

from typing import Literal, NamedTuple

GameName = Literal[
    "bigfish",
    "bossfight",
    "caveflyer",
    "chaser",
    "climber",
    "coinrun",
    "dodgeball",
    "fruitbot",
    "heist",
    "jumper",
    "leaper",
    "maze",
    "miner",
    "ninja",
    "plunder",
    "starpilot",
]
Mode = Literal["easy", "hard"]
MODES: dict[Mode, int] = {"easy": 0, "hard": 1}
"""With the numbers that Procgen gives them."""

ACTIONS, NO_OP = 15, 4
"""Actions, all games' the same; the one that does nothing."""


class Range(NamedTuple):
    """Returns that count as 0 and 1: about those of a policy that does nothing of use, and of the best."""

    low: float
    high: float

    def normalised(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


class Game(NamedTuple):
    easy: Range
    hard: Range
    limit: int = 1000
    """Steps after which an episode is cut off."""

    def range(self, mode: Mode) -> Range:
        return self.easy if mode == "easy" else self.hard


GAMES: dict[GameName, Game] = {
    "bigfish": Game(Range(1, 40), Range(0, 40), limit=6000),
    "bossfight": Game(Range(0.5, 13), Range(0.5, 13), limit=4000),
    "caveflyer": Game(Range(3.5, 12), Range(2, 13.4)),
    "chaser": Game(Range(0.5, 13), Range(0.5, 14.2)),
    "climber": Game(Range(2, 12.6), Range(1, 12.6)),
    "coinrun": Game(Range(5, 10), Range(5, 10)),
    "dodgeball": Game(Range(1.5, 19), Range(1.5, 19)),
    "fruitbot": Game(Range(-1.5, 32.4), Range(-0.5, 27.2)),
    "heist": Game(Range(3.5, 10), Range(2, 10)),
    "jumper": Game(Range(1, 10), Range(1, 10)),
    "leaper": Game(Range(1.5, 10), Range(1.5, 10), limit=500),
    "maze": Game(Range(5, 10), Range(4, 10), limit=500),
    "miner": Game(Range(1.5, 13), Range(1.5, 20)),
    "ninja": Game(Range(3.5, 10), Range(2, 10)),
    "plunder": Game(Range(4.5, 30), Range(3, 30), limit=4000),
    "starpilot": Game(Range(2.5, 64), Range(1.5, 35)),
}
"""Ranges are those of Cobbe et al. (2020), limits those of Procgen 0.10.7."""
