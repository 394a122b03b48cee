"""What every environment's presets share: a method's settings from the pieces that a table gives. No JAX here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..errors import unknown
from ..settings import (
    AccelSettings,
    AdversarySettings,
    AlpGmmSettings,
    DRSettings,
    EvolveSettings,
    PairedSettings,
    PLRSettings,
    RepairedSettings,
    ReplaySettings,
    TeacherSettings,
    TsclSettings,
)


def curriculum(
    method: str,
    replay: ReplaySettings,
    teacher: TeacherSettings,
    evolve: EvolveSettings | None = None,
    accel_rate: float = 0.8,
    repaired_rate: float = 0.95,
) -> Any:
    """The settings of a method. ``replay`` is PLR's; ACCEL and REPAIRED replay at rates of their own."""
    evolve = evolve or EvolveSettings()
    repaired = replace(replay, rate=repaired_rate, relative=True)
    table: dict[str, Callable[[], Any]] = {
        "dr": DRSettings,
        "plr": lambda: PLRSettings(replay),
        "robust-plr": lambda: PLRSettings(replay),
        "accel": lambda: AccelSettings(replace(replay, rate=accel_rate), evolve, teacher),
        "minimax": lambda: PairedSettings(AdversarySettings("minimax", students=1), teacher),
        "paired": lambda: PairedSettings(AdversarySettings("regret", students=2), teacher),
        "population-paired": lambda: PairedSettings(AdversarySettings("population-regret", students=4), teacher),
        "repaired": lambda: RepairedSettings(repaired, AdversarySettings("regret", students=2), teacher),
        "tscl": TsclSettings,
        "alp-gmm": AlpGmmSettings,
    }
    if method not in table:
        raise unknown("method", method, table)
    return table[method]()


def training_set(method: str, size: int) -> int:
    """TSCL alone cannot do without a training set; ``size`` is best what replay's buffer would hold."""
    return size if method == "tscl" else 0


def steps(method: str, updates: int, batch: int, accel_rate: float = 0.8) -> int:
    """Environment steps for so many student updates on batches of so many steps, as in chapter 5's comparison.

    Robust PLR and ACCEL learn from replayed levels only, but what else they play counts as well: new levels, and for
    ACCEL the edits that follow every replay.
    """
    played = {"robust-plr": 2.0, "accel": (1 + accel_rate) / accel_rate}.get(method, 1.0)
    return int(played * updates * batch)
