"""A hidden game as one thing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...errors import UserError, unknown
from ..base import Box, Design, Domain, Levels, Rules, Suite, Suites, Task, Vectors, Viewer
from . import solve
from .env import AsSeen, HiddenGame, TileDesign, Tiles, TileSpace
from .settings import Game, HiddenGameSettings, game

SUITES = ("true", "levels")


@dataclass(frozen=True)
class _Always:
    level: solve.History

    def __call__(self, key: PRNGKeyArray) -> Tiles:
        return jnp.array(self.level, bool)


def _suite(name: str, game: Game) -> Suite:
    """``true``: levels of the true distribution. ``levels``: every level."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    env, number = HiddenGame(game), game.number
    if name == "true":
        return Suite(name, (Task("true", env, TileSpace(game).sample, number),))
    return Suite(
        name, tuple(Task(_text(level, game, "-"), env, _Always(level), number) for level in solve.levels(game))
    )


def _text(level: Tiles | solve.History, game: Game, between: str = " ") -> str:
    return between.join(game.tiles[int(tile)] for tile in np.asarray(level))


def _parse(text: str, game: Game) -> Tiles:
    words = text.split()
    if len(words) != game.number or not set(words) <= set(game.tiles):
        known = ", ".join(f"'{_text(level, game)}'" for level in solve.levels(game))
        raise UserError(f"'{text}' is not a level of this game; give one of {known}.")
    return jnp.array([word == game.tiles[1] for word in words])


def build(settings: HiddenGameSettings) -> Domain:
    """A game, its levels, and the choice between them."""
    chosen = game(settings)
    space, number = TileSpace(chosen), chosen.number
    return Domain(
        env=HiddenGame(chosen),
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            vectors=Vectors(Box((0.0,) * number, (1.0,) * number), space.at),
            design=Design(encoder=lambda eyes, task: AsSeen(), build=TileDesign(number)),
        ),
        encoder=lambda eyes: AsSeen(),
        suites=Suites(SUITES, partial(_suite, game=chosen)),
        rules=Rules(
            optimum=space.optimum,
            resampled_optimum=space.resampled_optimum,
            grounded_optimum=space.grounded_optimum,
            limit=number,
        ),
        viewer=Viewer(text=partial(_text, game=chosen), parse=partial(_parse, game=chosen)),
    )
