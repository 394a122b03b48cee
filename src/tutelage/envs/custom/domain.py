"""A user's environment as one thing, after a look at whether it is what it should be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...errors import UserError, require, unknown
from ...hosts.environment import HostEnvironment
from ...hosts.play import by_name
from ...hosts.settings import HostSettings
from ...hosts.simulator import Maker, nested
from ...hosts.spaces import observed, played
from ...rl.networks import Flat
from ...types import ActionSpace, Level, Metrics
from ..base import Box, Continuous, Discrete, Domain, Parameters, Suite, Task
from .definition import Gymnasium
from .entry import NAME


@dataclass(frozen=True)
class CustomSpace:
    """What a teacher may do to a user's levels."""

    definition: Gymnasium

    def sample(self, key: PRNGKeyArray) -> Level:
        return jax.tree.map(jnp.asarray, self.definition.sample(key))

    def edit(self, key: PRNGKeyArray, level: Level, edits: int) -> Level:
        change = self.definition.edit
        assert change is not None, "who edits has asked Room.editable"
        return jax.lax.scan(lambda level, key: (change(key, level), None), level, jax.random.split(key, edits))[0]

    def metrics(self, level: Level) -> Metrics:
        named = self.definition.metrics(level) if self.definition.metrics else {}
        return {name: jnp.asarray(value, jnp.float32) for name, value in named.items()}


@dataclass(frozen=True)
class _Always:
    """The level of a test, in the shape of a drawn one."""

    definition: Gymnasium
    name: str

    def __call__(self, key: PRNGKeyArray) -> Level:
        return jax.tree.map(jnp.asarray, self.definition.tests[self.name])


def build(path: str, definition: Gymnasium, settings: HostSettings) -> Domain:
    """An environment, its levels and its suites."""
    probe = _probed(path, definition)
    env = HostEnvironment(
        Maker(path, f"{NAME}.make"),
        probe.shape,
        probe.dtype,
        probe.action_space,
        settings.workers,
        settings.patience,
    )
    space = CustomSpace(definition)

    def suite(name: str) -> Suite:
        if name == "fresh":
            return Suite(name, (Task("fresh", env, definition.sample, definition.max_steps),))
        if name in definition.tests:
            return Suite(name, (Task(name, env, _Always(definition, name), definition.max_steps),))
        if name == "tests" and definition.tests:
            tasks = (Task(test, env, _Always(definition, test), definition.max_steps) for test in definition.tests)
            return Suite(name, tuple(tasks))
        raise unknown("suite", name, names)

    names = ("fresh", *(["tests"] if definition.tests else []), *definition.tests)
    return Domain(
        env=env,
        space=space,
        encoder=lambda network: Flat(),
        suite=suite,
        suites=names,
        empty=definition.easy,
        editable=definition.edit is not None,
        success=definition.success,
        parameters=_parameters_of(definition),
    )


def _parameters_of(definition: Gymnasium) -> Parameters | None:
    if definition.bounds is None:
        return None
    low, high = definition.bounds
    box = Box(tuple(float(value) for value in low), tuple(float(value) for value in high))
    return Parameters(box, lambda key, vector: vector.astype(jnp.float32))


@dataclass(frozen=True)
class _Probe:
    """What an environment says of itself."""

    shape: tuple[int, ...]
    """Of an observation; so is the dtype."""
    dtype: str
    action_space: ActionSpace


class _Watched(dict[str, Any]):
    """Options that notice whether anybody looks at the level."""

    looked = False

    def __getitem__(self, key: str) -> Any:
        self.looked = self.looked or key == "level"
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.looked = self.looked or key == "level"
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self.looked = self.looked or key == "level"
        return super().pop(key, *default)


@lru_cache(maxsize=16)
def _probed(path: str, definition: Gymnasium) -> _Probe:
    """Make one environment and start an episode, so that what would fail in every worker is said once, and plainly."""

    def tried(what: str, attempt: Callable[[], Any]) -> Any:
        try:
            return attempt()
        except UserError:
            raise
        except Exception as problem:
            raise UserError(
                f"{what} in {path} failed: {type(problem).__name__}: {problem}. Correct it there."
            ) from problem

    level = tried("sample()", lambda: jax.jit(definition.sample)(jax.random.key(0)))
    require(len(jax.tree.leaves(level)) > 0, f"sample() in {path} gave a level without arrays; return at least one.")
    same = jax.tree.map(lambda x: (x.shape, x.dtype), jax.eval_shape(lambda: level))
    easy = definition.easy
    simplest = None if easy is None else lambda key, _: easy(key)
    for name, change in (("edit", definition.edit), ("easy", simplest)):
        if change is not None:
            after = tried(f"{name}()", lambda change=change: jax.eval_shape(change, jax.random.key(0), level))
            require(
                jax.tree.map(lambda x: (x.shape, x.dtype), after) == same,
                f"{name}() in {path} gives levels of other shapes or types than sample(): "
                f"{_shapes(after)} and not {_shapes(level)}; let them agree.",
            )
    for name, test in definition.tests.items():
        require(
            jax.tree.map(lambda x: (jnp.shape(x), jnp.asarray(x).dtype), test) == same,
            f"The test level '{name}' in {path} has other shapes or types than sample(): "
            f"{_shapes(test)} and not {_shapes(level)}; let them agree.",
        )
    if definition.bounds is not None:
        sizes = {len(bound) for bound in definition.bounds}
        require(
            isinstance(level, jax.Array) and level.dtype == jnp.float32 and sizes == {level.size} and level.ndim == 1,
            f"The bounds in {path} are of {' and '.join(map(str, sorted(sizes)))} numbers, and a level of sample() is "
            f"{_shapes(level)}; bounds are for levels that are one vector of float32, with two numbers for each entry.",
        )
        require(
            all(low < high for low, high in zip(*definition.bounds, strict=True)),
            f"The bounds in {path} are not two points of which the second is higher in every entry; let them be.",
        )
    environment = tried("make()", definition.make)
    try:
        require(
            callable(getattr(environment, "reset", None)) and _accepts_options(environment.reset),
            f"The environment of {path} cannot take a level: its reset() has no 'options'. "
            'Write reset(self, *, seed=None, options=None), and read options["level"] in it.',
        )
        watched = _Watched(level=nested(by_name(level)))
        obs, _ = tried("reset()", lambda: environment.reset(seed=0, options=watched))
        require(
            watched.looked,
            f'The environment of {path} takes no notice of its level: reset() does not read options["level"]. '
            "Read it there and set the environment to it; without that every level is the same.",
        )
        seen, acts = observed(environment.observation_space), played(environment.action_space)
        shape = np.shape(seen.array(obs))
        require(
            shape == seen.shape,
            f"reset() in {path} gives observations of the shape {shape}, and observation_space says {seen.shape}; "
            "let them agree.",
        )
    finally:
        getattr(environment, "close", lambda: None)()
    return _Probe(seen.shape, seen.dtype, Discrete(acts.n) if acts.discrete else Continuous(acts.n))


def _accepts_options(reset: Callable[..., Any]) -> bool:
    parameters = inspect.signature(reset).parameters
    return "options" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def _shapes(level: Level) -> str:
    arrays = jax.tree.map(jnp.asarray, level) if not hasattr(jax.tree.leaves(level)[0], "dtype") else level
    return str(jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", arrays))
