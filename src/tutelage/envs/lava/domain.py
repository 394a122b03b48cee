"""LavaGrid as one thing."""

from __future__ import annotations

from functools import partial

from ...rl.glyphs import Glyphs
from ..base import Design, Domain, Levels, Rules, Suites, Viewer
from ..editing import Control, Controls, GridEditor, Tile
from ..maze.design import DesignEncoder
from .design import LavaDesign, LavaEditing
from .env import PENALTY, Lava
from .level import AGENT, from_text, to_text
from .render import frames, picture, seen
from .settings import LavaSettings
from .space import LavaSpace, optimum
from .suites import suite, suite_names

ACTIONS = ("north", "east", "south", "west", "north-east", "south-east", "south-west", "north-west")
EDITOR = GridEditor(
    (
        Tile(".", "floor", "--cell-floor"),
        Tile("}", "lava", "--cell-lava"),
        Tile("#", "wall", "--cell-wall"),
        Tile("<", "start", "--cell-agent", unique=True),
        Tile(">", "goal", "--cell-goal", unique=True),
    )
)
# NetHack's keys, and arrows for the four that have one.
_KEYS = (
    ("ArrowUp", "k"), ("ArrowRight", "l"), ("ArrowDown", "j"), ("ArrowLeft", "h"), ("u",), ("n",), ("b",), ("y",),
)  # fmt: skip
CONTROLS = Controls(tuple(Control(name, keys, i) for i, (name, keys) in enumerate(zip(ACTIONS, _KEYS, strict=True))))


def build(settings: LavaSettings) -> Domain:
    """An environment, its levels and its suites from settings."""
    space = LavaSpace(settings.size, settings.tiles, settings.tile_count)
    env = Lava(settings.penalty, settings.max_steps)
    # Who gets to the goal ends above this, whatever it paid on the way, and nobody else does.
    success = 0.0 if settings.penalty == "bumps" else PENALTY / 2
    return Domain(
        env=env,
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            easy=space.empty,
            design=Design(
                encoder=lambda eyes, task: DesignEncoder(eyes.filters, eyes.time, task.steps),
                build=LavaDesign(settings.size, settings.tiles),
                edit=lambda edits: LavaEditing(settings.size, edits),
            ),
        ),
        encoder=lambda eyes: Glyphs(eyes, AGENT + 1),
        suites=Suites(suite_names(space), partial(suite, env=env, space=space)),
        rules=Rules(
            success=success,
            optimum=partial(optimum, penalty=settings.penalty, max_steps=settings.max_steps),
            limit=settings.max_steps,
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
            generators=(("empty", space.empty),),
        ),
    )
