"""Settings of LavaGrid, and the thesis's table as a preset. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import require
from ...rl.encoder_settings import GlyphEncoder
from ...settings import (
    EvolveSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    ScanSettings,
    TeacherSettings,
    TrainSettings,
    option,
)
from ..presets import Preset


@dataclass(frozen=True)
class LavaSettings:
    """A small room with lava, seen whole (thesis, section 5.3.1)."""

    size: int = option(7, "cells a side")
    tiles: int = option(20, "the random generator's budget of lava tiles")
    tile_count: Literal["uniform", "fixed", "placements"] = option(
        "uniform",
        "how many tiles a random level has: 'uniform' from 0 to the budget, 'fixed', or 'placements': as many random "
        "cells, a taken one changes nothing",
    )
    penalty: Literal["bumps", "steps"] = option(
        "bumps",
        "what costs 0.01: 'bumps' into what cannot be walked on, as in MiniHack, or all 'steps', as in the text",
    )
    max_steps: int = option(100, "steps before an episode is truncated")

    def __post_init__(self) -> None:
        require(self.size >= 2, f"env.size is {self.size}; a room needs at least 2 cells a side.")
        free = self.size**2 - 2
        require(
            0 <= self.tiles <= free,
            f"env.tiles is {self.tiles}; a room of {self.size}x{self.size} cells with an agent and a goal has space "
            f"for 0 to {free}.",
        )
        require(
            1 <= self.max_steps <= 100,
            f"env.max_steps is {self.max_steps}; give 1 to 100. In a longer episode penalties could add up to more "
            "than the goal pays, and returns would not tell who got there.",
        )


@dataclass(frozen=True)
class LavaDesignEncoderSettings:
    """The teacher's eyes: a 3x3 convolution over the whole level, and the time."""

    filters: int = option(128, "filters of the 3x3 convolution over the whole level")
    time: int = option(10, "size of the time step's embedding")

    def __post_init__(self) -> None:
        for name in ("filters", "time"):
            require(getattr(self, name) >= 1, f"teacher.encoder.{name} is {getattr(self, name)}; give at least 1.")


def _edits_replay_more(curriculum: Any) -> dict[str, Any]:
    return {"replay.rate": 0.9} if hasattr(curriculum, "evolve") else {}


_REPLAY = ReplaySettings(capacity=10_000, score="pvl", temperature=0.3, staleness=0.3)
_SCANS = ScanSettings(candidates=80, attempts=4, keep=32, every=100)

PRESETS = {
    "thesis-lava": Preset(
        "Chapter 5: 7x7 rooms with 0 to 20 tiles of lava, NLE's student, 1,000 student updates (Table B.3).",
        env=LavaSettings(),
        encoder=GlyphEncoder(),
        network=NetworkSettings(core="lstm", width=256, layers=0),
        ppo=PPOSettings(),
        train=TrainSettings(suite="thesis", episodes=100),
        sections=(
            _REPLAY,
            TeacherSettings(encoder=LavaDesignEncoderSettings()),
            EvolveSettings(criterion="batch", editor="learned", edits=5),
            _SCANS,
        ),
        updates=1000,
        training_set=4000,
        adapt=_edits_replay_more,
    ),
    "fast": Preset(
        "Not in the thesis: the same rooms with a small student without memory and shorter rollouts, for one core.",
        env=LavaSettings(),
        encoder=GlyphEncoder(embedding=4, whole=False, crop=13, layers=0, stats=4, hidden=0, features=64),
        network=NetworkSettings(core="none", width=64, head=32),
        ppo=PPOSettings(learning_rate=1e-3, epochs=2, minibatches=4, entropy_coef=0.005),
        train=TrainSettings(rollout=32, suite="thesis", episodes=100),
        sections=(
            replace(_REPLAY, capacity=1000),
            TeacherSettings(learning_rate=1e-3, encoder=LavaDesignEncoderSettings(filters=16)),
            EvolveSettings(criterion="batch", editor="random", edits=5),
            _SCANS,
        ),
        updates=1000,
        training_set=4000,
        adapt=_edits_replay_more,
    ),
}
DEFAULT_PRESET = "thesis-lava"
