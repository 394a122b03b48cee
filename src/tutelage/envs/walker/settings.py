"""The walker's settings and the thesis's table as a preset. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import require
from ...hosts.settings import HostSettings
from ...settings import (
    AdversarySettings,
    EvolveSettings,
    MixtureSettings,
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
class WalkerSettings(HostSettings):
    """BipedalWalker (thesis, appendix A)."""

    stairs: bool = option(True, "off: POET's five parameters, without stairs")
    stair_steps: Literal["exact", "below"] = option(
        "exact", "'exact' builds as many steps as a level says, 'below' draws a number below that"
    )
    max_steps: int = option(2000, "steps before an episode is truncated")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.max_steps >= 1, f"env.max_steps is {self.max_steps}; give at least 1.")


VECTOR_STUDENT = NetworkSettings(core="separate", layers=2, head=64, activation="tanh")
"""Policy and value are networks of their own."""


def _edits_replay_more(curriculum: Any) -> dict[str, Any]:
    """ACCEL replays nine times in ten (Table B.3)."""
    return {"replay.rate": 0.9} if hasattr(curriculum, "evolve") else {}


def _sections(min_fill: float) -> tuple[Any, ...]:
    return (
        ReplaySettings(capacity=1000, score="pvl", temperature=0.1, staleness=0.5, min_fill=min_fill),
        TeacherSettings(learning_rate=3e-4),
        EvolveSettings(start="easy", edits=3),
        ScanSettings(candidates=40, attempts=2, keep=16, every=50),
    )


_THESIS = Preset(
    "Chapter 5: eight parameters, 30,000 student updates (Tables B.3 and B.4).",
    env=WalkerSettings(),
    network=VECTOR_STUDENT,
    ppo=PPOSettings(
        discount=0.99,
        gae_lambda=0.9,
        epochs=5,
        minibatches=32,
        learning_rate=3e-4,
        value_clip=False,
        entropy_coef=1e-3,
        normalise_returns=True,
    ),
    train=TrainSettings(levels=16, rollout=2000, log_every=1, checkpoint_every=25, suite="thesis"),
    sections=_sections(min_fill=0.5),
    updates=30_000,
    training_set=1000,
    adapt=_edits_replay_more,
)

PRESETS = {
    "thesis-walker": _THESIS,
    "published-walker": replace(
        _THESIS,
        summary="Chapter 5 as the authors' code does it, where that differs from the text.",
        # Without clipping their value loss is a Huber loss.
        ppo=replace(_THESIS.ppo, huber=1.0, time_limit="terminate"),
        train=replace(_THESIS.train, rollout=2048),
        sections=(
            replace(_sections(min_fill=0.5)[0], clock="replays"),
            TeacherSettings(learning_rate=3e-4, entropy_coef=0.01),
            EvolveSettings(start="easy", edits=3, parents=4),
            AdversarySettings(clip=True, antagonist="best"),
            MixtureSettings(most=20),
            ScanSettings(candidates=40, attempts=2, keep=16, every=50),
        ),
    ),
    "fast": replace(
        _THESIS,
        summary="Not in the thesis: far more and smaller gradient steps, for a few hours on your own computer.",
        ppo=replace(
            _THESIS.ppo,
            normalise_observations=True,
            discount=0.999,
            gae_lambda=0.95,
            epochs=10,
            minibatches=500,
            clip=0.18,
            entropy_coef=0.0,
        ),
        train=replace(_THESIS.train, evaluate_every=25, episodes=5),
        sections=_sections(min_fill=0.1),
        updates=300,
    ),
}
DEFAULT_PRESET = "thesis-walker"
