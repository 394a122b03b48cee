"""The matrix game's settings and preset. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...errors import UserError, require
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

Payoffs = tuple[tuple[float, ...], ...]
"""Rows are the student's actions, columns are levels."""

ICE_CREAM: Payoffs = ((250, 200, 150), (200, 500, 500), (100, 300, 750))
"""Table 2.1 of the thesis: how much to order (small, medium, large) for weather that is cold, warm or hot."""


def corollary_game(levels: int, p: float, epsilon: float, high: float) -> Payoffs:
    """The game of Corollary 1 (Table 4.1), in which plain PLR pays for the random levels it learns from.

    ``p`` is how often levels come from the teacher that maximises regret; the game is built to hurt at that ``p``.
    """
    rest = levels - 2
    lure, small = high * p + 2 * epsilon, high * p / 2 + epsilon
    return (
        (high, 0, *[0] * rest),
        (0, high, *[0] * rest),
        (lure, 0, *[small] * rest),
        (0, lure, *[small] * rest),
    )


@dataclass(frozen=True)
class MatrixSettings:
    """A one-step game."""

    game: Literal["ice-cream", "corollary-1", "custom"] = option("ice-cream", "which payoff matrix")
    payoffs: str = option("", "a custom matrix: numbers by spaces, rows by semicolons, as '1 0; 0 1'")
    columns: int = option(12, "levels of the game of Corollary 1")
    p: float = option(0.5, "replay rate that the game of Corollary 1 is built for")
    epsilon: float = option(0.02, "advantage of the lures in the game of Corollary 1")

    def __post_init__(self) -> None:
        matrix(self)

    def idle(self) -> dict[str, str]:
        """Every game has settings of its own."""
        own = {"corollary-1": ("columns", "p", "epsilon"), "custom": ("payoffs",)}.get(self.game, ())
        others = {"payoffs", "columns", "p", "epsilon"}.difference(own)
        return dict.fromkeys(sorted(others), f"env.game is {self.game}")


def matrix(settings: MatrixSettings) -> Payoffs:
    """The payoff matrix that settings describe."""
    if settings.game == "ice-cream":
        return ICE_CREAM
    if settings.game == "corollary-1":
        require(settings.columns >= 3, f"env.columns is {settings.columns}; the game of Corollary 1 needs at least 3.")
        require(0 < settings.p < 1, f"env.p is {settings.p}; give a number between 0 and 1.")
        most = (1 - settings.p) / 2
        require(
            0 < settings.epsilon < most,
            f"env.epsilon is {settings.epsilon}; for env.p = {settings.p} give a number between 0 and {most:g}.",
        )
        return corollary_game(settings.columns, settings.p, settings.epsilon, 1.0)
    return parse(settings.payoffs)


def parse(text: str) -> Payoffs:
    """A matrix from text."""
    rows = [row.split() for row in text.split(";") if row.strip()]
    require(len(rows) >= 1, "env.payoffs is empty; a custom game needs a matrix, as in '1 0; 0 1'.")
    width = len(rows[0])
    numbers: list[tuple[float, ...]] = []
    for index, row in enumerate(rows, start=1):
        require(
            len(row) == width,
            f"Row {index} of env.payoffs has {len(row)} entries and row 1 has {width}; every row needs one per level.",
        )
        try:
            numbers.append(tuple(float(entry) for entry in row))
        except ValueError:
            raise UserError(f"Row {index} of env.payoffs is '{' '.join(row)}'; give numbers only.") from None
        require(all(abs(entry) < float("inf") for entry in numbers[-1]), f"Row {index} of env.payoffs is not finite.")
    return tuple(numbers)


def _exact(curriculum: Any) -> dict[str, Any]:
    """A teacher that is paid with an estimate of regret is paid with regret itself."""
    adversary = getattr(curriculum, "adversary", None)
    if adversary is None or adversary.objective == "minimax":
        return {}
    return {"adversary.objective": "exact-regret"}


PRESETS = {
    "exact": Preset(
        "One-step games with exact regret as score and objective: the theory's own setting.",
        env=MatrixSettings(),
        network=NetworkSettings(core="none", width=8, head=8),
        ppo=PPOSettings(
            discount=1.0,
            gae_lambda=1.0,
            learning_rate=0.001,
            entropy_coef=0.02,
            epochs=4,
            value_clip=False,
            normalise_returns=True,
        ),
        train=TrainSettings(steps=2_000_000, levels=32, rollout=32, suite="columns", episodes=100),
        sections=(
            ReplaySettings(
                rate=0.5, capacity=64, min_fill=0.0, score="exact-regret", prioritisation="greedy", staleness=0.0
            ),
            # The teacher is quicker than the students and never quite sure: it follows their mistakes instead of
            # settling.
            TeacherSettings(learning_rate=0.005, entropy_coef=0.2),
            EvolveSettings(start="random"),  # no column is simpler than another
            BanditSettings(
                optimism=1000.0
            ),  # steeper than payoffs can be: every column is tried before any is preferred
            ScanSettings(candidates=32, attempts=2, keep=4, every=10, score="exact-regret"),
        ),
        training_set=64,
        adapt=_exact,
    ),
}
DEFAULT_PRESET = "exact"
