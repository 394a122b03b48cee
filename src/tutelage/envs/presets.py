"""A preset: what an environment recommends, whatever the method. No JAX here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..settings import NetworkSettings, NoSettings, PPOSettings, TrainSettings


def _as_it_is(curriculum: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Preset:
    """Settings for an environment. It names no method: ``compose`` puts the two together."""

    summary: str
    env: Any
    network: NetworkSettings
    ppo: PPOSettings
    train: TrainSettings
    encoder: Any = field(default_factory=NoSettings)
    sections: tuple[Any, ...] = ()
    """Recommended values for sections that a method may have, such as ``ReplaySettings(capacity=1000)``."""
    updates: int = 0
    """Length of a run in student updates; ``train.steps`` follows from what a method plays for each. 0: as it is there.
    """
    training_set: int = 0
    """Levels of a training set, for methods that cannot do without one; best what replay's buffer would hold."""
    adapt: Callable[[Any], Mapping[str, Any]] = _as_it_is
    """Changes by dotted name, from the sections of a method's settings as they were composed: for what a published
    table says of one kind of method and not of another.
    """
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Last of all, settings by dotted name as text. Those of sections that a method does not have are passed over."""
