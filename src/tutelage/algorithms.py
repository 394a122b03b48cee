"""Every method as a composition of curricula, and nothing else. The only place that knows methods by name.

Imports of JAX wait until a method is built, so that listing the methods is instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import UserError, unknown
from .settings import AccelSettings, DRSettings, PLRSettings, PPOSettings, ReplaySettings

if TYPE_CHECKING:
    from .curricula.base import Curriculum
    from .curricula.replay import Replay
    from .envs.base import Room


@dataclass(frozen=True)
class Parts:
    """What methods are composed from."""

    room: Room
    levels: int
    ppo: PPOSettings


@dataclass(frozen=True)
class Method:
    """A way to choose what students train on."""

    name: str
    summary: str
    settings: type
    build: Callable[[Any, Parts], Curriculum]
    students: int = 1


def _replay(base: Curriculum, replay: ReplaySettings, parts: Parts, learn_from_new: bool) -> Replay:
    from .curricula.buffer import LevelBuffer
    from .curricula.replay import Replay
    from .scores import Score

    return Replay(
        base,
        LevelBuffer(replay.capacity, replay.prioritisation, replay.temperature, replay.staleness, replay.duplicates),
        Score(replay.score, parts.ppo.discount, parts.ppo.gae_lambda, parts.room.success),
        levels=parts.levels,
        rate=replay.rate,
        schedule=replay.schedule,
        min_fill=replay.min_fill,
        learn_from_new=learn_from_new,
    )


def dr(settings: DRSettings, parts: Parts) -> Curriculum:
    """Domain randomisation: every batch is new, and learned from."""
    from .curricula.random import Random

    return Random(parts.room.space.sample, parts.levels)


def plr(settings: PLRSettings, parts: Parts) -> Curriculum:
    """Prioritised level replay: random levels and replayed ones, all learned from."""
    return _replay(dr(DRSettings(), parts), settings.replay, parts, learn_from_new=True)


def robust_plr(settings: PLRSettings, parts: Parts) -> Curriculum:
    """Robust PLR: random levels are only scored; what is learned comes from replay."""
    return _replay(dr(DRSettings(), parts), settings.replay, parts, learn_from_new=False)


def accel(settings: AccelSettings, parts: Parts) -> Curriculum:
    """ACCEL: robust PLR whose replayed levels are edited into new ones."""
    from .curricula.evolve import Evolve
    from .curricula.random import Random

    evolve, room = settings.evolve, parts.room
    if evolve.start == "empty" and room.empty is None:
        raise UserError("This environment has no empty levels to start from; set evolve.start to random.")
    start = room.empty if evolve.start == "empty" and room.empty is not None else room.space.sample
    return Evolve(
        _replay(Random(start, parts.levels), settings.replay, parts, learn_from_new=False),
        edit=(lambda key, level: room.space.edit(key, level, evolve.edits))
        if evolve.editor == "random"
        else (lambda key, level: room.space.sample(key)),
        levels=parts.levels,
        criterion=evolve.criterion,
        parents=evolve.parents,
        rate=evolve.rate,
        inherit=evolve.editor != "none",
    )


METHODS = {
    method.name: method
    for method in [
        Method("dr", "domain randomisation: random levels, all learned from", DRSettings, dr),
        Method("plr", "prioritised level replay: random and replayed levels, all learned from", PLRSettings, plr),
        Method("robust-plr", "replay that learns only from replayed levels (PLR⊥)", PLRSettings, robust_plr),
        Method("accel", "robust replay whose levels are edited into harder ones", AccelSettings, accel),
    ]
}


def method(name: str) -> Method:
    """Look up a method."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
