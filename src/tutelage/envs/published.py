"""Figures from the literature, to be set beside one's own."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Figure(NamedTuple):
    """A mean over runs and its standard error."""

    mean: float
    error: float


class Published(NamedTuple):
    """One column of a published table."""

    suite: str
    method: str
    """The method's name here."""
    label: str
    """The column's name there."""
    runs: int
    budget: str
    """What it was trained on, and for how long."""
    digits: int
    """Digits after the point, as printed there."""
    tasks: dict[str, Figure]
    """Empty where only the mean over tasks was published."""
    mean: Figure | None = None
    """Over all tasks, where that was printed."""
    measure: Literal["solved", "return"] = "solved"
    episodes: int | None = 100
    """That each run played on each task, where that was said."""
