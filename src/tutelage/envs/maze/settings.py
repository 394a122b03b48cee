"""The maze's settings and the thesis's tables as presets. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import require
from ...settings import (
    AdversarySettings,
    EvolveSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    ScanSettings,
    ScoreName,
    TeacherSettings,
    TrainSettings,
    option,
)
from ..presets import Preset


@dataclass(frozen=True)
class MazeSettings:
    """Partially observable mazes (thesis, appendix A.3)."""

    size: int = option(13, "cells a side inside the border", most=255)
    view: int = option(5, "cells a side of what the student sees")
    max_steps: int = option(250, "steps before an episode is truncated")
    see_through_walls: bool = option(True, "off: walls block the view, as in MiniGrid")
    reward: Literal["minigrid", "appendix"] = option(
        "minigrid", "'minigrid' pays 1 - 0.9 T/T_max at the goal, 'appendix' 1 - T/T_max"
    )
    blocks: int = option(60, "the random generator's budget of blocks; a taken cell is a no-op")
    block_count: Literal["uniform", "fixed"] = option(
        "uniform", "'uniform' draws the budget from 0 to blocks each time"
    )
    edit_rule: Literal["flip", "place"] = option(
        "flip",
        "random edits: 'flip' a wall (2 in 3) or move the goal, on different cells; 'place' a wall, nothing or goal "
        "(a third each) on any cell, which may change nothing",
    )

    def __post_init__(self) -> None:
        require(self.size >= 2, f"env.size is {self.size}; a maze needs at least 2 cells a side.")
        require(
            self.view % 2 == 1 and self.view >= 3, f"env.view is {self.view}; give an odd number of at least 3 cells."
        )
        require(self.max_steps >= 1, f"env.max_steps is {self.max_steps}; give at least 1.")
        free = self.size * self.size - 2
        require(
            0 <= self.blocks <= free,
            f"env.blocks is {self.blocks}; a {self.size}x{self.size} maze with an agent and a goal "
            f"has room for 0 to {free}.",
        )


@dataclass(frozen=True)
class MazeEncoderSettings:
    """The student's eyes: a 3x3 convolution over the view, and the direction it faces."""

    filters: int = option(16, "filters of the 3x3 convolution over the view")
    direction: int = option(5, "size of the direction's embedding")

    def __post_init__(self) -> None:
        for name in ("filters", "direction"):
            require(getattr(self, name) >= 1, f"encoder.{name} is {getattr(self, name)}; give at least 1.")


@dataclass(frozen=True)
class MazeDesignEncoderSettings:
    """The teacher's eyes: a 3x3 convolution over the whole maze, and the time."""

    filters: int = option(128, "filters of the 3x3 convolution over the whole level")
    time: int = option(10, "size of the time step's embedding")

    def __post_init__(self) -> None:
        for name in ("filters", "time"):
            require(getattr(self, name) >= 1, f"teacher.encoder.{name} is {getattr(self, name)}; give at least 1.")


# --- presets


def _paired_teacher(curriculum: Any) -> bool:
    """A teacher that builds every level for the regret between students."""
    adversary = getattr(curriculum, "adversary", None)
    return adversary is not None and "regret" in adversary.objective and not hasattr(curriculum, "replay")


def _chapter_4(curriculum: Any) -> dict[str, Any]:
    """PAIRED alone has a recurrent teacher and no entropy bonus; editing replays as often as PLR."""
    if _paired_teacher(curriculum):
        return {"teacher.core": "lstm", "ppo.entropy_coef": 0.0}
    return {"replay.rate": 0.5} if hasattr(curriculum, "evolve") else {}


_QUICK_SCANS = ScanSettings(candidates=80, attempts=4, keep=32, every=100)
"""In batches of 32 levels a scan is 10 batches: a tenth of the steps of 100 updates."""
_SMALL_TEACHER = TeacherSettings(learning_rate=1e-3, encoder=MazeDesignEncoderSettings(filters=32))

_THESIS_ACCEL = Preset(
    "Chapter 5: 0 to 60 blocks, 20,000 student updates (Tables B.3 and B.4).",
    env=MazeSettings(blocks=60, block_count="uniform"),
    encoder=MazeEncoderSettings(),
    network=NetworkSettings(layers=2),
    ppo=PPOSettings(),
    train=TrainSettings(),
    sections=(
        ReplaySettings(capacity=4000, score="pvl", temperature=0.3, staleness=0.3),
        TeacherSettings(encoder=MazeDesignEncoderSettings()),
        _QUICK_SCANS,
    ),
    updates=20_000,
    training_set=4000,
)
_THESIS_DCD = Preset(
    "Chapter 4: 25 blocks, 250M steps (Table B.2).",
    env=MazeSettings(blocks=25, block_count="fixed"),
    encoder=MazeEncoderSettings(),
    network=NetworkSettings(layers=2),
    ppo=PPOSettings(entropy_coef=0.01),
    train=TrainSettings(steps=250_000_000),
    sections=(
        ReplaySettings(capacity=4000, score="maxmc", temperature=0.1, staleness=0.3),
        TeacherSettings(encoder=MazeDesignEncoderSettings()),
        _QUICK_SCANS,
    ),
    training_set=4000,
    adapt=_chapter_4,
)


