"""What a run's config says, read as data: without the code of its environment and its method, and without JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import config
from ..settings import TrainSettings


@dataclass(frozen=True)
class Outline:
    """Enough to say what a run is, how far it is to go, and which runs are seeds of one method."""

    environment: str
    method: str
    train: TrainSettings
    values: Mapping[str, str]
    """All settings as text, by dotted name."""

    @property
    def steps_per_iteration(self) -> int:
        return self.train.levels * self.train.rollout

    @property
    def iterations(self) -> int:
        return -(-self.train.steps // self.steps_per_iteration)


def read_outline(path: Path) -> Outline:
    """Of a config file, such as one that a run has left."""
    text = config.read_text(path)
    environment, method = config.names(text, str(path))
    values = config.flat(config.parse_toml(text, str(path)), str(path))
    train = config.from_values(TrainSettings(), values, "train.", str(path))
    return Outline(environment, method, train, {name: config.written(value) for name, value in values.items()})
