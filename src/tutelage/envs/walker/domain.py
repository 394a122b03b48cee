"""The walker as one thing."""

from __future__ import annotations

import json
from functools import partial

from ...errors import UserError
from ...hosts.environment import HostEnvironment
from ...hosts.fields import Field
from ...hosts.simulator import Maker
from ...rl.encoders import Vector
from ..base import Continuous, Design, Domain, Levels, Rules, Suites, Viewer
from ..editing import Control, Controls, Slider, SliderEditor
from .design import DesignEncoder, WalkerDesign
from .level import (
    DIFFICULTIES,
    PAIRS,
    PARAMETERS,
    POET,
    SOLVED,
    STAIR_STEPS,
    Level,
    difficulty,
    from_text,
    to_text,
)
from .settings import WalkerSettings
from .space import WalkerSpace
from .suites import suite, suite_names

OBSERVATION, JOINTS = 24, 4

CONTROLS = Controls(
    tuple(
        Control(f"{joint} {way}", (key,), tuple(sign * float(at == index) for at in range(JOINTS)))
        for index, (joint, keys) in enumerate((("hip 1", "qa"), ("knee 1", "ws"), ("hip 2", "ol"), ("knee 2", "pk")))
        for way, key, sign in (("forward", keys[0], 1.0), ("back", keys[1], -1.0))
    ),
    rest=(0.0,) * JOINTS,
)


def _editor(stairs: bool) -> SliderEditor:
    shown = PARAMETERS if stairs else PARAMETERS[:POET]
    return SliderEditor(
        "parameters",
        tuple(
            Slider(one.name.replace("-", " "), one.low, one.high, 1.0 if index == STAIR_STEPS else 0.1)
            for index, one in enumerate(shown)
        ),
        tuple(pair for pair in PAIRS if max(pair) < len(shown)),
        seed="seed",
        switch="hardcore",
    )


def build(settings: WalkerSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    _require_box2d()
    from .render import PACE, frames, picture, seen, snapshot

    space = WalkerSpace(settings.stairs)
    arguments = {"max_steps": settings.max_steps, "stair_steps": settings.stair_steps}
    env = HostEnvironment(
        Maker("tutelage.envs.walker.simulator", "Walker", json.dumps(arguments)),
        (Field("", (OBSERVATION,), "float32"),),
        Continuous(JOINTS),
        settings.workers,
        settings.patience,
    )

    return Domain(
        env=env,
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            easy=space.easy,
            vectors=space.vectors,
            design=Design(encoder=lambda eyes, task: DesignEncoder(task.steps), build=WalkerDesign(space)),
        ),
        encoder=lambda eyes: Vector(),
        suites=Suites(suite_names(), partial(suite, env=env, space=space, max_steps=settings.max_steps)),
        rules=Rules(success=SOLVED, limit=settings.max_steps),
        viewer=Viewer(
            text=to_text,
            parse=from_text,
            picture=partial(picture, stair_steps=settings.stair_steps),
            frames=partial(frames, stair_steps=settings.stair_steps),
            pace=PACE,
            seen=seen,
            snapshot=snapshot,
            actions=("hip 1", "knee 1", "hip 2", "knee 2"),
            editor=_editor(settings.stairs),
            controls=CONTROLS,
        ),
        measured=_measured,
    )


def _measured(level: Level) -> dict[str, str]:
    """Of one level: POET's class by name, where the metrics of many have the share of each."""
    known = "hardcore" if level.hardcore else DIFFICULTIES[int(difficulty(level))]
    return {"difficulty": known.replace("-", " ")}


def _require_box2d() -> None:
    try:
        import Box2D  # noqa: F401
        import gymnasium  # noqa: F401
    except ImportError:
        raise UserError(
            "The walker needs Gymnasium and Box2D, which are not installed: pip install 'tutelage[walker]'."
        ) from None
