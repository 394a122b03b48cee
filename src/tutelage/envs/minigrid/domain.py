"""The rooms of chapter 3 as one thing."""

from __future__ import annotations

from functools import partial

import jax

from ..base import Domain, Levels, Rules, Suites, Viewer
from ..editing import GridEditor
from .drawing import ACTIONS, CONTROLS, palette
from .env import ROOM, MiniGrid
from .level import from_text, to_text
from .multiroom import MOST
from .network import CropEncoder, GridEncoder
from .render import frames, picture, seen
from .settings import MiniGridEncoderSettings, MiniGridSettings
from .solve import fewest_actions
from .space import GridSpace
from .suites import limit, suite, suite_names


def environment(space: GridSpace, show_carried: bool = False) -> MiniGrid:
    """Time limits are MiniGrid's: 20 steps a room, or 4 steps a cell of all rooms in play."""
    if not space.ball:
        return MiniGrid(20 * MOST, show_carried=show_carried)
    return MiniGrid(4 * 2 * ROOM**2, 4 * 4 * ROOM**2, ball=True, show_carried=show_carried)


def eyes_of(eyes: MiniGridEncoderSettings) -> CropEncoder | GridEncoder:
    """The student's eyes: what is around it, or the whole grid."""
    if eyes.crop:
        return CropEncoder(eyes.crop, eyes.embedding, eyes.features)
    return GridEncoder(eyes.filters, eyes.pool, eyes.one_hot)


def build(settings: MiniGridSettings) -> Domain:
    """A task, its levels and its suites from settings."""
    space = GridSpace(settings.task, settings.lost_keys)
    env = environment(space, settings.show_carried)
    return Domain(
        env=env,
        levels=Levels(sample=space.sample, metrics=space.metrics),
        encoder=eyes_of,
        suites=Suites(suite_names(space), partial(suite, env=env, space=space)),
        rules=Rules(
            optimum=None if space.ball else lambda level: env.payment(fewest_actions(level), level),
            limit=limit(env, len(space.difficulties) - 1),
        ),
        viewer=Viewer(
            text=to_text,
            parse=partial(from_text, size=space.size, ball=space.ball),
            picture=picture,
            frames=frames,
            seen=seen,
            actions=ACTIONS,
            editor=GridEditor(palette(space.ball), words=True),
            controls=CONTROLS,
            generators=(("empty", space.empty),),
        ),
        measured=jax.jit(space.measured),
    )
