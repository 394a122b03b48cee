"""Levels to be tested on: unseen ones, and those of a training set."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import jax
from jaxtyping import Array, Int, PRNGKeyArray

from ...errors import unknown
from ...hosts.environment import HostEnvironment
from ..base import Suite, Task
from .games import GAMES, GameName
from .level import LEVELS, Level
from .settings import ProcgenSettings


@dataclass(frozen=True)
class Seeds:
    """Levels whose seeds are below a number, all equally likely."""

    number: int = LEVELS

    def __call__(self, key: PRNGKeyArray) -> Level:
        return numbered(jax.random.randint(key, (), 0, self.number))


def numbered(number: Int[Array, ""]) -> Level:
    """The level of a number: its seed."""
    return Level(number)


def suite_names() -> tuple[str, ...]:
    """Every suite; others are ``train-N`` and ``gap-N``, for training sets of any number N of levels."""
    return ("fresh", "train-200", "train-500", "gap-200", "gap-500", "procgen", *GAMES)


def suite(name: str, settings: ProcgenSettings, play: Callable[[GameName], HostEnvironment]) -> Suite:
    """A suite of the game of these settings, of another game, or of all. ``play`` gives the environment of a game."""

    def task(game: GameName, called: str = "", seeds: Seeds = Seeds()) -> Task:  # noqa: B008
        limit = settings.limit if game == settings.game else GAMES[game].limit
        return Task(called or game, play(game), seeds, limit, GAMES[game].range(settings.mode))

    game = settings.game
    if name == "procgen":
        return Suite(name, tuple(map(task, GAMES)))
    if name in GAMES or name == "fresh":
        return Suite(name, (task(game if name == "fresh" else name),))
    sized = re.fullmatch(r"(train|gap)-([1-9]\d*)", name)
    if sized is None or int(sized[2]) > LEVELS:
        raise unknown("suite", name, suite_names())
    trained = task(game, f"{game}-{sized[2]}", Seeds(int(sized[2])))
    return Suite(name, (trained,) if sized[1] == "train" else (task(game), trained))
