"""Methods side by side: every task, all tasks together, and how sure one can be of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..envs.published import Figure, Published
from ..envs.registry import ENVIRONMENTS
from ..errors import require
from ..evaluation.statistics import (
    Estimate,
    estimate,
    estimate_improvement,
    iqm,
    mean,
    standard_error,
    welch,
)
from .records import Measure, Method, Study, Warn, method_called, read, settings_that_differ
from .tables import Cell, Table, row, to_text

LEVEL = 0.95
FEWEST = 3
"""Seeds that an interval or a test needs at least. Of two, a bootstrap draws one of four samples."""
SIGNIFICANT = 0.05

NAMES: dict[Measure, str] = {"solved": "solved rate", "return": "return"}


class Range(NamedTuple):
    """A figure, with the ends of its interval where three seeds or more were trained."""

    value: float
    ends: tuple[float, float] | None

    def __str__(self) -> str:
        return f"{self.value:.2f}" + (f" [{self.ends[0]:.2f}, {self.ends[1]:.2f}]" if self.ends else "")


class Spread(NamedTuple):
    """A mean over seeds, with its standard error where there is more than one."""

    mean: float
    error: float | None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + (f" ± {self.error:.2f}" if self.error is not None else "")


class MethodResult(NamedTuple):
    """A method beside the others."""

    method: Method
    steps: tuple[int, ...]
    """Of each run, when it was evaluated."""
    tasks: dict[str, Spread]
    overall: Spread
    """Of the runs' means over tasks."""
    mean: Range
    iqm: Range
    improvement: Range | None
    """The probability that a run scores higher than one of the reference; None for the reference itself, and without
    three seeds on each side.
    """
    p: float | None
    """Welch's test of the runs' means over tasks against the reference; None without three seeds on each side."""

    improves: bool
    """Its mean is higher than the reference's."""

    @property
    def better(self) -> bool:
        """Significantly, than the reference."""
        return self.p is not None and self.p < SIGNIFICANT and self.improves


