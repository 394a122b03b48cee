"""Pictures of levels and of episodes, as Procgen draws them for people: larger than what a student sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import require
from .games import GameName, Mode
from .images import averaged
from .level import Level, make
from .states import make as make_game
from .states import states

PACE = 1000 // 15
"""Milliseconds a frame: Procgen's games are made for 15 steps a second."""

SHRUNK = 2
"""Procgen draws 512 pixels a side. Half of them show as much."""


@lru_cache(maxsize=4)
def _screen(game: GameName, mode: Mode) -> Any:
    return make_game(game, mode, render_mode="rgb_array")


def _start(level: Level, game: GameName, mode: Mode) -> Any:
    env = _screen(game, mode)
    state = states(game, mode, 100).of(int(make(int(level.seed)).seed))
    env.call_c_func("set_state", 0, state, len(state))
    return env


def _drawn(env: Any) -> np.ndarray:
    env.observe()
    picture = env.get_info()[0]["rgb"]
    return averaged(picture, len(picture) // SHRUNK)


def picture(level: Level, game: GameName, mode: Mode) -> np.ndarray:
    """A level at its start."""
    return _drawn(_start(level, game, mode))


def frames(level: Level, states: Mapping[str, np.ndarray], game: GameName, mode: Mode) -> Iterator[np.ndarray]:
    """A recorded episode, played again: ``states`` has every ``action``, and one more. Where the rules have ended it,
    the last picture is the one before: Procgen starts anew at once.
    """
    actions = np.asarray(states["action"])
    require(
        actions.ndim == 1 and len(actions) > 0, f"The actions have the shape {list(actions.shape)}; give [steps + 1]."
    )
    env = _start(level, game, mode)
    shown = _drawn(env)
    yield shown
    for action in actions[:-1]:
        env.act(np.array([action], np.int32))
        shown = shown if env.observe()[2][0] else _drawn(env)
        yield shown
