"""What a method is. No JAX here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..settings import PPOSettings

if TYPE_CHECKING:
    from ..curricula.base import Curriculum
    from ..devices import Devices
    from ..envs.base import Domain


@dataclass(frozen=True)
class Parts:
    """What a method is composed from."""

    domain: Domain
    levels: int
    """Of a batch."""
    rollout: int
    """Steps on each level in an iteration."""
    ppo: PPOSettings
    training_set: int = 0
    """Size of a fixed set of random levels; 0 for a source without end."""
    devices: Devices | None = None
    """Over which teachers that learn shard their work, as students do; None for one."""


def _one(settings: Any) -> int:
    return 1


def _once(settings: Any, levels: int) -> float:
    return 1.0


EVERY_LEVEL: Mapping[str, Any] = {"train.queue": 1}
"""What a method insists on that has to see each of its levels played. Of a queue some are not."""


@dataclass(frozen=True)
class Method:
    """A way to choose what students train on."""

    name: str
    summary: str
    settings: type
    """A frozen dataclass whose fields are sections (``settings.section``)."""
    build: Callable[[Any, Parts], Curriculum]
    students: Callable[[Any], int] = _one
    """How many students learn, from the method's settings."""
    batches_per_update: Callable[[Any, int], float] = _once
    """Batches played for each that students learn from, from the method's settings and the size of a batch. Presets
    given in student updates need it.
    """
    finite: bool = False
    """It needs a training set of finitely many levels."""
    insists: Mapping[str, Any] = field(default_factory=dict)
    """Settings outside of its own sections that it is not itself without, by dotted name. Others are refused."""
