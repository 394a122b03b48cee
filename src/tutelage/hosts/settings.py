"""Settings of an environment outside of JAX. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import require
from ..settings import option

PATIENCE = 60.0
"""Seconds that a worker may take for one order before it counts as hung."""


@dataclass(frozen=True)
class HostSettings:
    """Simulators in worker processes."""

    workers: int = option(0, "processes that play; 0 for one a core", most=1024)
    patience: float = option(PATIENCE, "seconds without an answer after which a worker counts as hung")

    def __post_init__(self) -> None:
        require(self.workers >= 0, f"env.workers is {self.workers}; give 0 for one per core, or a number.")
        require(self.patience > 0, f"env.patience is {self.patience}; give a number of seconds greater than 0.")
