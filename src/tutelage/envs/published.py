"""Figures from the literature, to be set beside one's own."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A mean over runs and its standard error."""

    mean: float
    error: float


class Published(NamedTuple):
    """One column of a published table of solved rates."""

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
    mean: Figure | None = None
    """Over all tasks, where that was printed."""
