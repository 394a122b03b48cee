"""The maze as one thing."""

from __future__ import annotations

from functools import partial

from ..base import Domain
from .design import DesignEncoder, MazeDesign, MazeEditing
from .env import Maze
from .level import to_ascii
from .network import MazeEncoder
from .render import animate_episode, gallery
from .settings import MazeSettings
from .space import MazeSpace, fewest_actions
from .suites import suite, suite_names


def build(settings: MazeSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    space = MazeSpace(settings.size, settings.blocks, settings.block_count)
    env = Maze(settings.max_steps, settings.view, settings.see_through_walls, settings.reward)
    return Domain(
        env=env,
        space=space,
        encoder=lambda network: MazeEncoder(network.filters, network.direction),
        suite=partial(suite, settings=settings),
        suites=tuple(suite_names()),
        empty=space.empty,
        optimum=lambda level: env.payment(fewest_actions(level)),
        design=MazeDesign(settings.size, settings.blocks),
        editing=lambda edits: MazeEditing(settings.size, edits),
        design_encoder=lambda teacher, task: DesignEncoder(teacher.filters, teacher.time, task.steps),
        to_text=to_ascii,
        gallery=gallery,
        animate=partial(animate_episode, view=settings.view),
    )
