"""A user's pure functions as an environment of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ...types import ActionSpace, Continuous, Discrete, Level, TimeStep, played
from .definition import Jax


def strong(tree: Any) -> Any:
    """Arrays with dtypes of their own. A weak one, as of a Python number, would change under a caller's hands."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.asarray(x).dtype), tree)


def action_space(actions: int | Continuous) -> ActionSpace:
    return actions if isinstance(actions, Continuous) else Discrete(int(actions))


@dataclass(frozen=True)
class JaxEnvironment:
    """Plays what a ``Jax`` defines."""

    definition: Jax

    @property
    def action_space(self) -> ActionSpace:
        return action_space(self.definition.actions)

    def prepare(self, level: Level) -> Any:
        return level if self.definition.prepare is None else strong(self.definition.prepare(level))

    def reset(self, key: PRNGKeyArray, level: Any) -> tuple[Any, Any]:
        state, obs = self.definition.reset(key, level)
        return strong(state), strong(obs)

    def step(self, key: PRNGKeyArray, state: Any, action: Array, level: Any) -> tuple[Any, TimeStep]:
        more = () if self.definition.prepare is None else (level,)
        state, obs, reward, terminated, truncated = self.definition.step(key, state, action, *more)
        ends = (jnp.asarray(end, bool) for end in (terminated, truncated))
        return strong(state), played(strong(obs), jnp.asarray(reward, jnp.float32), *ends)