def _as_published(thesis: Preset, summary: str, score: ScoreName) -> Preset:
    """What the authors' code does where it differs from the text (docs/differences.md)."""
    replay, *rest = thesis.sections
    return replace(
        thesis,
        summary=summary,
        env=replace(thesis.env, edit_rule="place"),
        network=NetworkSettings(layers=1, activation="tanh"),
        # Half of the squared error, on top of the coefficient.
        ppo=replace(thesis.ppo, value_coef=thesis.ppo.value_coef / 2, time_limit="terminate"),
        train=replace(thesis.train, queue=8),
        sections=(
            replace(replay, score=score, clock="replays", scored="latest"),
            *rest,
            EvolveSettings(parents=4),
            AdversarySettings(clip=True, antagonist="best"),
        ),
    )


def _published_chapter_4(curriculum: Any) -> dict[str, Any]:
    """No entropy bonus for any student whose regret a designing teacher is paid with, with or without replay."""
    adversary = getattr(curriculum, "adversary", None)
    paid_by_regret = adversary is not None and "regret" in adversary.objective
    return _chapter_4(curriculum) | ({"ppo.entropy_coef": 0.0} if paid_by_regret else {})


PRESETS = {
    "thesis-accel": _THESIS_ACCEL,
    "thesis-dcd": _THESIS_DCD,
    "published-accel": _as_published(
        _THESIS_ACCEL, "Chapter 5 as the authors' code does it, where that differs from the text.", "pvl"
    ),
    "published-dcd": replace(
        _as_published(
            _THESIS_DCD,
            "Chapter 4 as the authors' code does it, where that differs from the text.",
            "maxmc-undiscounted",
        ),
        adapt=_published_chapter_4,
    ),
    "fast": Preset(
        "Not in the thesis: chapter 5's mazes with a student and batches for your own computer (docs/fast.md).",
        env=MazeSettings(blocks=60, block_count="uniform"),
        encoder=MazeEncoderSettings(),
        network=NetworkSettings(core="gru", width=64),
        # The average is what is evaluated: the acting student's solved rate swings by a sixth from one evaluation to
        # the next.
        ppo=PPOSettings(learning_rate=1e-3, minibatches=8, epochs=3, anneal=True, entropy_coef=0.005, average=0.99),
        train=TrainSettings(levels=256, rollout=256, checkpoint_every=50),
        sections=(
            # At the thesis's temperature more than half of a batch of 256 would be one level, and PVL prefers short
            # ones.
            ReplaySettings(capacity=4000, score="maxmc", temperature=1.0, staleness=0.3),
            _SMALL_TEACHER,
            EvolveSettings(start="random", parents=32),
            # A scan plays 6 batches for every 50 that are learned from: about a tenth of all steps.
            ScanSettings(candidates=384, attempts=4, keep=128, every=50),
        ),
        updates=1750,
        training_set=4000,
    ),
    "small": Preset(
        "Not in the thesis: 7x7 mazes and a small student, learned in minutes on a laptop.",
        env=MazeSettings(size=7, max_steps=64, blocks=20, block_count="uniform"),
        encoder=MazeEncoderSettings(),
        network=NetworkSettings(width=64),
        ppo=PPOSettings(learning_rate=1e-3, minibatches=2, epochs=4, anneal=True, discount=0.99),
        train=TrainSettings(steps=10_000_000, levels=128, rollout=64, suite="fresh", episodes=200),
        sections=(
            ReplaySettings(capacity=1000, min_fill=0.25),
            _SMALL_TEACHER,
            ScanSettings(candidates=320, attempts=4, keep=96, every=100),
        ),
        training_set=1000,
    ),
    "sfl-minigrid": Preset(
        "Not in the thesis: the mazes, students and scans of Rutherford et al. (2024): 13x13 cells, 60 walls.",
        env=MazeSettings(blocks=60, block_count="fixed"),
        encoder=MazeEncoderSettings(),
        network=NetworkSettings(core="gru", width=512),
        ppo=PPOSettings(discount=0.99, epochs=4, minibatches=4, clip=0.04, learning_rate=2.5e-4, anneal=True),
        train=TrainSettings(levels=256, rollout=256),
        sections=(
            ReplaySettings(capacity=4000, score="maxmc"),
            TeacherSettings(encoder=MazeDesignEncoderSettings()),
            # 25,000 levels of 2,000 steps each, as published; here 8 attempts of 256 steps.
            ScanSettings(candidates=25_000, attempts=8, keep=1000, every=100, share=0.5),
        ),
        updates=4577,
        training_set=4000,
    ),
}
DEFAULT_PRESET = "thesis-accel"
