"""LavaGrid in MiniHack as one thing."""

from __future__ import annotations

import json

from ...hosts.simulator import Maker
from ..base import Domain
from ..lava import domain as lava
from ..minihack.engine import MOVES
from ..minihack.hosted import host, hosted
from ..minihack.install import require_minihack
from .settings import MiniHackLavaSettings


def build(settings: MiniHackLavaSettings) -> Domain:
    """The levels of ``lava``, played in MiniHack."""
    require_minihack()
    arguments = {"max_steps": settings.max_steps, "penalty": settings.penalty}
    maker = Maker("tutelage.envs.minihack_lava.simulator", "simulator", json.dumps(arguments))
    return hosted(lava.build(settings), host(maker, len(MOVES), settings), settings.stats)
