"""The maze's settings and the thesis's tables as presets. No JAX here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...errors import require
from ...settings import (
    EvolveSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    Settings,
    TeacherSettings,
    TrainSettings,
    option,
)
from ..presets import curriculum, steps, training_set


@dataclass(frozen=True)
class MazeSettings:
    """Partially observable mazes (thesis, appendix A.3)."""

    size: int = option(13, "cells a side inside the border")
    view: int = option(5, "cells a side of what the student sees")
    max_steps: int = option(250, "steps before an episode is cut off")
    see_through_walls: bool = option(True, "off: walls block the view, as in MiniGrid")
    reward: Literal["minigrid", "appendix"] = option(
        "minigrid", "'minigrid' pays 1 - 0.9 T/T_max at the goal, 'appendix' 1 - T/T_max"
    )
    blocks: int = option(60, "the random generator's budget of blocks; a taken cell is a no-op")
    block_count: Literal["uniform", "fixed"] = option(
        "uniform", "'uniform' draws the budget from 0 to blocks each time"
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


# --- presets


def _thesis_accel(method: str) -> Settings:
    """Chapter 5: 0 to 60 blocks, 20,000 student updates (Tables B.3 and B.4)."""
    replay = ReplaySettings(capacity=4000, score="pvl", temperature=0.3, staleness=0.3)
    env = MazeSettings(blocks=60, block_count="uniform")
    chosen = curriculum(method, replay, TeacherSettings())
    train = TrainSettings(steps=steps(method, 20_000, 32 * 256), training_set=training_set(method, 4000))
    return Settings("maze", method, env, NetworkSettings(), PPOSettings(), chosen, train)


def _thesis_dcd(method: str) -> Settings:
    """Chapter 4: 25 blocks, 250M steps (Table B.2)."""
    replay = ReplaySettings(capacity=4000, score="maxmc", temperature=0.1, staleness=0.3)
    # PAIRED alone has a recurrent teacher and no entropy bonus.
    paired = method in ("paired", "population-paired")
    chosen = curriculum(method, replay, TeacherSettings(core="lstm" if paired else "none"), accel_rate=0.5)
    ppo = PPOSettings(entropy_coef=0.0 if paired else 0.01)
    env = MazeSettings(blocks=25, block_count="fixed")
    train = TrainSettings(steps=250_000_000, training_set=training_set(method, 4000))
    return Settings("maze", method, env, NetworkSettings(), ppo, chosen, train)


def _small(method: str) -> Settings:
    """Not in the thesis: 7x7 mazes and a small student, learned in minutes on a laptop."""
    return Settings(
        environment="maze",
        method=method,
        env=MazeSettings(size=7, max_steps=64, blocks=20, block_count="uniform"),
        network=NetworkSettings(width=64),
        ppo=PPOSettings(learning_rate=1e-3, minibatches=2, epochs=4, anneal=True, discount=0.99),
        curriculum=curriculum(
            method, ReplaySettings(capacity=1000, min_fill=0.25), TeacherSettings(filters=32, learning_rate=1e-3)
        ),
        train=TrainSettings(
            steps=10_000_000,
            levels=128,
            rollout=64,
            training_set=training_set(method, 1000),
            suite="fresh",
            episodes=200,
        ),
    )


def _fast(method: str) -> Settings:
    """Not in the thesis: chapter 5's mazes with a student and batches for a computer of one's own (docs/fast.md)."""
    chosen = curriculum(
        method,
        # At the thesis's temperature more than half of a batch of 256 would be one level, and PVL prefers short ones.
        ReplaySettings(capacity=4000, score="maxmc", temperature=1.0, staleness=0.3),
        TeacherSettings(filters=32, learning_rate=1e-3),
        EvolveSettings(start="random", parents=32),
    )
    return Settings(
        environment="maze",
        method=method,
        env=MazeSettings(blocks=60, block_count="uniform"),
        network=NetworkSettings(width=64),
        ppo=PPOSettings(learning_rate=1e-3, minibatches=8, epochs=3, anneal=True, entropy_coef=0.005),
        curriculum=chosen,
        train=TrainSettings(
            steps=steps(method, 1750, 256 * 256),
            levels=256,
            rollout=256,
            training_set=training_set(method, 4000),
            evaluate_every=50,
            checkpoint_every=50,
        ),
    )


PRESETS: dict[str, Callable[[str], Settings]] = {
    "thesis-accel": _thesis_accel,
    "thesis-dcd": _thesis_dcd,
    "fast": _fast,
    "small": _small,
}
DEFAULT_PRESET = "thesis-accel"