class Comparison(NamedTuple):
    """All that is said about methods on a suite."""

    study: Study
    measure: Measure
    level: float
    reference: Method
    standings: tuple[MethodResult, ...]
    published: tuple[Published, ...]

    def table(self) -> Table:
        """Every task, and their mean. Published figures are beside the methods that they are about."""
        rows = [
            self._row(
                task, [own.tasks[task] for own in self.standings], [other.tasks.get(task) for other in self.published]
            )
            for task in self.study.tasks
        ]
        stars = ["*" if standing.better else "" for standing in self.standings]
        overall = [standing.overall for standing in self.standings]
        rows.append(self._row("mean of tasks", overall, [column.mean for column in self.published], stars))
        columns = ("task", *(standing.method.titled for standing in self.standings))
        columns += tuple(f"published {column.label} (n = {column.runs})" for column in self.published)
        several = any(standing.method.n > 1 for standing in self.standings)
        spread = ", mean ± standard error over seeds" if several else ""
        caption = f"{NAMES[self.measure].capitalize()} on {self.study.suite}{spread}"
        return Table(caption, columns, tuple(rows), last_apart=True)

    def _row(
        self, name: str, figures: list[Spread], published: Sequence[Figure | None], stars: Sequence[str] = ()
    ) -> tuple[Cell, ...]:
        marks = stars or [""] * len(figures)
        ours = [Cell(f"{figure}{star}", bold) for figure, star, bold in zip(figures, marks, best(figures), strict=True)]
        theirs = [
            f"{figure.mean:.{column.digits}f} ± {figure.error:.{column.digits}f}" if figure else "–"
            for figure, column in zip(published, self.published, strict=True)
        ]
        return row(name, *ours, *theirs)

    def summary(self) -> Table:
        """All tasks together."""
        interval = f" [{100 * self.level:g}%]" if self._seeds_enough else ""
        rows = []
        for standing in self.standings:
            other = standing.method is not self.reference
            versus = (str(standing.improvement or "–"), _p_value(standing.p)) if other else ("reference", "–")
            rows.append(
                row(
                    standing.method.label,
                    str(standing.method.n),
                    _millions(standing.steps),
                    str(standing.mean),
                    str(standing.iqm),
                    *(versus if len(self.standings) > 1 else ()),
                )
            )
        columns = ("method", "n", "steps, millions", f"mean{interval}", f"IQM{interval}")
        if len(self.standings) > 1:
            columns += (f"P(better than {self.reference.label}){interval}", "Welch p")
        caption = f"{NAMES[self.measure].capitalize()} over all tasks of {self.study.suite}"
        return Table(caption, columns, tuple(rows))

    @property
    def _seeds_enough(self) -> bool:
        """For some interval."""
        return any(standing.method.n >= FEWEST for standing in self.standings)

    def notes(self, bold: str = "Bold") -> tuple[str, ...]:
        """What a reader has to know about the figures, in sentences. ``bold`` is what bold figures look like."""
        notes = []
        if len(self.standings) > 1 and any(standing.method.n > 1 for standing in self.standings):
            notes.append(f"{bold}: within one standard error of the best mean.")
        if any(standing.p is not None for standing in self.standings):
            notes.append(
                f"*: a higher mean of tasks than {self.reference.label}, p < {SIGNIFICANT} by Welch's t-test over "
                "seeds (two-sided, not corrected for several comparisons)."
            )
        notes.append("IQM: the mean without the lowest and the highest quarter of all runs and tasks.")
        if self._seeds_enough:
            notes.append(f"[a, b]: an interval of {100 * self.level:g}%, from a stratified bootstrap over seeds.")
        if alone := [standing.method.label for standing in self.standings if standing.method.n == 1]:
            notes.append(
                f"n = 1 for {', '.join(alone)}: one seed says nothing about the spread over seeds, "
                "so there is no standard error, no interval and no test."
            )
        if two := [standing.method.label for standing in self.standings if standing.method.n == 2]:
            notes.append(
                f"n = 2 for {', '.join(two)}: too few seeds for an interval or a test; train at least {FEWEST}."
            )
        if len({steps for standing in self.standings for steps in standing.steps}) > 1:
            notes.append(
                "The runs were evaluated after different numbers of steps: what differs may be the training time."
            )
        episodes = sorted({run.last(self.study.suite).episodes for run in self.study.runs})
        played = f"{episodes[0]}" if len(episodes) == 1 else f"{episodes[0]} to {episodes[-1]}"
        notes.append(f"Each run played {played} episodes on each task, at its newest evaluation.")
        if different := settings_that_differ(self.study):
            words = [f"{name} ({', '.join(values)})" for name, values in different.items()]
            notes.append(f"The methods also differ in settings that they share: {'; '.join(words)}.")
        for column in self.published:
            played = f", {column.episodes} episodes each" if column.episodes else ""
            notes.append(f"Published {column.label}: {column.budget}, {column.runs} runs{played}.")
        return tuple(notes)

    def text(self) -> str:
        """For a terminal."""
        return "\n\n".join(
            (
                f"{self.table().caption}\n{to_text(self.table())}",
                f"{self.summary().caption}\n{to_text(self.summary())}",
                "\n".join(self.notes(bold="In brackets")),
            )
        )


def best(figures: Sequence[Spread]) -> list[bool]:
    """Which are within one standard error, the best one's, of the best mean. None where all are, or where the best has
    one seed and so no such error: bold would say nothing.
    """
    top = max(figures, key=lambda figure: figure.mean)
    if top.error is None:
        return [False] * len(figures)
    near = [figure.mean >= top.mean - top.error - 1e-12 for figure in figures]
    return [is_near and not all(near) for is_near in near]


