"""An environment that is not written in JAX, as the rest of the program knows it."""

from __future__ import annotations

from dataclasses import dataclass

from ..types import ActionSpace, Discrete
from .settings import PATIENCE
from .simulator import Field, Maker


@dataclass(frozen=True)
class HostEnvironment:
    """Played by worker processes, many at a time; each takes its level when it is reset."""

    maker: Maker
    shape: tuple[int, ...]
    """Of an observation; so is the dtype."""
    dtype: str
    action_space: ActionSpace
    workers: int = 0
    """Processes that play; 0 for one a core."""
    patience: float = PATIENCE

    @property
    def observation(self) -> Field:
        return Field("obs", self.shape, self.dtype)

    @property
    def action(self) -> Field:
        one = isinstance(self.action_space, Discrete)
        return Field("action", (), "int32") if one else Field("action", (self.action_space.n,), "float32")
