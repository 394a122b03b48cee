"""Ours beside what was published, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..evaluation.statistics import Statistic, estimate, iqm, mean, relative, standard_error
from ..report.tables import Table, row, to_markdown, to_text
from . import published
from .catalogue import Exhibit, Source
from .results import StudyResult

LEVEL = 0.95


def beside(chosen: Exhibit, source: Source, result: StudyResult) -> Table:
    """A row for each published one and the mean of all tasks: each of our groups, and the published column of it."""
    figures = published.printed(chosen.name)
    members: dict[str, list[str]] = {}
    for task in result.tasks:
        members.setdefault(source.row(task), []).append(task)

    def cells(tasks: Sequence[str], printed: Sequence[str]) -> Iterator[str]:
        for group in result.groups:
            yield _ours(chosen, result, group, tasks)
            column = source.columns.get(group)
            if column:
                found = [figures[name, column] for name in printed if (name, column) in figures]
                yield str(found[0]) if found else "–"

    rows = [row(name, *cells(tasks, (name,))) for name, tasks in members.items()]
    rows.append(row("mean of tasks", *cells(result.tasks, (published.MEAN,))))
    if {*members, published.RELATIVE} == set(published.tasks(chosen.name)):
        rows.append(row(published.RELATIVE, *_relative(chosen, source, result)))
    columns = ["task"]
    for group in result.groups:
        columns.append(f"{group} (n = {len(result.of(group))})")
        column = source.columns.get(group)
        if column:
            runs = next((figure.runs for (_, name), figure in figures.items() if name == column), 0)
            columns.append(f"thesis {column} (n = {runs})")
    caption = f"{chosen.title}: {_unit(chosen)} on {result.suite}, mean ± standard error over seeds"
    return Table(caption, tuple(columns), tuple(rows), last_apart=True)


def summary(chosen: Exhibit, source: Source, result: StudyResult) -> Table:
    """All tasks together, with intervals where there are seeds enough."""
    figures = published.printed(chosen.name)
    rows = []
    for group in result.groups:
        scores = result.scores(group, result.tasks, chosen.measure)
        column = source.columns.get(group, "")
        steps = sorted({run.steps for run in result.of(group)})
        rows.append(
            row(
                group,
                str(len(scores)),
                " to ".join(f"{step / 1e6:.3g}" for step in dict.fromkeys((steps[0], steps[-1]))),
                _interval(scores, mean),
                _interval(scores, iqm),
                str(figures.get((published.MEAN, column), "–")),
            )
        )
    columns = ("method", "n", "steps, millions", f"mean [{LEVEL:.0%}]", f"IQM [{LEVEL:.0%}]", "thesis, mean")
    return Table(f"{chosen.title}: all tasks of {result.suite}", columns, tuple(rows))


def notes(chosen: Exhibit, result: StudyResult) -> tuple[str, ...]:
    """What a reader has to know about the figures."""
    said = [
        f"Study {result.study}, {len(result.runs)} of {result.planned} runs finished, {result.began} to "
        f"{result.ended}, version {result.version}; {min(run.episodes for run in result.runs)} episodes on each task "
        "with the last student of each run.",
        f"[a, b]: an interval of {LEVEL:.0%} from a stratified bootstrap over seeds; none where there is one seed.",
    ]
    if chosen.says:
        said.append(chosen.says)
    kinds = {figure.kind for figure in published.printed(chosen.name).values() if figure.kind}
    if kinds == {"sd"}:
        said.append("Published figures: mean ± standard deviation over runs.")
    elif kinds:
        said.append("Published figures: mean ± standard error over runs.")
    return tuple(said)


def text(chosen: Exhibit, source: Source, result: StudyResult) -> str:
    """For a terminal."""
    tables = [f"{table.caption}\n{to_text(table)}" for table in _tables(chosen, source, result)]
    return "\n\n".join([*tables, "\n".join(notes(chosen, result))])


def markdown(chosen: Exhibit, source: Source, result: StudyResult) -> str:
    """For a page."""
    tables = [f"{table.caption}\n\n{to_markdown(table)}" for table in _tables(chosen, source, result)]
    return "\n\n".join([*tables, *notes(chosen, result)])


def printed_table(name: str) -> Table:
    """A published table alone."""
    figures = published.printed(name)
    columns = published.methods(name)
    rows = [
        row(task, *(str(figures[task, column]) if (task, column) in figures else "–" for column in columns))
        for task in published.tasks(name)
    ]
    return Table(f"{name}, as published", ("task", *columns), tuple(rows))


def _tables(chosen: Exhibit, source: Source, result: StudyResult) -> tuple[Table, Table]:
    return beside(chosen, source, result), summary(chosen, source, result)


def _unit(chosen: Exhibit) -> str:
    return "solved rate" if chosen.measure == "solved" else "return"


def _ours(chosen: Exhibit, result: StudyResult, group: str, tasks: Sequence[str]) -> str:
    values = result.scores(group, tasks, chosen.measure).mean(axis=1)
    digits = 2 if np.abs(values).max() < 10 else 0
    spread = f" ± {standard_error(values):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def _relative(chosen: Exhibit, source: Source, result: StudyResult) -> Iterator[str]:
    """Of each group the mean over tasks in percent of the first group's, with what was published."""
    figures = published.printed(chosen.name)
    baseline = result.scores(result.groups[0], result.tasks, chosen.measure)
    for group in result.groups:
        percent = 100 * relative(result.scores(group, result.tasks, chosen.measure), baseline)
        spread = f" ± {standard_error(percent):.1f}" if len(percent) > 1 else ""
        yield f"{percent.mean():.1f}{spread}"
        column = source.columns.get(group)
        if column:
            yield str(figures.get((published.RELATIVE, column), "–"))


def _interval(scores: np.ndarray, statistic: Statistic) -> str:
    digits = 2 if np.abs(scores).max() < 10 else 0
    if len(scores) == 1:
        return f"{float(statistic(scores)):.{digits}f}"
    found = estimate(scores, statistic, LEVEL)
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
