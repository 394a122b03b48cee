"""Procgen's settings and chapter 3's protocols as presets. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...errors import require, unknown
from ...hosts.settings import HostSettings
from ...rl.encoder_settings import ImageEncoder
from ...settings import (
    BanditSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    ScanSettings,
    TrainSettings,
    option,
)
from ..presets import Preset
from .games import GAMES, GameName, Mode


@dataclass(frozen=True)
class ProcgenSettings(HostSettings):
    """A game of Procgen (thesis, appendix A)."""

    game: GameName = option("bigfish", "which of the sixteen games")
    mode: Mode = option("easy", "how difficult its levels are")
    max_steps: int = option(0, "steps before an episode is truncated; 0 for the game's own limit, from 500 to 6000")
    resolution: int = option(64, "side of an image in pixels: 64, or 32 or 16 of averaged blocks")
    cache: int = option(2000, "level states that each worker caches, about 25 KB each")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.game not in GAMES:
            raise unknown("game of Procgen", self.game, list(GAMES))
        require(self.mode in ("easy", "hard"), f"env.mode is {self.mode}; give easy or hard.")
        require(
            0 <= self.max_steps <= GAMES[self.game].limit,
            f"env.max_steps is {self.max_steps}, and {self.game} has a limit of {GAMES[self.game].limit} steps; give "
            "no more, or 0 for that.",
        )
        require(self.resolution in (64, 32, 16), f"env.resolution is {self.resolution}; give 64, 32 or 16.")
        require(self.cache >= 1, f"env.cache is {self.cache}; give at least 1.")

    @property
    def limit(self) -> int:
        """Steps before an episode is cut off."""
        return self.max_steps or GAMES[self.game].limit


LINEAR = NetworkSettings(core="separate", layers=0)
"""Policy and value are linear in what the encoder sees."""


def _endless(curriculum: Any) -> dict[str, Any]:
    """Scans draw levels without end."""
    return {"train.training_set": 0} if hasattr(curriculum, "scan") else {}


_SECTIONS = (
    ReplaySettings(
        schedule="all-first",
        capacity=200,
        min_fill=0.0,
        score="l1-value-loss",
        prioritisation="rank",
        temperature=0.1,
        staleness=0.1,
    ),
    BanditSettings(window=10, rate=1.0, policy="epsilon-greedy", epsilon=0.5),
    ScanSettings(candidates=512, attempts=4, keep=64, every=50),
)

_EASY = Preset(
    "Chapter 3: one game, 200 easy levels, 25M steps (Table B.1).",
    env=ProcgenSettings(),
    encoder=ImageEncoder(kind="impala"),
    network=LINEAR,
    ppo=PPOSettings(
        discount=0.999,
        gae_lambda=0.95,
        epochs=3,
        minibatches=8,
        learning_rate=5e-4,
        entropy_coef=0.01,
        normalise_returns=True,
        return_discount=0.99,
        reward_clip=10.0,
    ),
    train=TrainSettings(
        steps=25_000_000,
        levels=64,
        rollout=256,
        training_set=200,
        log_every=1,
        evaluate_every=50,
        checkpoint_every=50,
        suite="gap-200",
    ),
    sections=_SECTIONS,
    training_set=200,
    adapt=_endless,
)

PRESETS = {
    "thesis-procgen-easy": _EASY,
    "thesis-procgen-hard": replace(
        _EASY,
        summary="Chapter 3: one game, 500 hard levels, 200M steps, twice as many environments.",
        env=ProcgenSettings(mode="hard"),
        train=replace(_EASY.train, steps=200_000_000, levels=128, training_set=500, suite="gap-500"),
        sections=(replace(_SECTIONS[0], capacity=500), *_SECTIONS[1:]),
        training_set=500,
    ),
    "fast": replace(
        _EASY,
        summary="Not in the thesis: 200 easy levels with a small network, for a few hours on your own computer.",
        env=ProcgenSettings(resolution=32),
        encoder=ImageEncoder(kind="small", channels=16, features=128),
        ppo=replace(_EASY.ppo, epochs=2, minibatches=32, learning_rate=1e-3),
        train=replace(_EASY.train, steps=3_000_000, levels=32, evaluate_every=20, checkpoint_every=20),
        # A batch is drawn at once, not slot by slot as episodes end: at 0.1 nine tenths of it would be one level.
        sections=(replace(_SECTIONS[0], temperature=1.0), *_SECTIONS[1:]),
    ),
}
DEFAULT_PRESET = "thesis-procgen-easy"
