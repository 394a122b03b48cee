"""The game itself: one step, no information, a known payoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...types import Metrics, TimeStep, played
from ..base import Brief, Discrete
from .settings import Payoffs

Column = Int[Array, ""]


@dataclass(frozen=True)
class MatrixGame:
    """A level is a column, which the student does not see; its action is a row; the payoff ends the episode."""

    payoffs: Payoffs

    @property
    def action_space(self) -> Discrete:
        return Discrete(len(self.payoffs))

    def prepare(self, level: Column) -> Column:
        return level

    def reset(self, key: PRNGKeyArray, level: Column) -> tuple[Column, Float[Array, "1"]]:
        del key
        return level, jnp.ones(1)

    def step(self, key: PRNGKeyArray, state: Column, action: Int[Array, ""], level: Column) -> tuple[Column, TimeStep]:
        del key, level
        obs = jnp.ones(1)
        payoff = jnp.asarray(self.payoffs, jnp.float32)[action, state]
        return state, played(obs, payoff, jnp.bool_(True), jnp.bool_(False))


@dataclass(frozen=True)
class Columns:
    """The level space: columns, drawn uniformly. An edit moves to another column."""

    payoffs: Payoffs

    @property
    def number(self) -> int:
        return len(self.payoffs[0])

    def sample(self, key: PRNGKeyArray) -> Column:
        return jax.random.randint(key, (), 0, self.number)

    def edit(self, key: PRNGKeyArray, level: Column, edits: int) -> Column:
        del edits  # one move reaches every column
        if self.number == 1:
            return level
        return (level + jax.random.randint(key, (), 1, self.number)) % self.number

    def metrics(self, level: Column) -> Metrics:
        return {"optimum": self.optimum(level)}

    def at(self, key: PRNGKeyArray, point: Float[Array, "1"]) -> Column:
        """The column at a place on the line from 0 to their number, where each is one wide."""
        del key
        return jnp.clip(jnp.floor(point[0]), 0, self.number - 1).astype(jnp.int32)

    def optimum(self, level: Column) -> Float[Array, ""]:
        """The highest payoff of a column: what an action can earn at best there."""
        return jnp.asarray(np.max(self.payoffs, axis=0), jnp.float32)[level]


class ChoiceState(NamedTuple):
    column: Column
    time: Int[Array, ""]


@dataclass(frozen=True)
class ColumnChoice:
    """The teacher's side of the game: one step, whose action is the column."""

    number: int

    @property
    def steps(self) -> int:
        return 1

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.number)

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[ChoiceState, Float[Array, "1"]]:
        del key, level
        return ChoiceState(jnp.int32(0), jnp.int32(0)), jnp.ones(1)

    def step(
        self, key: PRNGKeyArray, state: ChoiceState, action: Int[Array, ""], level: Brief
    ) -> tuple[ChoiceState, TimeStep]:
        del key, level
        obs = jnp.ones(1)
        state = ChoiceState(action.astype(jnp.int32), state.time + 1)
        return state, played(obs, jnp.float32(0), state.time >= 1, jnp.bool_(False))

    def level(self, state: ChoiceState) -> Column:
        return state.column


class Constant(nn.Module):
    """There is nothing to see."""

    @nn.compact
    def __call__(self, obs: Float[Array, "T B 1"]) -> Float[Array, "T B 1"]:
        return obs

    def exported(self, parts: int) -> list[list[list[Any]]]:
        """As layers (see ``rl.encoders``)."""
        return [[]]
