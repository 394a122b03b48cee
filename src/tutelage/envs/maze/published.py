"""The solved rates that were published for the mazes' suites (Jiang 2023, chapters 4 and 5). Data only."""

from __future__ import annotations

from ..published import Figure, Published

# A row is a maze; its numbers are the mean and the standard error of each column in turn, as printed.
_TWELVE = {
    "SixteenRooms": "0.63 0.14  0.01 0.01  0.87 0.06  0.95 0.03  1 0  1 0",
    "SixteenRooms2": "0.53 0.15  0 0  0.53 0.18  0.49 0.17  0.62 0.22  0.92 0.06",
    "SimpleCrossing": "0.55 0.11  0.11 0.04  0.57 0.15  0.87 0.05  0.92 0.08  0.84 0.16",
    "FourRooms": "0.46 0.06  0.14 0.03  0.77 0.1  0.64 0.04  0.9 0.08  0.72 0.07",
    "SmallCorridor": "0.37 0.09  0.14 0.09  1 0  0.89 0.05  0.88 0.11  1 0",
    "LargeCorridor": "0.27 0.08  0.14 0.09  0.64 0.05  0.79 0.13  0.94 0.05  1 0",
    "Labyrinth": "0.45 0.14  0 0  0.45 0.23  0.55 0.23  0.97 0.03  0.86 0.14",
    "Labyrinth2": "0.38 0.12  0 0  0.54 0.18  0.66 0.18  1 0.01  1 0",
    "Maze": "0.02 0.01  0 0  0.43 0.23  0.54 0.19  0.52 0.26  0.72 0.24",
    "Maze2": "0.37 0.13  0 0  0.49 0.16  0.74 0.13  0.93 0.04  1 0",
    "Maze3": "0.3 0.12  0 0  0.69 0.19  0.75 0.12  0.94 0.06  0.8 0.1",
    "PerfectMaze-M": "0.32 0.06  0.01 0  0.45 0.1  0.62 0.09  0.88 0.12  0.93 0.07",
    "Mean": "0.39 0.03  0.05 0.01  0.62 0.05  0.71 0.04  0.88 0.04  0.9 0.03",
}
_EIGHT = {
    "Labyrinth": "0.2 0.1  0 0  0.3 0.1  0.1 0  0.3 0.1  0.5 0.1  0.7 0.1",
    "Labyrinth2": "0.2 0.1  0 0  0.2 0.1  0.2 0.1  0.4 0.1  0.6 0.1  0.8 0.1",
    "LargeCorridor": "0.7 0.1  0.1 0.1  0.3 0.1  0.5 0.1  0.7 0.1  0.8 0.1  0.8 0.1",
    "Maze": "0 0  0 0  0 0  0.2 0.1  0.3 0.1  0.6 0.1  0.5 0.1",
    "Maze2": "0 0  0 0  0.1 0.1  0.1 0.1  0.4 0.1  0.4 0.1  0.5 0.1",
    "PerfectMaze-M": "0.3 0.1  0 0  0 0  0.4 0.1  0.4 0.1  0.6 0.1  0.5 0.1",
    "SixteenRooms": "0.9 0  0.1 0.1  0.7 0.1  0.9 0.1  1 0  0.8 0.1  1 0",
    "SixteenRooms2": "0.7 0.1  0 0  0 0  0.6 0.1  0.5 0.1  0.7 0.1  0.7 0.1",
    "Mean": "0.4 0  0 0  0.2 0  0.4 0  0.5 0.1  0.6 0.1  0.7 0.1",
}

_60_BLOCKS = "13x13 mazes of 0 to 60 blocks, 20k student updates"
_EMPTY = "edited from empty 13x13 mazes, 20k student updates"
_30K = "13x13 mazes, 250M steps (about 30k student updates)"
_25_BLOCKS = "13x13 mazes of 25 blocks, 250M steps"


def _columns(
    suite: str, rows: dict[str, str], runs: int, digits: int, names: list[tuple[str, str, str]]
) -> list[Published]:
    parsed = {task: [float(number) for number in row.split()] for task, row in rows.items()}
    figures = [
        {task: Figure(*numbers[2 * column : 2 * column + 2]) for task, numbers in parsed.items()}
        for column in range(len(names))
    ]
    return [
        Published(suite, method, label, runs, budget, digits, tasks, tasks.pop("Mean"))
        for (method, label, budget), tasks in zip(names, figures, strict=True)
    ]


PUBLISHED: tuple[Published, ...] = (
    *_columns(
        "thesis-12",
        _TWELVE,
        runs=5,
        digits=2,
        names=[
            ("paired", "PAIRED", _30K),
            ("minimax", "minimax", _30K),
            ("dr", "DR", _60_BLOCKS),
            ("robust-plr", "PLR⊥", _60_BLOCKS),
            ("accel", "ACCEL", _60_BLOCKS),
            ("accel", "ACCEL (empty)", _EMPTY),
        ],
    ),
    *_columns(
        "dcd-8",
        _EIGHT,
        runs=10,
        digits=1,
        names=[
            ("dr", "DR", _25_BLOCKS),
            ("minimax", "minimax", _25_BLOCKS),
            ("paired", "PAIRED", _25_BLOCKS),
            ("repaired", "REPAIRED", _25_BLOCKS),
            ("plr", "PLR", _25_BLOCKS),
            ("robust-plr", "PLR⊥", _25_BLOCKS),
            ("robust-plr", "PLR⊥ (500M)", "13x13 mazes of 25 blocks, 500M steps"),
        ],
    ),
)
"""Suites are named as here; on ``thesis-12`` the column that the table calls PLR is the robust variant."""
