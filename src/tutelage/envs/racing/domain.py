"""Racing as one thing."""

from __future__ import annotations

from functools import partial

import jax

from ..base import Brought, Design, Domain, Environment, Levels, Rules, Suites, Viewer
from ..editing import Control, Controls, TrackEditor
from ..wrappers import ActionRepeat, FrameStack
from .design import DesignEncoder, RacingDesign, free_cells
from .env import Racing, TrainingTracks, padded
from .ice import IcyRacing
from .level import REACH, RacingLevel, from_text
from .network import eyes
from .render import frames, outline, picture, text
from .settings import RacingSettings
from .space import RacingSpace
from .suites import suite, suite_names
from .view import View

CONTROLS = Controls(
    (
        Control("steer left", ("ArrowLeft", "a"), (-1.0, 0.0, 0.0)),
        Control("steer right", ("ArrowRight", "d"), (1.0, 0.0, 0.0)),
        Control("gas", ("ArrowUp", "w"), (0.0, 2.0, 0.0)),
        Control("brake", ("ArrowDown", "s"), (0.0, 0.0, 1.6)),
    ),
    rest=(0.0, -1.0, -1.0),
)

SOLVED = 500.0
"""Half of a track. Gymnasium asks for 900, which is a whole lap within the time limit: few students ever do it."""


def build(settings: RacingSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    icy = settings.ice == "beta"
    view = View(settings.resolution, settings.grey, settings.samples)
    ice = (icy, settings.ice_alpha, settings.ice_beta)
    tracks = TrainingTracks(settings.max_steps, settings.start == "east")
    training = Racing(view, tracks, settings.shaping, settings.patience)
    space = RacingSpace(*ice)

    def decided(env: Racing | IcyRacing) -> Environment:
        return FrameStack(ActionRepeat(env, settings.repeat), settings.frames)

    held_out = decided(Racing(view))
    course = jax.jit(lambda level: padded(tracks.course(level)))

    def brought(level: RacingLevel) -> Brought:
        return Brought(held_out, jax.device_get(course(level)), settings.decisions)

    tasks = partial(suite, env=held_out, tracks=tracks, space=space, repeat=settings.repeat)
    return Domain(
        env=decided(IcyRacing(training, *ice[1:]) if icy else training),
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            easy=space.easy,
            design=Design(
                encoder=lambda eyes, task: DesignEncoder(eyes.time), build=RacingDesign(*ice), allowed=free_cells
            ),
        ),
        encoder=partial(eyes, resolution=settings.resolution),
        suites=Suites(suite_names(), tasks),
        rules=Rules(success=SOLVED, limit=settings.decisions, hide="" if icy else "set env.ice to beta"),
        viewer=Viewer(
            text=partial(text, tracks),
            parse=from_text,
            picture=partial(picture, tracks),
            frames=partial(frames, tracks, view.channels),
            pace=20 * settings.repeat,
            actions=("steer", "gas", "brake"),
            editor=TrackEditor(partial(outline, tracks), REACH),
            controls=CONTROLS,
        ),
        brought=brought,
    )
