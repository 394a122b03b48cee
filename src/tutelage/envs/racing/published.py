"""The returns that were published for the Formula One circuits (Jiang 2023, chapters 4 and 6). Data only."""

from __future__ import annotations

from ..published import Figure, Published

# A row is a circuit; its numbers are the mean and the standard error of each column in turn, as printed.
_F1 = {
    "Australia": "484 29  100 22  414 27  545 23  692 15",
    "Austria": "409 21  92 24  345 19  442 18  615 13",
    "Bahrain": "298 27  -35 19  295 23  411 22  590 15",
    "Belgium": "328 16  72 20  293 19  327 15  474 12",
    "Brazil": "309 23  76 18  256 19  387 17  455 13",
    "China": "115 24  -101 9  7 18  84 20  228 24",
    "France": "279 32  -81 13  240 29  290 35  478 22",
    "Germany": "274 23  -33 16  272 22  388 20  499 18",
    "Hungary": "465 32  98 29  414 29  533 26  708 17",
    "Italy": "461 27  132 24  371 25  588 20  625 12",
    "Malaysia": "236 25  -26 17  200 17  283 20  400 18",
    "Mexico": "458 33  67 31  415 30  561 21  712 12",
    "Monaco": "268 28  -28 18  256 26  360 32  486 19",
    "Netherlands": "328 26  70 20  307 21  418 21  419 25",
    "Portugal": "324 27  -49 13  265 21  407 15  483 13",
    "Russia": "382 30  51 21  419 25  479 24  649 14",
    "Singapore": "336 29  -35 14  274 21  386 22  566 15",
    "Spain": "433 24  134 24  358 24  482 17  622 14",
    "UK": "393 28  138 25  380 22  456 16  538 17",
    "USA": "263 31  -119 11  120 25  243 28  381 33",
    "Mean": "341 22  19 15  293 18  408 12  534 7",
}
# A row is a suite: with ice, only means over all circuits were published.
_ICY = {
    "icy-f1-beta": "581 23  543 21  618 6  616 6",
    "icy-f1-0.2": "332 63  323 60  363 15  393 13",
    "icy-f1-0.4": "94.7 41  43 38  75 39  195 11",
    "icy-f1-0.6": "-76.3 24  -115 12  -79 25  -1 17",
    "icy-f1-0.8": "-131.1 11  -151 6.0  -139 9  -111 7",
}
_F1_COLUMNS = (
    ("dr", "DR"),
    ("paired", "PAIRED"),
    ("repaired", "REPAIRED"),
    ("plr", "PLR"),
    ("robust-plr", "PLR⊥"),
)
_ICY_COLUMNS = (
    ("dr", "DR"),
    ("robust-plr", "PLR⊥"),
    ("robust-plr", "naive grounding"),
    ("samplr", "SAMPLR"),
)
_RUNS = 10
_DECISIONS = "5M decisions"


def _figures(row: str) -> list[Figure]:
    numbers = [float(number) for number in row.split()]
    return [Figure(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def _f1() -> list[Published]:
    rows = {name: _figures(row) for name, row in _F1.items()}
    found = []
    for column, (method, label) in enumerate(_F1_COLUMNS):
        tasks = {name: figures[column] for name, figures in rows.items()}
        mean = tasks.pop("Mean")
        found.append(Published("f1", method, label, _RUNS, _DECISIONS, 0, tasks, mean, "return", 10))
    return found


def _icy() -> list[Published]:
    budget = f"{_DECISIONS} on tracks with ice, q ~ Beta(1, 15)"
    return [
        Published(suite, method, label, _RUNS, budget, 0, {}, figure, "return", None)
        for suite, row in _ICY.items()
        for (method, label), figure in zip(_ICY_COLUMNS, _figures(row), strict=True)
    ]


PUBLISHED: tuple[Published, ...] = (*_f1(), *_icy())
"""Circuits are named as here. Their layouts and the lengths of their tiles differ: see docs/racing.md."""
