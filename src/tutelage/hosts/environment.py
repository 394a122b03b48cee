"""An environment that is not written in JAX, as the rest of the program knows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax

from ..types import ActionSpace, Discrete
from .fields import Field, nested
from .settings import PATIENCE
from .simulator import Maker


@dataclass(frozen=True)
class HostEnvironment:
    """Played by worker processes, many at a time; each takes its level when it is reset."""

    maker: Maker
    observation: tuple[Field, ...]
    """Its arrays, each named by the path to it; an observation that is one array has an empty name."""
    action_space: ActionSpace
    workers: int = 0
    """Processes that play; 0 for one a core."""
    patience: float = PATIENCE
    hides: bool = False
    """It has hidden parameters, and they decide about nothing but rewards.

    A simulator cannot be set back to try a step twice. But such a one can pay for other parameters than the level's,
    and that is what grounding comes to. Its maker takes an argument ``hidden``, which says where they come from: the
    ``level``, or the true distribution, drawn for an ``episode`` or at each ``step`` given what was seen.
    """

    @property
    def observation_spec(self) -> Any:
        """Shapes and dtypes of an observation: of one array, or of dictionaries of arrays."""
        return nested({name: jax.ShapeDtypeStruct(shape, dtype) for name, shape, dtype in self.observation})

    def grounded(self, when: Literal["episode", "step"]) -> HostEnvironment:
        """The same environment, whose simulators draw what is hidden from its true distribution."""
        assert self.hides, "has no hidden parameters"
        return replace(self, maker=self.maker.having(hidden=when))

    @property
    def action(self) -> Field:
        one = isinstance(self.action_space, Discrete)
        return Field("action", (), "int32") if one else Field("action", (self.action_space.n,), "float32")
