"""The maze as one thing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from ...types import Metrics
from ..base import Brought, Design, Domain, Levels, Rules, Suites, Viewer
from ..editing import Control, Controls, GridEditor, Tile
from .design import DesignEncoder, MazeDesign, MazeEditing
from .env import FORWARD, LEFT, RIGHT, HeldOutMaze, Maze, Trial, payment
from .level import HEADINGS, MazeLevel, from_ascii, to_ascii
from .network import MazeEncoder
from .render import frames, picture, seen, shown
from .settings import MazeSettings
from .space import MazeSpace, fewest_actions
from .suites import PADDED, PerfectMaze, perfect_size, suite, suite_names

ACTIONS = ("left", "right", "forward", "pick up", "drop", "toggle", "done")
EDITOR = GridEditor(
    palette=(
        Tile(".", "floor", "--cell-floor"),
        Tile("#", "wall", "--cell-wall"),
        Tile("G", "goal", "--cell-goal", unique=True),
        Tile(">", "agent", "--cell-agent", unique=True, directions=tuple(HEADINGS)),
    ),
    border="#",
    smallest=4,
    largest=PADDED[-1] + 2,
)
CONTROLS = Controls(
    (
        Control("turn left", ("ArrowLeft", "a"), LEFT),
        Control("turn right", ("ArrowRight", "d"), RIGHT),
        Control("forward", ("ArrowUp", "w"), FORWARD),
    )
)


def optimum(env: Maze, level: MazeLevel | Trial) -> Float[Array, ""]:
    """The return of the fewest actions that lead to the goal, under the level's own limit if it has one."""
    if isinstance(level, Trial):
        return payment(env.reward, fewest_actions(level.level), level.max_steps)
    return env.payment(fewest_actions(level))


def brought(settings: MazeSettings, level: MazeLevel) -> Brought:
    """A maze that somebody drew: padded to one of a few sizes, so that mazes of any shape run as one program. One that
    is larger than those trained on may take as long as the drawn held-out ones.
    """
    side = max(level.walls.shape)
    limit = settings.max_steps if side <= settings.size else 2 * (side + 2) ** 2
    trial = Trial(_padded(level), np.int32(limit), np.bool_(settings.see_through_walls))  # pyright: ignore[reportArgumentType]
    return Brought(HeldOutMaze(settings.view, settings.reward), trial, limit)


def measured(metrics: Callable[[MazeLevel], Metrics], level: MazeLevel) -> dict[str, Any]:
    """What ``metrics`` says of a maze that somebody drew. Walls around it are in nobody's way, but do not count."""
    found, more = metrics(_padded(level)), _padded(level).walls.size - level.walls.size
    return {**found, "blocks": found["blocks"] - more}


def _padded(level: MazeLevel) -> MazeLevel:
    height, width = level.walls.shape
    room = next((size for size in PADDED if size >= max(height, width)), max(height, width))
    walls: Any = np.pad(np.asarray(level.walls), ((0, room - height), (0, room - width)), constant_values=True)
    return level._replace(walls=walls)


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
        rules=Rules(optimum=partial(optimum, env), limit=settings.max_steps),
        viewer=Viewer(
            text=lambda level: to_ascii(shown(level)),
            parse=from_ascii,
            picture=picture,
            frames=partial(frames, view=settings.view),
            seen=seen,
            actions=ACTIONS,
            editor=EDITOR,
            controls=CONTROLS,
            generators=(("empty", space.empty), ("perfect", PerfectMaze(perfect_size(settings.size)))),
        ),
        brought=partial(brought, settings),
        measured=partial(measured, jax.jit(space.metrics)),
    )
