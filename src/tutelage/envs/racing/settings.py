"""Racing's settings and the thesis's tables as presets. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import require
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

MOST_REPEATED = 8
"""Steps that can be driven before the tiles near the car are looked up again."""


@dataclass(frozen=True)
class RacingSettings:
    """CarRacing on Bézier tracks (thesis, appendix A)."""

    max_steps: int = option(1000, "steps before an episode is truncated, each a fiftieth of a second")
    repeat: int = option(8, "steps for which every action is repeated")
    frames: int = option(4, "number of stacked frames, newest last")
    resolution: int = option(96, "side of an image in pixels: 96, 64 or 48")
    grey: bool = option(False, "greyscale images")
    samples: int = option(1, "samples per pixel side when drawing the road: 1 or 2")
    start: Literal["east", "south"] = option(
        "east", "'east' starts at the tile nearest to 0 degrees, 'south' at the first control point"
    )
    shaping: Literal["thesis", "published", "none"] = option(
        "thesis",
        "'thesis' does not punish leaving the field, 'published' adds 100 for leaving and for finishing, "
        "'none' is as in tests",
    )
    patience: int = option(100, "steps without a new tile after which a training episode ends; 0 for never")
    ice: Literal["none", "beta"] = option("none", "'beta' makes each tile icy with q, drawn from a Beta distribution")
    ice_alpha: float = option(1.0, "first parameter of q's distribution")
    ice_beta: float = option(15.0, "second parameter of q's distribution")

    def __post_init__(self) -> None:
        require(self.max_steps >= 1, f"env.max_steps is {self.max_steps}; give at least 1.")
        require(
            1 <= self.repeat <= MOST_REPEATED,
            f"env.repeat is {self.repeat}; give a whole number from 1 to {MOST_REPEATED}.",
        )
        require(self.frames >= 1, f"env.frames is {self.frames}; give at least 1.")
        require(self.resolution in (96, 64, 48), f"env.resolution is {self.resolution}; give 96, 64 or 48.")
        require(self.samples in (1, 2), f"env.samples is {self.samples}; give 1 or 2.")
        require(self.patience >= 0, f"env.patience is {self.patience}; give 0 or more.")
        for name in ("ice_alpha", "ice_beta"):
            require(getattr(self, name) > 0, f"env.{name} is {getattr(self, name)}; give a number greater than 0.")

    def idle(self) -> dict[str, str]:
        return {"ice_alpha": "env.ice is none", "ice_beta": "env.ice is none"} if self.ice == "none" else {}

    @property
    def decisions(self) -> int:
        """Of the longest episode."""
        return -(-self.max_steps // self.repeat)


@dataclass(frozen=True)
class RacingEncoderSettings:
    """The student's eyes: a convolutional network."""

    kind: Literal["thesis", "published", "small", "impala"] = option(
        "thesis",
        "the text's six convolutions, those of the code published with it (both for 96 pixels), "
        "'small' as in DQN, or 'impala', which is much slower",
    )
    channels: int = option(16, "small and impala: channels of the first convolution; later ones have twice as many")
    features: int = option(256, "small and impala: units of the dense layer after the convolutions")

    def __post_init__(self) -> None:
        for name in ("channels", "features"):
            require(getattr(self, name) >= 1, f"encoder.{name} is {getattr(self, name)}; give at least 1.")

    def idle(self) -> dict[str, str]:
        reason = f"encoder.kind is {self.kind}"
        return {"channels": reason, "features": reason} if self.kind in ("thesis", "published") else {}


@dataclass(frozen=True)
class RacingDesignEncoderSettings:
    """The teacher's eyes: the sketch of control points, and the time."""

    time: int = option(8, "size of the time step's embedding")

    def __post_init__(self) -> None:
        require(self.time >= 1, f"teacher.encoder.time is {self.time}; give at least 1.")


# --- presets


def _replayed_designs(curriculum: Any) -> dict[str, Any]:
    """A teacher whose levels are replayed has scores and an entropy bonus of its own (Table B.2)."""
    both = hasattr(curriculum, "adversary") and hasattr(curriculum, "replay")
    return {"replay.score": "maxmc", "teacher.entropy_coef": 0.01} if both else {}


def _sections(replay: ReplaySettings) -> tuple[Any, ...]:
    return (
        replay,
        TeacherSettings(head=256, learning_rate=3e-4, encoder=RacingDesignEncoderSettings()),
        EvolveSettings(start="easy", edits=3),
        ScanSettings(candidates=80, attempts=2, keep=32, every=50),
    )


_REPLAY = ReplaySettings(capacity=8000, score="pvl", prioritisation="proportional", temperature=1.0, staleness=0.7)

_THESIS = Preset(
    "Chapter 4: twelve control points, 5.5M decisions (Table B.2).",
    env=RacingSettings(),
    encoder=RacingEncoderSettings(),
    network=NetworkSettings(core="none", width=100, head=100, policy="beta"),
    ppo=PPOSettings(
        discount=0.99,
        gae_lambda=0.9,
        epochs=8,
        minibatches=4,
        learning_rate=3e-4,
        value_clip=False,
        normalise_returns=True,
    ),
    train=TrainSettings(
        steps=5_500_000,
        levels=16,
        rollout=125,
        log_every=1,
        evaluate_every=100,
        checkpoint_every=50,
        suite="f1-validation",
    ),
    sections=_sections(_REPLAY),
    training_set=8000,
    adapt=_replayed_designs,
)

PRESETS = {
    "thesis-racing": _THESIS,
    "thesis-ice": replace(
        _THESIS,
        summary="Chapter 6: the same tracks with black ice, q ~ Beta(1, 15), 5M decisions (Table B.5).",
        env=RacingSettings(ice="beta"),
        ppo=replace(_THESIS.ppo, epochs=3, learning_rate=1e-4, value_coef=1.0),
        train=replace(_THESIS.train, steps=5_000_000, suite="icy-validation", episodes=5),
        sections=_sections(replace(_REPLAY, capacity=500)),
        training_set=500,
    ),
    "fast": replace(
        _THESIS,
        summary="Not in the thesis: chapter 4's tracks in grey pictures of 48 pixels, with a small network.",
        env=RacingSettings(resolution=48, grey=True),
        encoder=RacingEncoderSettings(kind="small", channels=8, features=128),
        ppo=replace(_THESIS.ppo, epochs=4, minibatches=16, learning_rate=1e-3, anneal=True),
        train=replace(_THESIS.train, steps=3_000_000, levels=32, evaluate_every=50),
        sections=_sections(replace(_REPLAY, capacity=1000)),
        training_set=1000,
    ),
}
DEFAULT_PRESET = "thesis-racing"
