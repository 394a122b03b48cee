"""The maze as one thing."""

from __future__ import annotations

from functools import partial

from ..base import Design, Domain, Levels, Rules, Suites, Viewer
from .design import DesignEncoder, MazeDesign, MazeEditing
from .env import Maze
from .level import from_ascii, to_ascii
from .network import MazeEncoder
from .render import frames, picture, shown
from .settings import MazeSettings
from .space import MazeSpace, fewest_actions
from .suites import suite, suite_names


def build(settings: MazeSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    space = MazeSpace(settings.size, settings.blocks, settings.block_count, settings.edit_rule)
    env = Maze(settings.max_steps, settings.view, settings.see_through_walls, settings.reward)
    return Domain(
        env=env,
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            easy=space.empty,
            design=Design(
                encoder=lambda eyes, task: DesignEncoder(eyes.filters, eyes.time, task.steps),
                build=MazeDesign(settings.size, settings.blocks),
                edit=lambda edits: MazeEditing(settings.size, edits),
            ),
        ),
        encoder=lambda eyes: MazeEncoder(eyes.filters, eyes.direction),
        suites=Suites(tuple(suite_names()), partial(suite, settings=settings)),
        rules=Rules(optimum=lambda level: env.payment(fewest_actions(level)), limit=settings.max_steps),
        viewer=Viewer(
            text=lambda level: to_ascii(shown(level)),
            parse=from_ascii,
            picture=picture,
            frames=partial(frames, view=settings.view),
        ),
    )
