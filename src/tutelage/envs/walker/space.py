"""What a teacher may do to a walker's levels: draw, edit and measure them."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...errors import require
from ...types import Metrics
from ..base import Box, Vectors
from .level import DIFFICULTIES, PARAMETERS, POET, STAIR_STEPS, Level, Parameter, difficulty

# What comes after POET's parameters where there are no stairs.
_NO_STAIRS = tuple(parameter.low for parameter in PARAMETERS[POET:])


@dataclass(frozen=True)
class WalkerSpace:
    """Levels of eight parameters; without stairs, of POET's five."""

    stairs: bool = True

    @property
    def free(self) -> tuple[Parameter, ...]:
        """The parameters that can be set."""
        return PARAMETERS if self.stairs else PARAMETERS[:POET]

    @property
    def box(self) -> Box:
        return Box(tuple(p.low for p in self.free), tuple(p.high for p in self.free))

    @property
    def vectors(self) -> Vectors:
        """Levels as points of the box."""
        return Vectors(self.box, self.at)

    def at(self, key: PRNGKeyArray, point: Float[Array, " D"]) -> Level:
        """The level at a point of the box, with a random seed. Pairs are sorted, steps are rounded."""
        return Level(self._tidy(point), random_seed(key), jnp.bool_(False))

    def sample(self, key: PRNGKeyArray) -> Level:
        """Uniform over the box."""
        return self._uniform(key, np.array([(p.low, p.high) for p in self.free], np.float32))

    def easy(self, key: PRNGKeyArray) -> Level:
        """The simplest levels: nearly even ground, pits and stumps that are hardly any."""
        return self._uniform(key, np.array([p.easy for p in self.free], np.float32))

    def edit(self, key: PRNGKeyArray, level: Level, edits: int) -> Level:
        """So many times, move one parameter up or down by its edit size, within the box. The seed is a new one."""
        require(edits >= 1, f"edits is {edits}; give at least 1.")
        which_key, sign_key, size_key, seed_key = jax.random.split(key, 4)
        sizes = jnp.array([p.edit for p in self.free], jnp.float32)
        which = jax.random.randint(which_key, (edits,), 0, len(self.free))
        size = jax.random.uniform(size_key, (edits,), minval=sizes[which, 0], maxval=sizes[which, 1])
        moves = jnp.where(jax.random.bernoulli(sign_key, shape=(edits,)), size, -size)
        point = jnp.asarray(level.parameters)[: len(self.free)]

        def move(point: Array, edit: tuple[Array, Array]) -> tuple[Array, None]:
            index, by = edit
            moved = jnp.where(jnp.arange(len(self.free)) == index, point + by, point)
            return jnp.clip(moved, *self._ends()), None  # one after the other: each stops at the border

        point, _ = lax.scan(move, point, (which, moves))
        return level._replace(parameters=self._tidy(point), seed=random_seed(seed_key))

    def metrics(self, level: Level) -> Metrics:
        """Every parameter, and POET's difficulty as shares of its four classes."""
        values = jnp.asarray(level.parameters)
        reached = difficulty(level)
        named = {parameter.name: values[i] for i, parameter in enumerate(self.free)}
        return named | {name: (reached == i).astype(jnp.float32) for i, name in enumerate(DIFFICULTIES)}

    def _uniform(self, key: PRNGKeyArray, ranges: np.ndarray) -> Level:
        point_key, seed_key = jax.random.split(key)
        low, high = ranges.T
        return self.at(seed_key, jax.random.uniform(point_key, low.shape, minval=low, maxval=high))

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.box.low, np.float32), np.array(self.box.high, np.float32)

    def _tidy(self, point: Float[Array, " D"]) -> Float[Array, "8"]:
        point = jnp.clip(jnp.asarray(point, jnp.float32), *self._ends())
        values = point if self.stairs else jnp.concatenate([point, jnp.array(_NO_STAIRS, jnp.float32)])
        pairs = jnp.sort(values[1:STAIR_STEPS].reshape(-1, 2), axis=1).reshape(-1)
        return jnp.concatenate([values[:1], pairs, jnp.round(values[STAIR_STEPS:])])


def random_seed(key: PRNGKeyArray) -> Int[Array, ""]:
    """Any that Gymnasium takes and 32 bits hold."""
    return (jax.random.bits(key, (), jnp.uint32) >> 1).astype(jnp.int32)
