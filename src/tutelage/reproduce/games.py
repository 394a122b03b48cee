"""Exhibits that are matrix games: what methods find there, beside the exact answers."""

from __future__ import annotations

from .. import config
from ..compose import preset
from ..evaluation.games import GameResult, play_game
from ..report.tables import Cell, Table, row
from .catalogue import Exhibit


def play(chosen: Exhibit, seed: int = 0) -> Table:
    """Train every method that the exhibit names on its game. Takes a quarter of a minute a method."""
    rows = []
    for entry in chosen.plays:
        changes = {"env.game": chosen.game, "train.seed": str(seed), **entry.changes}
        settings = config.override(preset(chosen.environment, entry.method, ""), changes)
        rows.append(_row(entry.label, play_game(settings, chosen.iterations)))
    columns = ("method", "policy", "mean payoff (best)", "worst payoff (best)", "worst regret (best)")
    return Table(chosen.title, columns, tuple(rows))


def _row(label: str, result: GameResult) -> tuple[Cell, ...]:
    return row(
        label,
        " ".join(f"{share:.2f}" for share in result.policy),
        f"{result.mean_payoff:.4g} ({result.best_mean_payoff:.4g})",
        f"{result.worst_payoff:.4g} ({result.best_worst_payoff:.4g})",
        f"{result.worst_regret:.4g} ({result.best_worst_regret:.4g})",
    )
