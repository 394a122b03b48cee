"""From the names of an environment and a method to settings: a preset's recommendations, and what the method insists
on.

No JAX here.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import reduce
from typing import Any

from .config import override, rebuilt
from .envs.presets import Preset
from .envs.registry import environment
from .errors import require, unknown
from .methods.base import Method
from .methods.registry import built_in, find
from .plugins import absolute, label
from .settings import AUTO, Settings


def preset(environment_name: str, method: str, name: str = "") -> Settings:
    """The settings of a preset for a method; without a name, the environment's default."""
    entry = environment(environment_name)
    name = name or entry.default_preset
    if name not in entry.presets:
        raise unknown(f"preset of {environment_name}", name, entry.presets)
    return compose(entry.name, absolute(method), entry.presets[name], find(method))


def compose(environment_name: str, method_name: str, chosen: Preset, method: Method) -> Settings:
    """A preset and a method together. Where both speak of a setting, the method's word counts. The preset's ``adapt``
    has the last one, except for what the method is not itself without (``Method.insists``).
    """
    curriculum = sections_of(method, chosen)
    train = replace(chosen.train, training_set=chosen.training_set if method.finite else chosen.train.training_set)
    settings = Settings(
        environment=environment_name,
        method=method_name,
        env=chosen.env,
        encoder=chosen.encoder,
        network=chosen.network,
        ppo=chosen.ppo,
        curriculum=curriculum,
        train=train,
    )
    changes = {_full(curriculum, key): value for key, value in chosen.adapt(curriculum).items()}
    settings = rebuilt(settings, changes | dict(method.insists))
    if chosen.updates:
        train = settings.train
        batches = chosen.updates * method.batches_per_update(settings.curriculum, train.levels)
        settings = replace(settings, train=replace(train, steps=round(batches * train.levels * train.rollout)))
    others = {part.name for other in built_in().values() for part in fields(other.settings)}
    absent = others - {part.name for part in fields(curriculum)}
    return override(settings, {k: v for k, v in chosen.overrides.items() if k.partition(".")[0] not in absent})


def sections_of(method: Method, chosen: Preset) -> Any:
    """A method's settings, with the values that a preset recommends for its sections."""
    recommended = {type(section): section for section in chosen.sections}
    values = {}
    for part in fields(method.settings):
        kind = part.metadata.get("section")
        if kind in recommended:
            values[part.name] = replace(recommended[kind], **part.metadata["insists"])
    return method.settings(**values)


def _full(curriculum: Any, name: str) -> str:
    own = {part.name for part in fields(curriculum)}
    return f"curriculum.{name}" if name.partition(".")[0] in own else name


def check_insists(settings: Settings) -> None:
    """Refuse settings that a method is not itself with."""
    for name, value in find(settings.method).insists.items():
        given = reduce(getattr, name.split("."), settings)
        require(
            given == value,
            f"{name} is {given}, and the method {label(settings.method)} insists on {value}; "
            "leave it out, or choose another method.",
        )


EVALUATIONS = 40
"""Of a run, where nobody says how many: enough for a curve."""
FEWEST_EPISODES = 4
"""On each task of an evaluation, where nobody says how many."""


def evaluation_interval(settings: Settings) -> int:
    """Iterations between two evaluations; 0 for none but the last."""
    every = settings.train.evaluate_every
    return every if every != AUTO else max(1, round(iterations(settings) / EVALUATIONS))


def evaluation_episodes(settings: Settings, iteration: int) -> int:
    """Episodes on each task in the evaluation after an iteration.

    Where nobody says how often to evaluate, those of the first quarter of a run play a quarter of the episodes, so that
    the first figures come soon. Fewer than four say too little. They are the first of the episodes that later
    evaluations play.
    """
    train = settings.train
    early = train.evaluate_every == AUTO and 4 * iteration < iterations(settings)
    return min(train.episodes, max(FEWEST_EPISODES, train.episodes // 4)) if early else train.episodes


def iterations(settings: Settings) -> int:
    """The length of a run: as many iterations as the environment steps of one student need, on all its levels."""
    train = settings.train
    return math.ceil(train.steps / (train.levels * train.rollout))
