"""A game of NetHack as a Gymnasium environment that takes its level when it is reset. No JAX here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import Env, spaces

from ...errors import require
from .engine import SCREEN, STATS, TURN, Calendar, Engine

Level = Mapping[str, np.ndarray]
"""The arrays of a level by name."""


class Played(NamedTuple):
    """A step, as far as it is told before and after it what was going on."""

    key: int
    """The key that was pressed."""
    asked: bytes
    """The question that it answered, or nothing."""
    still: bool
    """Game time has not gone on."""
    over: bool
    """The game is over: the hero has died."""


class Task(Protocol):
    """What a game is about."""

    @property
    def keys(self) -> tuple[int, ...]:
        """By action."""
        ...

    def describe(self, level: Level) -> str:
        """A level in MiniHack's language."""
        ...

    def hide(self, level: Level, random: np.random.Generator) -> Any:
        """What the student is not told about an episode on this level."""
        ...

    def judge(self, step: Played, engine: Engine, hidden: Any, random: np.random.Generator) -> tuple[float, bool]:
        """The reward of a step, and whether the task is done. (Death ends an episode too.)"""
        ...


class Simulator(Env):
    """Episodes of at most ``max_steps`` steps. The seed and the level decide everything; by the calendar ``clock``, the
    date too.
    """

    observation_space = spaces.Dict(
        {
            "blstats": spaces.Box(-(2**31), 2**31 - 1, (STATS,), np.int32),
            "glyphs": spaces.Box(0, 2**15 - 1, SCREEN, np.int16),
        }
    )

    def __init__(self, task: Task, max_steps: int, calendar: Calendar = "seed", pictures: bool = False) -> None:
        self.task, self.engine = task, Engine(calendar, pictures)
        self.action_space = spaces.Discrete(len(task.keys))
        self._max_steps, self._time, self._hidden = max_steps, 0, None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        require(
            options is not None and "level" in options and seed is not None,
            "An episode starts with a seed and a level: reset(seed=..., options={'level': ...}).",
        )
        assert options is not None
        assert seed is not None
        super().reset(seed=seed)
        level = options["level"]
        self.engine.start(self.task.describe(level), seed)
        self._time, self._hidden = 0, self.task.hide(level, self.np_random)
        return self.engine.observation, {}

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        engine, key = self.engine, self.task.keys[action]
        turn, asked = engine.stats[TURN], engine.asked
        over = engine.press(key)
        self._time += 1
        played = Played(key, asked, bool(turn == engine.stats[TURN]), over)
        reward, done = self.task.judge(played, engine, self._hidden, self.np_random)
        return engine.observation, reward, over or done, self._time >= self._max_steps, {}

    def close(self) -> None:
        self.engine.close()
