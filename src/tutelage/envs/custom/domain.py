"""A user's environment as one thing, after a look at whether it is what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import unknown
from ...hosts.environment import HostEnvironment
from ...hosts.simulator import Maker
from ...plugins import Plugin
from ...rl.encoders import encoder
from ...types import Level, Metrics
from ..base import Box, Brought, Domain, Environment, Levels, Rules, Suite, Suites, Task, Vectors
from .adapter import JaxEnvironment, strong
from .definition import Definition, Gymnasium, Jax
from .probe import probed
from .viewer import viewer

LONGEST = 1000
"""Steps of an evaluation's episode, where nobody says when it is cut off."""


@dataclass(frozen=True)
class CustomLevels:
    """A user's functions of levels, as ours are called."""

    definition: Definition

    def sample(self, key: PRNGKeyArray) -> Level:
        return strong(self.definition.sample(key))

    def easy(self, key: PRNGKeyArray) -> Level:
        assert self.definition.easy is not None
        return strong(self.definition.easy(key))

    def edit(self, key: PRNGKeyArray, level: Level, edits: int) -> Level:
        change = self.definition.edit
        assert change is not None

        def once(level: Level, key: PRNGKeyArray) -> tuple[Level, None]:
            return strong(change(key, level)), None

        return jax.lax.scan(once, level, jax.random.split(key, edits))[0]

    def metrics(self, level: Level) -> Metrics:
        named = self.definition.metrics(level) if self.definition.metrics else {}
        return {name: jnp.asarray(value, jnp.float32) for name, value in named.items()}

    def test(self, name: str) -> Level:
        return strong(self.definition.tests[name])


@dataclass(frozen=True)
class _Always:
    """The level of a test, in the shape of a drawn one."""

    levels: CustomLevels
    name: str

    def __call__(self, key: PRNGKeyArray) -> Level:
        return self.levels.test(self.name)


def build(plugin: Plugin, settings: Any) -> Domain:
    """An environment, its levels and its suites."""
    definition: Gymnasium | Jax = plugin.value
    probe = probed(plugin)
    env: Environment | HostEnvironment
    if isinstance(definition, Jax):
        env = JaxEnvironment(definition)
    else:
        maker = Maker(plugin.module, f"{plugin.name}.make")
        env = HostEnvironment(maker, probe.fields, probe.action_space, settings.workers, settings.patience)
    own = CustomLevels(definition)
    longest = definition.max_steps or probe.limit or LONGEST

    def suite(name: str) -> Suite:
        if name == "fresh":
            return Suite(name, (Task("fresh", env, own.sample, longest),))
        tests = (name,) if name in definition.tests else tuple(definition.tests) if name == "tests" else ()
        if not tests:
            raise unknown("suite", name, names)
        return Suite(name, tuple(Task(test, env, _Always(own, test), longest) for test in tests))

    names = ("fresh", *(["tests"] if definition.tests else []), *definition.tests)
    given = definition.encoder
    return Domain(
        env=env,
        levels=Levels(
            sample=own.sample,
            metrics=own.metrics,
            edit=None if definition.edit is None else own.edit,
            easy=None if definition.easy is None else own.easy,
            vectors=_vectors(definition),
        ),
        encoder=lambda eyes: given if isinstance(given, nn.Module) else encoder(eyes, probe.observation),
        suites=Suites(names, suite),
        rules=Rules(success=definition.success, limit=probe.limit),
        brought=lambda level: Brought(env, level, longest),
        viewer=viewer(definition, env),
    )


def _vectors(definition: Definition) -> Vectors | None:
    if definition.bounds is None:
        return None
    low, high = definition.bounds
    box = Box(tuple(float(value) for value in low), tuple(float(value) for value in high))
    return Vectors(box, lambda key, vector: vector.astype(jnp.float32))
