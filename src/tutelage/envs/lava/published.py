"""The figures that were published for LavaGrid (Jiang 2023, table of chapter 5). Data only."""

from __future__ import annotations

from ..published import Figure, Published

# A row is a task; its numbers are the mean and the standard error of each column in turn, as printed.
_ROWS = {
    "Empty": "0.77 0.03  0.76 0.02  0.89 0.05  0.96 0.04  1.0 0.0",
    "Tiles-10": "0.12 0.03  0.05 0.01  0.33 0.15  0.3 0.05  0.49 0.07",
    "Tiles-20": "0.06 0.01  0.11 0.04  0.23 0.12  0.25 0.06  0.35 0.08",
    "LavaCrossing-S9N1": "0.0 0.0  0.0 0.0  0.05 0.05  0.01 0.0  0.05 0.04",
}

_LAVA = "7x7 rooms, 0 to 20 tiles of lava, 1k student updates"
_COLUMNS = [
    ("paired", "PAIRED", _LAVA),
    ("minimax", "minimax", _LAVA),
    ("dr", "DR", _LAVA),
    ("robust-plr", "PLR⊥", _LAVA),
    ("accel", "ACCEL", "edited from empty 7x7 rooms, 1k student updates"),
]


def _figures(column: int) -> dict[str, Figure]:
    numbers = {task: [float(number) for number in row.split()] for task, row in _ROWS.items()}
    return {task: Figure(*row[2 * column : 2 * column + 2]) for task, row in numbers.items()}


PUBLISHED = tuple(
    Published("thesis", method, label, runs=5, budget=budget, digits=2, tasks=_figures(column))
    for column, (method, label, budget) in enumerate(_COLUMNS)
)
"""The thesis says "test performance", which can only be a solved rate, or a return with penalties for bumps alone."""