def compare(
    paths: Sequence[Path | str],
    suite: str = "",
    measure: Measure | None = None,
    against: str = "",
    level: float | None = None,
    warn: Warn = lambda sentence: None,
) -> Comparison:
    """Compare runs, groups of seeds or whole studies by their newest evaluations on a suite.

    The measure is the solved rate; without one, the return where nothing was solved yet. The reference is the method
    called ``against``, without a name the first. Intervals are of 95% where there are three seeds or more; to ask for a
    ``level`` is to insist on them. ``warn`` hears of records that are wrong and left out.
    """
    return comparison(read(paths, suite, warn), measure, against, level)


def telling(study: Study) -> Measure:
    """The solved rate, or the return where no run has solved anything."""
    solved = any(task.solved > 0 for run in study.runs for task in run.last(study.suite).tasks.values())
    return "solved" if solved else "return"


def _figures(environment: str) -> tuple[Published, ...]:
    """Of an environment of ours. One of somebody else's would have to be run to be asked."""
    return ENVIRONMENTS[environment].published if environment in ENVIRONMENTS else ()


def comparison(
    study: Study, measure: Measure | None = None, against: str = "", level: float | None = None
) -> Comparison:
    """Compare what was read."""
    measure = measure or telling(study)
    if level is not None:
        require(
            0 < level < 1,
            f"The confidence level of an interval is {level}; give a number between 0 and 1, such as 0.95.",
        )
        for method in study.methods:
            require(
                method.n >= FEWEST,
                f"An interval was asked for, and {method.label} has {'one seed' if method.n == 1 else '2 seeds'} "
                f"({method.runs[0].path}), too few to tell the spread over seeds; train at least {FEWEST} of it, or "
                "leave --interval out.",
            )
    reference = method_called(study, against) if against else study.methods[0]
    standings = tuple(_standing(study, method, reference, measure, level or LEVEL) for method in study.methods)
    names = {method.name for method in study.methods}
    published = tuple(
        column
        for column in _figures(study.environment)
        if column.measure == measure
        and column.suite == study.suite
        and column.method in names
        and (not column.tasks or set(study.tasks) <= set(column.tasks))
    )
    return Comparison(study, measure, level or LEVEL, reference, standings, published)


def scores(study: Study, method: Method, measure: Measure) -> np.ndarray:
    """``[runs, tasks]``, from each run's newest evaluation."""
    last = [run.last(study.suite) for run in method.runs]
    return np.array([[record.tasks[task].value(measure) for task in study.tasks] for record in last])


def _standing(study: Study, method: Method, reference: Method, measure: Measure, level: float) -> MethodResult:
    mine, theirs = scores(study, method, measure), scores(study, reference, measure)
    both = min(method.n, reference.n) >= FEWEST
    other = method is not reference
    enough = method.n >= FEWEST
    return MethodResult(
        method=method,
        steps=tuple(run.last(study.suite).steps for run in method.runs),
        tasks={task: _spread(mine[:, column]) for column, task in enumerate(study.tasks)},
        overall=_spread(mine.mean(axis=1)),
        mean=_range(estimate(mine, mean, level)) if enough else Range(float(mean(mine)), None),
        iqm=_range(estimate(mine, iqm, level)) if enough else Range(float(iqm(mine)), None),
        improvement=_range(estimate_improvement(mine, theirs, level)) if other and both else None,
        p=welch(mine.mean(axis=1), theirs.mean(axis=1)).p if other and both else None,
        improves=bool(mine.mean() > theirs.mean()),
    )


def _spread(values: np.ndarray) -> Spread:
    return Spread(float(values.mean()), standard_error(values) if len(values) > 1 else None)


def _range(figure: Estimate) -> Range:
    return Range(figure.value, (figure.low, figure.high))


def _p_value(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _millions(steps: Sequence[int]) -> str:
    low, high = (f"{count / 1e6:.3g}" for count in (min(steps), max(steps)))
    return low if low == high else f"{low} to {high}"
