"""Stochastic Fruit Choice in MiniHack as one thing."""

from __future__ import annotations

import json

from ...hosts.simulator import Maker
from ..base import Domain
from ..fruit import domain as fruit
from ..minihack.engine import MOVES
from ..minihack.hosted import host, hosted
from ..minihack.install import require_minihack
from .settings import MiniHackFruitSettings

ACTIONS = len(MOVES) + 2
"""The moves, kick and eat."""


def build(settings: MiniHackFruitSettings) -> Domain:
    """The levels of ``fruit``, played in MiniHack."""
    require_minihack()
    arguments = {
        "max_steps": settings.max_steps,
        "apple": settings.apple,
        "penalty": settings.penalty,
        "calendar": settings.calendar,
    }
    maker = Maker("tutelage.envs.minihack_fruit.simulator", "simulator", json.dumps(arguments))
    return hosted(fruit.build(settings), host(maker, ACTIONS, settings, hides=True), settings.stats)
