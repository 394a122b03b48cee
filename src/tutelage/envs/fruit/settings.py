"""Settings of Stochastic Fruit Choice, and the thesis's table as a preset. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...errors import require
from ...rl.encoder_settings import GlyphEncoder
from ...settings import NetworkSettings, PPOSettings, ReplaySettings, ScanSettings, TrainSettings, option
from ..presets import Preset


@dataclass(frozen=True)
class FruitSettings:
    """Locked rooms, and two fruits of which one pays (thesis, section 6.5.1 and appendix A.6)."""

    apple: float = option(0.7, "probability that the apple is the right fruit")
    rooms: int = option(8, "largest number of rooms; all numbers from 1 are equally likely")
    size: int = option(21, "cells a side of the map")
    longest: int = option(6, "longest side of a room, walls included; the shortest is 4")
    penalty: Literal["frozen", "none"] = option(
        "frozen", "'frozen' costs 0.01 at steps in which game time stands still, as in MiniHack"
    )
    max_steps: int = option(250, "steps before an episode is truncated")

    def __post_init__(self) -> None:
        require(0 <= self.apple <= 1, f"env.apple is {self.apple}; it is a probability, so give a number from 0 to 1.")
        require(self.rooms >= 1, f"env.rooms is {self.rooms}; give at least 1.")
        require(4 <= self.longest <= 10, f"env.longest is {self.longest}; give 4 to 10.")
        least = 13 if self.rooms <= 4 else 21
        require(
            self.size >= max(least, self.longest + 2) and self.rooms <= 8,
            f"env.size is {self.size} and env.rooms {self.rooms}: up to 4 rooms need at least 13 cells a side, up to 8 "
            "need 21, and there are at most 8.",
        )
        require(
            1 <= self.max_steps < 300,
            f"env.max_steps is {self.max_steps}; give 1 to 299. In a longer episode penalties could add up to more "
            "than the apple pays, and returns would not tell who was right.",
        )


_SCANS = ScanSettings(candidates=80, attempts=4, keep=32, every=100)

PRESETS = {
    "thesis-fruit": Preset(
        "Chapter 6: up to eight rooms, NLE's student, 200M steps (Table B.5).",
        env=FruitSettings(),
        encoder=GlyphEncoder(),
        network=NetworkSettings(core="lstm", width=256, layers=0),
        ppo=PPOSettings(),
        train=TrainSettings(steps=200_000_000, suite="true", episodes=100),
        sections=(
            ReplaySettings(rate=0.95, capacity=4000, score="pvl", temperature=0.3, staleness=0.3),
            _SCANS,
        ),
        training_set=4000,
    ),
    "fast": Preset(
        "Not in the thesis: up to four small rooms and a small student that sees a crop, for two cores.",
        env=FruitSettings(rooms=4, size=13, longest=4, penalty="none", max_steps=120),
        encoder=GlyphEncoder(embedding=4, whole=False, crop=9, layers=0, stats=8, hidden=0, features=64),
        network=NetworkSettings(core="lstm", width=64, layers=0),
        # The banana pays 10, but rarely: with its usual weight the value's loss would drown the policy's.
        ppo=PPOSettings(
            discount=0.995, epochs=4, minibatches=4, learning_rate=1e-3, entropy_coef=0.002, value_coef=0.05
        ),
        train=TrainSettings(steps=15_000_000, levels=128, rollout=120, suite="choices", episodes=200),
        sections=(
            ReplaySettings(rate=0.5, capacity=1000, score="pvl", temperature=0.3, staleness=0.3),
            ScanSettings(candidates=320, attempts=4, keep=96, every=100),
        ),
        training_set=4000,
    ),
}
DEFAULT_PRESET = "thesis-fruit"
