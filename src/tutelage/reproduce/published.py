"""The thesis's tables as they are printed there. Data only: `published.csv`, a line for each figure. No JAX here."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .catalogue import PACKAGE

MEAN = "Mean"
"""The row that is a mean of others, in their unit."""
RELATIVE = "Norm. mean (%)"
"""The row that is a mean of others, each in percent of the first column's."""
MEANS = (MEAN, RELATIVE)
"""Rows that sum up others."""


class Printed(NamedTuple):
    """A figure of a table."""

    table: str
    task: str
    method: str
    measure: str
    text: str
    """As it is printed, so that its digits say how exact it is."""
    spread: str
    kind: str
    """Of the spread: ``se``, ``sd``, or nothing."""
    runs: int

    @property
    def mean(self) -> float:
        return float(self.text)

    def __str__(self) -> str:
        return f"{self.text} ± {self.spread}" if self.spread else self.text


@cache
def printed(table: str) -> dict[tuple[str, str], Printed]:
    """A table by row and column. Where a table has two measures, the first counts."""
    found: dict[tuple[str, str], Printed] = {}
    text = files(PACKAGE).joinpath("published.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        if line["table"] == table:
            figure = Printed(
                table,
                line["task"],
                line["method"],
                line["measure"],
                line["mean"],
                line["spread"],
                line["spread_kind"],
                int(line["runs"]),
            )
            found.setdefault((figure.task, figure.method), figure)
    return found


def tasks(table: str) -> tuple[str, ...]:
    """Rows in their order, those that sum up others last."""
    rows = dict.fromkeys(task for task, _ in printed(table))
    return tuple(sorted(rows, key=lambda task: task in MEANS))


def methods(table: str) -> tuple[str, ...]:
    """Columns in their order."""
    return tuple(dict.fromkeys(method for _, method in printed(table)))
