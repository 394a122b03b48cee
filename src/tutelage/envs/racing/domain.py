"""Racing as one thing."""

from __future__ import annotations

from functools import partial

import jax

from ..base import Brought, Design, Domain, Environment, Levels, Rules, Suites, Viewer
from ..wrappers import ActionRepeat, FrameStack
from .design import DesignEncoder, RacingDesign
from .env import HeldOutRacing, IcyRacing, Racing, padded
from .level import RacingLevel, from_text
from .network import eyes
from .render import frames, picture, text
from .settings import RacingSettings
from .space import RacingSpace
from .suites import suite, suite_names
from .view import View

SOLVED = 500.0
"""Half of a track. Gymnasium asks for 900, which is a whole lap within the time limit: few students ever do it."""


def build(settings: RacingSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    icy = settings.ice == "beta"
    view = View(settings.resolution, settings.grey, settings.samples)
    rules = (view, settings.max_steps, settings.patience, settings.shaping, settings.start == "east")
    ice = (icy, settings.ice_alpha, settings.ice_beta)
    training = IcyRacing(*rules, *ice[1:]) if icy else Racing(*rules)
    space = RacingSpace(*ice)

    def decided(env: Racing | HeldOutRacing) -> Environment:
        return FrameStack(ActionRepeat(env, settings.repeat), settings.frames)

    held_out = decided(HeldOutRacing(view))
    course = jax.jit(lambda level: padded(training.course(level)))

    def brought(level: RacingLevel) -> Brought:
        return Brought(held_out, jax.device_get(course(level)), settings.decisions)

    tasks = partial(suite, env=held_out, training=training, space=space, repeat=settings.repeat)
    return Domain(
        env=decided(training),
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            easy=space.easy,
            design=Design(encoder=lambda eyes, task: DesignEncoder(eyes.time), build=RacingDesign(*ice)),
        ),
        encoder=partial(eyes, resolution=settings.resolution),
        suites=Suites(suite_names(), tasks),
        rules=Rules(success=SOLVED, limit=settings.decisions),
        viewer=Viewer(
            text=partial(text, training),
            parse=from_text,
            picture=partial(picture, training),
            frames=partial(frames, training, view.channels),
            pace=20 * settings.repeat,
        ),
        brought=brought,
    )
