"""Methods side by side over several games, each with students of its own: the tables of the thesis's chapter 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import UserError, require, unknown
from ..evaluation.statistics import not_told_from_best, relative
from .records import EvaluationRecord, Method, RunRecord, TaskScore, Warn, methods_of, read_runs
from .tables import Cell, Table, row, to_text

GAME = "env.game"
"""The setting by which runs of one method differ."""


class GameScores(NamedTuple):
    """A method's figures, ``[runs, games]``; a run is one seed's students of all games."""

    method: Method
    test: np.ndarray
    """Mean return on unseen levels."""
    train: np.ndarray | None
    """Mean return on the levels of the training set, where those were played too."""
    normalised: np.ndarray | None
    """The return on unseen levels on each game's scale."""


class OverGames(NamedTuple):
    """All that is said about methods over games."""

    suite: str
    games: tuple[str, ...]
    baseline: GameScores
    scores: tuple[GameScores, ...]
    steps: tuple[int, ...]
    """Of all runs, when they were evaluated."""
    episodes: tuple[int, ...]

    def tables(self) -> tuple[Table, ...]:
        """Returns, returns on the games' scales, gaps. Of each the mean and the standard deviation over runs."""
        tests = [one.test for one in self.scores]
        against = [100 * relative(one.test, self.baseline.test) for one in self.scores]
        name = f"mean, % of {self.baseline.method.label}"
        made = [self._table(f"Return on unseen levels ({self.suite})", tests, name, against, digits=1)]
        normalised = [one.normalised for one in self.scores if one.normalised is not None]
        if len(normalised) == len(self.scores):
            means = [each.mean(axis=1) for each in normalised]
            made.append(self._table("The same on each game's scale", normalised, "mean", means, digits=3))
        trained = [one.train for one in self.scores if one.train is not None]
        if len(trained) == len(self.scores):
            gaps = [train - test for train, test in zip(trained, tests, strict=True)]
            made.append(self._table("Return on training levels", trained, "", [], digits=1))
            caption = "Generalisation gap: return on training levels minus that on unseen ones"
            made.append(self._table(caption, gaps, "", [], digits=1, best=lambda values: -values))
        return tuple(made)

    def _table(
        self,
        caption: str,
        figures: list[np.ndarray],
        name: str,
        sums: list[np.ndarray],
        digits: int,
        best: Callable[[np.ndarray], np.ndarray] = lambda values: values,
    ) -> Table:
        rows = [self._row(game, [x[:, i] for x in figures], digits, best) for i, game in enumerate(self.games)]
        rows += [self._row(name, sums, digits, best)] if name else []
        columns = ("game", *(one.method.label + f" (n = {len(one.test)})" for one in self.scores))
        return Table(caption, columns, tuple(rows), last_apart=bool(name))

    def _row(
        self, name: str, samples: list[np.ndarray], digits: int, best: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[Cell, ...]:
        marks = not_told_from_best([best(sample) for sample in samples])
        cells = [
            Cell(f"{sample.mean():.{digits}f} ± {sample.std():.{digits}f}", mark)
            for sample, mark in zip(samples, marks, strict=True)
        ]
        return row(name, *cells)

    def notes(self, bold: str = "Bold") -> tuple[str, ...]:
        """What a reader has to know about the figures, in sentences."""
        notes = ["±: the standard deviation over runs (of the population, as in the thesis)."]
        if len(self.scores) > 1 and min(len(one.test) for one in self.scores) > 1:
            notes.append(f"{bold}: not told from the best by Welch's t-test over runs (p = 0.05), unless all are.")
        if len(set(self.steps)) > 1:
            notes.append("The runs were evaluated after different numbers of steps.")
        low, high = min(self.episodes), max(self.episodes)
        notes.append(f"Each figure of a run is of {low if low == high else f'{low} to {high}'} episodes.")
        return tuple(notes)

    def text(self) -> str:
        """For a terminal."""
        parts = [f"{table.caption}\n{to_text(table)}" for table in self.tables()]
        return "\n\n".join([*parts, "\n".join(self.notes(bold="In brackets"))])


def over_games(
    paths: Sequence[Path | str], suite: str = "", against: str = "", warn: Warn = lambda sentence: None
) -> OverGames:
    """Compare runs that differ in their game, by their newest evaluations on a suite: their own, or one that is named.

    The baseline is the method called ``against``, or else the first.
    """
    runs = read_runs(paths, warn)
    for run in runs:
        if GAME not in run.settings.values:
            raise UserError(f"{run.path} is of {run.settings.environment}, which has no games; leave out --over-games.")
    suite = suite or runs[0].settings.train.suite
    for run in runs:
        require(
            suite in run.suites,
            f"{run.path} was not evaluated on {suite} (but on {', '.join(run.suites)}); make that evaluation: "
            f"tutelage eval {run.path} --suite {suite}.",
        )
    methods = methods_of(runs, GAME)
    games = tuple(dict.fromkeys(_game(run) for run in runs))
    scores = tuple(_scores(method, games, suite) for method in methods)
    chosen = [one for one in scores if against in ("", one.method.label, one.method.name)]
    if not chosen:
        raise unknown("method in these runs", against, [method.label for method in methods])
    last = [run.last(suite) for run in runs]
    return OverGames(suite, games, chosen[0], scores, tuple(x.steps for x in last), tuple(x.episodes for x in last))


def _game(run: RunRecord) -> str:
    return run.settings.values[GAME]


def _scores(method: Method, games: tuple[str, ...], suite: str) -> GameScores:
    by_game = {game: [run for run in method.runs if _game(run) == game] for game in games}
    numbers = {game: len(runs) for game, runs in by_game.items()}
    require(
        len(set(numbers.values())) == 1,
        f"{method.label} has different numbers of runs: {', '.join(f'{n} of {g}' for g, n in numbers.items())}; "
        "give as many of each game.",
    )
    records = [[run.last(suite) for run in runs] for runs in zip(*by_game.values(), strict=True)]

    def figures(value: Callable[[EvaluationRecord, str], float | None]) -> np.ndarray | None:
        found = [[value(record, game) for record, game in zip(run, games, strict=True)] for run in records]
        return None if any(x is None for run in found for x in run) else np.array(found, np.float64)

    def normalised(record: EvaluationRecord, game: str) -> float | None:
        return _unseen(record, game).normalised

    def train(record: EvaluationRecord, game: str) -> float | None:
        others = [score for name, score in record.tasks.items() if name.startswith(f"{game}-")]
        return others[0].mean_return if len(others) == 1 else None

    test = np.array([[_unseen(r, g).mean_return for r, g in zip(run, games, strict=True)] for run in records])
    return GameScores(method, test, figures(train), figures(normalised))


def _unseen(record: EvaluationRecord, game: str) -> TaskScore:
    if game not in record.tasks:
        raise UserError(
            f"The evaluations on {record.suite} have no task {game}, which is that of unseen levels; "
            "give another with --suite, such as fresh."
        )
    return record.tasks[game]
