"""A method of your own, in one file: every other time, play the batch with the lowest returns so far again.

tutelage check worst_again.py
tutelage train corridor.py worst_again.py --again.every 3
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import tutelage
from tutelage.curricula.base import newly_generated, returns_only
from tutelage.types import REPLAYED


@dataclass(frozen=True)
class Again:  # a section of settings: each becomes an option of the command line and a line of config.toml
    every: int = tutelage.option(2, "iterations between two repetitions")


@dataclass(frozen=True)
class Settings:
    again: Again = tutelage.section(Again)


class State(NamedTuple):  # all that the curriculum remembers, as arrays: it is part of every checkpoint
    worst: Any
    lowest: Any
    time: Any


@dataclass(frozen=True)
class WorstAgain:
    sample: Any
    levels: int
    every: int

    def init(self, key):
        return State(self.draw(key), jnp.float32(jnp.inf), jnp.int32(0))

    def draw(self, key):
        return jax.vmap(self.sample)(jax.random.split(key, self.levels))

    def propose(self, key, branch_key, state):  # levels [students, batch, ...]
        again = (state.time % self.every == self.every - 1) & jnp.isfinite(state.lowest)
        levels = jax.lax.cond(again, lambda: state.worst, lambda: self.draw(key))
        proposal = newly_generated(jax.tree.map(lambda x: x[None], levels))
        return state, proposal._replace(source=jnp.where(again, REPLAYED, proposal.source))

    def observe(self, key, state, proposal, rollout, students):  # how they were played
        info = returns_only(rollout)
        lower = info.returns.mean() < state.lowest
        levels = jax.tree.map(lambda x: x[0], proposal.levels)
        worst = jax.tree.map(lambda new, old: jnp.where(lower, new, old), levels, state.worst)
        lowest = jnp.where(lower, info.returns.mean(), state.lowest)
        return State(worst, lowest, state.time + 1), info


def build(settings, parts):
    return WorstAgain(parts.domain.levels.sample, parts.levels, settings.again.every)


method = tutelage.Method("worst-again", "plays the worst batch again", Settings, build)
