"""Exhibits that are matrix games: what methods find there, beside the exact answers. What was found before is kept.

JAX is imported by who plays, not by who shows what was played.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config
from ..compose import preset
from ..report.tables import Table, row
from ..runs.files import write_atomically
from .catalogue import PACKAGE, Exhibit

if TYPE_CHECKING:
    from ..evaluation.games import GameResult

FOLDER = "results/games"
COLUMNS = ("method", "policy", "mean payoff (best)", "worst payoff (best)", "worst regret (best)")
EXPLAINED = "Policies are averages over the last half of training, one seed; in parentheses the exact answers."


@dataclass(frozen=True)
class Played:
    """What the methods of an exhibit found on its game."""

    exhibit: str
    version: str
    day: str
    seed: int
    rows: tuple[tuple[str, ...], ...]
    """One a method, as they are shown."""


def play(chosen: Exhibit, version: str, day: str, seed: int = 0) -> Played:
    """Train every method that the exhibit names on its game. Takes a quarter of a minute a method."""
    from ..evaluation.games import play_game

    rows = []
    for entry in chosen.plays:
        changes = {"env.game": chosen.game, "train.seed": str(seed), **entry.changes}
        settings = config.override(preset(chosen.environment, entry.method, ""), changes)
        rows.append((entry.label, *_figures(play_game(settings, chosen.iterations))))
    return Played(chosen.name, version, day, seed, tuple(rows))


def _figures(result: GameResult) -> tuple[str, ...]:
    return (
        " ".join(f"{share:.2f}" for share in result.policy),
        f"{result.mean_payoff:.4g} ({result.best_mean_payoff:.4g})",
        f"{result.worst_payoff:.4g} ({result.best_worst_payoff:.4g})",
        f"{result.worst_regret:.4g} ({result.best_worst_regret:.4g})",
    )


def table(chosen: Exhibit, played: Played) -> Table:
    """As a table."""
    return Table(chosen.title, COLUMNS, tuple(row(*words) for words in played.rows))


def write(folder: Path, played: Played) -> None:
    """Keep it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{played.exhibit}.json", (json.dumps(asdict(played), indent=1) + "\n").encode())


def shipped_for(exhibit: str) -> Played | None:
    """What comes with Tutelage; None where nothing was kept."""
    entry = files(PACKAGE).joinpath(FOLDER, f"{exhibit}.json")
    if not entry.is_file():
        return None
    kept = json.loads(entry.read_text(encoding="utf-8"))
    return Played(**{**kept, "rows": tuple(tuple(words) for words in kept["rows"])})
