"""The hidden games: their payoffs, their settings and their preset. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...errors import require
from ...settings import (
    BanditSettings,
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
class Game:
    """One tile after another. Each is hidden until the student has chosen one of two actions there; then it is paid and
    sees the tile. Actions do not change tiles.
    """

    actions: tuple[str, str]
    tiles: tuple[str, str]
    """What a tile may be, in words."""
    payoffs: tuple[tuple[float, float], tuple[float, float]]
    """Of both actions on either tile."""
    number: int
    """Of tiles in a row."""
    prior: float | tuple[float, float]
    """The true chance of the second kind of tile: known, or drawn for an episode from a Beta of two parameters."""


def fruit(apple: float) -> Game:
    """The choice at the end of chapter 6's rooms: one fruit is right, and the student cannot know which."""
    return Game(("apple", "banana"), ("banana", "apple"), ((0.0, 10.0), (3.0, 0.0)), 1, apple)


def icy_road(alpha: float, beta: float) -> Game:
    """Fast or slow over two tiles that may be icy: the first says something about the second."""
    return Game(("fast", "slow"), ("dry", "ice"), ((2.0, 1.0), (-9.0, 0.0)), 2, (alpha, beta))


@dataclass(frozen=True)
class HiddenGameSettings:
    """A game with something hidden."""

    game: Literal["fruit", "icy-road"] = option("fruit", "which game")
    apple: float = option(0.7, "fruit: true probability that the apple is right")
    alpha: float = option(1.0, "icy-road: tiles are icy with a probability from Beta(alpha, beta)")
    beta: float = option(15.0, "icy-road: the other parameter of that Beta distribution")

    def __post_init__(self) -> None:
        require(0 < self.apple < 1, f"env.apple is {self.apple}; give a number between 0 and 1.")
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            require(value > 0, f"env.{name} is {value}; give a number greater than 0.")

    def idle(self) -> dict[str, str]:
        """Each game has settings of its own."""
        others = ("alpha", "beta") if self.game == "fruit" else ("apple",)
        return dict.fromkeys(others, f"env.game is {self.game}")


def game(settings: HiddenGameSettings) -> Game:
    """The game that settings describe."""
    return fruit(settings.apple) if settings.game == "fruit" else icy_road(settings.alpha, settings.beta)


def _exact(curriculum: Any) -> dict[str, Any]:
    """A teacher that is paid with an estimate of regret is paid with regret itself."""
    adversary = getattr(curriculum, "adversary", None)
    if adversary is None or "regret" not in adversary.objective:
        return {}
    return {"adversary.objective": "exact-regret"}


PRESETS = {
    "exact": Preset(
        "Games of one or two decisions, with exact regret as score and objective: the theory's own setting.",
        env=HiddenGameSettings(),
        network=NetworkSettings(core="none", width=16, head=16),
        ppo=PPOSettings(
            discount=1.0,
            gae_lambda=0.95,
            learning_rate=0.001,
            entropy_coef=0.0,
            epochs=4,
            value_clip=False,
            normalise_returns=True,
        ),
        train=TrainSettings(steps=2_000_000, levels=32, rollout=32, suite="true", episodes=1000),
        sections=(
            ReplaySettings(
                rate=0.5, capacity=64, min_fill=0.0, score="exact-regret", prioritisation="greedy", staleness=0.0
            ),
            TeacherSettings(learning_rate=0.005, entropy_coef=0.2),  # quicker than the students and never quite sure
            EvolveSettings(start="random"),  # no level is simpler than another
            BanditSettings(optimism=100.0),  # steeper than payoffs can be: every level is tried
            ScanSettings(candidates=32, attempts=2, keep=4, every=10, score="exact-regret"),
        ),
        training_set=64,
        adapt=_exact,
    ),
}
DEFAULT_PRESET = "exact"
