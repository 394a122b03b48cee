"""Procgen as one thing."""

from __future__ import annotations

import json
from functools import partial

from ...hosts.environment import HostEnvironment
from ...hosts.fields import Field
from ...hosts.simulator import Maker
from ...rl.encoders import encoder
from ..base import Discrete, Domain, Levels, Rules, Suites, Viewer
from .games import ACTIONS, GAMES, GameName
from .level import from_text, to_text
from .render import PACE, frames, picture
from .settings import ProcgenSettings
from .states import procgen
from .suites import Seeds, numbered, suite, suite_names


def build(settings: ProcgenSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    procgen()  # says what to do where it is missing

    def play(game: GameName) -> HostEnvironment:
        limit = settings.limit if game == settings.game else GAMES[game].limit
        arguments = {
            "game": game,
            "mode": settings.mode,
            "limit": limit,
            "resolution": settings.resolution,
            "cache": settings.cache,
        }
        return HostEnvironment(
            Maker("tutelage.envs.procgen.simulator", "Procgen", json.dumps(arguments), batched=True),
            (Field("", (settings.resolution, settings.resolution, 3), "uint8"),),
            Discrete(ACTIONS),
            settings.workers,
            settings.patience,
        )

    env = play(settings.game)
    low, high = GAMES[settings.game].range(settings.mode)
    return Domain(
        env=env,
        levels=Levels(sample=Seeds(), numbered=numbered),
        encoder=lambda eyes: encoder(eyes, env.observation_spec),
        suites=Suites(suite_names(), partial(suite, settings=settings, play=play)),
        # Games that pay for reaching a goal are solved by who reaches it; others by who gets half of what there is.
        rules=Rules(success=(low + high) / 2, limit=settings.limit),
        viewer=Viewer(
            text=to_text,
            parse=from_text,
            picture=partial(picture, game=settings.game, mode=settings.mode),
            frames=partial(frames, game=settings.game, mode=settings.mode),
            pace=PACE,
        ),
    )
