"""A domain of ours played in MiniHack: the same levels and suites, another environment and other eyes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...hosts.environment import HostEnvironment
from ...hosts.fields import Field
from ...hosts.play import by_name
from ...hosts.settings import HostSettings
from ...hosts.simulator import Maker
from ...rl.glyphs import GlyphObs, Glyphs
from ...types import Discrete
from ..base import Domain, Suite, Suites, Viewer
from .engine import SCREEN, STATS, X, Y
from .simulator import Simulator

GLYPHS = 5976
"""NetHack's glyphs are numbered from 0 to this, without it (nle 1.3.0)."""

TILE = 16
"""Pixels a side of one of NetHack's tiles."""

Stats = Literal["raw", "scaled"]

_SCALE = np.array(
    [79, 21, 25, 125, 25, 25, 25, 25, 25, 1000, 20, 20, 10, 100, 20, 20, 10, 10, 10, 100, 250, 5, 5, 10, 10, 1000, 10],
    np.float32,
)
"""Of each of NetHack's numbers, about the largest that is seen here."""


def see(obs: Mapping[str, Array], stats: Stats) -> GlyphObs:
    """An observation as the glyph encoder looks at it."""
    numbers = obs["blstats"].astype(jnp.float32)
    where = jnp.stack([obs["blstats"][:, X], obs["blstats"][:, Y]], axis=-1)
    return GlyphObs(obs["glyphs"], where, numbers / _SCALE if stats == "scaled" else numbers)


def host(maker: Maker, actions: int, settings: HostSettings, hides: bool = False) -> HostEnvironment:
    """A simulator of ``simulator.Simulator`` as an environment."""
    seen = (Field("blstats", (STATS,), "int32"), Field("glyphs", SCREEN, "int16"))
    return HostEnvironment(maker, seen, Discrete(actions), settings.workers, settings.patience, hides)


def hosted(domain: Domain, env: HostEnvironment, stats: Stats) -> Domain:
    """A domain whose levels are played in another environment. Pictures of levels are the domain's own, those of
    episodes are NetHack's.
    """
    viewer = domain.viewer
    assert viewer is not None

    def played(name: str) -> Suite:
        suite = domain.suites[name]
        return Suite(suite.name, tuple(replace(task, env=env) for task in suite.tasks))

    return replace(
        domain,
        env=env,
        encoder=lambda eyes: Glyphs(eyes, GLYPHS, partial(see, stats=stats)),
        suites=Suites(tuple(domain.suites), played),
        viewer=Viewer(viewer.text, viewer.parse, viewer.picture, partial(frames, make=env.maker.having(pictures=True))),
    )


def frames(level: Any, states: Mapping[str, np.ndarray], make: Callable[[], Simulator]) -> Iterator[np.ndarray]:
    """An episode, played again, in NetHack's tiles: what the hero sees and remembers of the level."""
    simulator, named = make(), by_name(level)
    try:
        simulator.reset(seed=int(states["seed"][0]), options={"level": named})
        engine = simulator.engine
        left, top = (int(engine.stats[i] - named["start"][i]) for i in (X, Y))
        height, width = named["tiles"].shape
        window = slice(TILE * top, TILE * (top + height)), slice(TILE * left, TILE * (left + width))
        shown, over = engine.picture()[window], False
        yield shown
        for action in states["action"][:-1].tolist():
            if not over:
                _, _, over, _, _ = simulator.step(action)
                shown = shown if over else engine.picture()[window]  # whoever has died sees nothing
            yield shown
    finally:
        simulator.close()
