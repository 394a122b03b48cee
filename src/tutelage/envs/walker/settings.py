"""The walker's settings and the thesis's table as a preset. No JAX here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import require
from ...hosts.settings import HostSettings
from ...settings import (
    EvolveSettings,
    MLPSettings,
    PPOSettings,
    ReplaySettings,
    Settings,
    TeacherSettings,
    TrainSettings,
    option,
)
from ..presets import curriculum, steps, training_set


@dataclass(frozen=True)
class WalkerSettings(HostSettings):
    """BipedalWalker (thesis, appendix A)."""

    stairs: bool = option(True, "off: POET's five parameters, without stairs")
    stair_steps: Literal["exact", "below"] = option(
        "exact", "'exact' builds as many steps as a level says, 'below' draws a number below that"
    )
    max_steps: int = option(2000, "steps before an episode is cut off")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.max_steps >= 1, f"env.max_steps is {self.max_steps}; give at least 1.")


_ACCEL_RATE = 0.9


def _curriculum(method: str, min_fill: float) -> Any:
    replay = ReplaySettings(capacity=1000, score="pvl", temperature=0.1, staleness=0.5, min_fill=min_fill)
    teacher, evolve = TeacherSettings(learning_rate=3e-4), EvolveSettings(start="empty", edits=3)
    return curriculum(method, replay, teacher, evolve, _ACCEL_RATE)


def _thesis_walker(method: str) -> Settings:
    """Chapter 5: eight parameters, 30,000 student updates (Tables B.3 and B.4)."""
    ppo = PPOSettings(
        discount=0.99,
        gae_lambda=0.9,
        epochs=5,
        minibatches=32,
        learning_rate=3e-4,
        value_clip=False,
        entropy_coef=1e-3,
        normalise_returns=True,
        normalise_observations=True,
    )
    train = TrainSettings(
        steps=steps(method, 30_000, 16 * 2000, _ACCEL_RATE),
        levels=16,
        rollout=2000,
        training_set=training_set(method, 1000),
        log_every=1,
        evaluate_every=100,
        checkpoint_every=25,
        suite="thesis",
    )
    return Settings("walker", method, WalkerSettings(), MLPSettings(), ppo, _curriculum(method, 0.5), train)


def _fast(method: str) -> Settings:
    """Not in the thesis: far more and smaller gradient steps, for a few hours on a computer of one's own."""
    thesis = _thesis_walker(method)
    ppo = replace(thesis.ppo, discount=0.999, gae_lambda=0.95, epochs=10, minibatches=500, clip=0.18, entropy_coef=0.0)
    fewer = steps(method, 300, 16 * 2000, _ACCEL_RATE)
    train = replace(thesis.train, steps=fewer, evaluate_every=25, episodes=5)
    return replace(thesis, ppo=ppo, curriculum=_curriculum(method, 0.1), train=train)


PRESETS: dict[str, Callable[[str], Settings]] = {"thesis-walker": _thesis_walker, "fast": _fast}
DEFAULT_PRESET = "thesis-walker"
