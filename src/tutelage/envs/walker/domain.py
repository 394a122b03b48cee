"""The walker as one thing."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ...hosts.environment import HostEnvironment
from ...hosts.simulator import Maker
from ...rl.networks import Flat
from ..base import Continuous, Domain
from .design import DesignEncoder, WalkerDesign
from .level import SOLVED, Level, to_text
from .settings import WalkerSettings
from .space import WalkerSpace
from .suites import suite, suite_names

OBSERVATION, JOINTS = 24, 4


def build(settings: WalkerSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    _require_box2d()
    from .render import animate, gallery

    space = WalkerSpace(settings.stairs)
    arguments = {"max_steps": settings.max_steps, "stair_steps": settings.stair_steps}
    env = HostEnvironment(
        Maker("tutelage.envs.walker.simulator", "Walker", json.dumps(arguments)),
        (OBSERVATION,),
        "float32",
        Continuous(JOINTS),
        settings.workers,
        settings.patience,
    )

    def play_again(level: Level, states: Any, path: Path) -> None:
        # As the simulator takes them: what lies beyond the bounds is cut off. After the last there is none.
        animate(level, np.clip(states["action"][:-1], -1.0, 1.0), path, stair_steps=settings.stair_steps)

    return Domain(
        env=env,
        space=space,
        encoder=lambda network: Flat(),
        suite=partial(suite, env=env, space=space, max_steps=settings.max_steps),
        suites=suite_names(),
        empty=space.easy,
        success=SOLVED,
        parameters=space.parameters,
        design=WalkerDesign(space),
        design_encoder=lambda teacher, task: DesignEncoder(task.steps),
        to_text=to_text,
        gallery=partial(gallery, stair_steps=settings.stair_steps),
        animate=play_again,
    )


def _require_box2d() -> None:
    try:
        import Box2D  # noqa: F401
        import gymnasium  # noqa: F401
    except ImportError:
        raise UserError(
            "The walker needs Gymnasium and Box2D, which are not installed: pip install 'tutelage[walker]'."
        ) from None
