"""Stochastic Fruit Choice as one thing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from ...rl.glyphs import Glyphs
from ...types import Metrics
from ..base import Domain, Levels, Rules, Suites, Viewer
from .drawing import ACTIONS, CONTROLS, EDITOR
from .env import Fruit
from .level import AGENT, FruitLevel, from_text, to_text
from .render import frames, picture, seen
from .settings import FruitSettings
from .solve import optimum
from .space import FruitSpace
from .suites import NAMES, suite


def build(settings: FruitSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    space = FruitSpace(settings.size, settings.rooms, settings.longest, settings.apple)
    env = Fruit(settings.apple, settings.penalty, settings.max_steps)
    return Domain(
        env=env,
        levels=Levels(sample=space.sample, metrics=space.metrics, easy=space.easy),
        encoder=lambda eyes: Glyphs(eyes, AGENT + 1),
        suites=Suites(NAMES, partial(suite, env=env, space=space)),
        # Solved: the right fruit, which pays more than all penalties.
        rules=Rules(
            optimum=partial(optimum, penalty=settings.penalty, max_steps=settings.max_steps), limit=settings.max_steps
        ),
        viewer=Viewer(
            text=to_text,
            parse=partial(from_text, size=settings.size),
            picture=picture,
            frames=frames,
            seen=seen,
            actions=ACTIONS,
            editor=EDITOR,
            controls=CONTROLS,
        ),
        measured=partial(_measured, jax.jit(space.metrics)),
    )


def _measured(metrics: Callable[[FruitLevel], Metrics], level: FruitLevel) -> dict[str, Any]:
    """Of one level: the fruit that pays by name, where the metrics of many have a share."""
    found = dict(metrics(level))
    return {"paying_fruit": "apple" if found.pop("apple") else "banana"} | found
