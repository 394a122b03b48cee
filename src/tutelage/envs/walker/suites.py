"""The held-out terrains that the thesis reports, and suites of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import unknown
from ...hosts.environment import HostEnvironment
from ..base import Suite, Task
from .level import PLAIN, Level
from .space import WalkerSpace, random_seed


@dataclass(frozen=True)
class Fixed:
    """The same parameters in every episode, with a new seed."""

    parameters: tuple[float, ...] = PLAIN
    hardcore: bool = False

    def __call__(self, key: PRNGKeyArray) -> Level:
        return Level(jnp.array(self.parameters, jnp.float32), random_seed(key), jnp.bool_(self.hardcore))


@dataclass(frozen=True)
class Extreme:
    """Levels that reach all three of POET's thresholds, new in every episode."""

    def __call__(self, key: PRNGKeyArray) -> Level:
        seed_key, draw_key = jax.random.split(key)
        lows, highs = jnp.array([4.5, 6.0, 2.4]), jnp.array([8.0, 8.0, 3.0])
        roughness, gap, height = jax.random.uniform(draw_key, (3,), minval=lows, maxval=highs)
        zero = jnp.float32(0)
        values = jnp.stack([roughness, zero, gap, zero, height, zero, zero, jnp.float32(1)])
        return Level(values, random_seed(seed_key), jnp.bool_(False))


def _only(
    roughness: float = 0.0,
    pit: tuple[float, float] = (0.0, 0.0),
    stump: tuple[float, float] = (0.0, 0.0),
    stair: tuple[float, float] = (0.0, 0.0),
    steps: int = 1,
) -> Fixed:
    return Fixed((roughness, *pit, *stump, *stair, float(steps)))


TERRAINS: dict[str, Callable[[PRNGKeyArray], Level]] = {
    "Basic": Fixed(),
    "Hardcore": Fixed(hardcore=True),
    "Stairs": _only(stair=(2.0, 2.0), steps=5),
    "PitGap": _only(pit=(5.0, 5.0)),
    "Stump": _only(stump=(2.0, 2.0)),
    "Roughness": _only(roughness=5.0),
    "Extreme": Extreme(),
    # Levels that POET solved, read off its rose plots.
    "Rose-1a": _only(5.6, (4.48, 6.4), (2.4, 2.82)),
    "Rose-1b": _only(5.44, (4.48, 6.72), (1.8, 2.82)),
    "Rose-2a": _only(7.2, (5.6, 7.2), (1.98, 2.82)),
    "Rose-2b": _only(5.76, (1.6, 7.2), (2.16, 2.76)),
    "Rose-3a": _only(5.28, (4.8, 7.2), (1.98, 2.76)),
    "Rose-3b": _only(4.8, (4.48, 4.8), (2.4, 2.76)),
}

_SUITES: dict[str, tuple[str, ...]] = {
    "thesis": ("Basic", "Hardcore", "Stairs", "PitGap", "Stump", "Roughness"),
    "poet": ("Stump", "PitGap", "Roughness", "Stairs", "Hardcore", "Extreme"),
    "roses": tuple(name for name in TERRAINS if name.startswith("Rose")),
    "validation": ("Hardcore",),
}


def suite_names() -> tuple[str, ...]:
    """Every suite. The name of a single terrain is a suite too (``TERRAINS``)."""
    return (*_SUITES, "fresh")


def suite(name: str, env: HostEnvironment, space: WalkerSpace, max_steps: int) -> Suite:
    """A suite, or a single terrain, played in an environment. ``fresh`` is new levels of the training space."""
    if name == "fresh":
        return Suite(name, (Task("Fresh", env, space.sample, max_steps),))
    if name not in _SUITES and name not in TERRAINS:
        raise unknown("suite", name, (*suite_names(), *TERRAINS))
    members = _SUITES.get(name, (name,))
    return Suite(name, tuple(Task(member, env, TERRAINS[member], max_steps) for member in members))
