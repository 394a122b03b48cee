"""What an environment offers: to be played (``Environment``), taught (``Levels``) and tested (``Task``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..errors import UserError
from ..hosts.environment import HostEnvironment
from ..settings import NoSettings
from ..types import ActionSpace, Level, Metrics, Observation, State, TimeStep
from ..types import Continuous as Continuous
from ..types import Discrete as Discrete
from .editing import Controls, Editor

Prepared = Any
"""A level as its environment prepared it: a pytree of arrays."""

Hidden = Any
"""Parameters that the student cannot see: a pytree of arrays."""


class Environment(Protocol):
    """One level, no batch: ``vmap`` makes the batch. Pure, and a frozen dataclass, so that equal ones compile once."""

    @property
    def action_space(self) -> ActionSpace: ...

    def prepare(self, level: Level) -> Prepared:
        """What playing a level needs of it, computed once a level and rollout; for most environments the level itself.

        It is read by ``reset`` and ``step`` and never becomes part of the state, so it may be large.
        """
        ...

    def reset(self, key: PRNGKeyArray, level: Prepared) -> tuple[State, Observation]:
        """Start an episode on a prepared level."""
        ...

    def step(self, key: PRNGKeyArray, state: State, action: Array, level: Prepared) -> tuple[State, TimeStep]:
        """Play one action. Never starts a new episode by itself: who collects does that."""
        ...


def is_fictitious(env: Environment) -> bool:
    """Do transitions lead elsewhere than the episode? Only grounded environments say so: it costs a forward pass a
    step.
    """
    return getattr(env, "fictitious", False)


@runtime_checkable
class HiddenParameters(Protocol):
    """Offered by environments with random parameters that the student cannot see, and that a curriculum may bias.

    ``envs.wrappers`` grounds such an environment: what is learned follows the true distribution.
    """

    def prior(self, key: PRNGKeyArray, level: Prepared) -> Hidden:
        """A draw from the true distribution, before anything was seen."""
        ...

    def posterior(self, key: PRNGKeyArray, state: State, level: Prepared) -> Hidden:
        """A draw from the true distribution, given what the student has seen so far in the episode."""
        ...

    def impose(self, state: State, hidden: Hidden) -> State:
        """The same state with other hidden parameters."""
        ...


class Brief(NamedTuple):
    """What a designer is given to start from: the "level" of a design task."""

    key_data: Array
    """Of a random key. Everything random about a design comes from it, so that its actions can be replayed."""
    start: Level
    """The level to be changed; ``()`` where designs start from nothing."""


class DesignTask(Protocol):
    """A teacher's own decision process: an environment whose levels are briefs and whose end is a level.

    It terminates after exactly ``steps`` steps and pays nothing; the reward comes when students have played the level.
    """

    @property
    def steps(self) -> int: ...

    @property
    def action_space(self) -> ActionSpace: ...

    def prepare(self, level: Brief) -> Brief: ...

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[State, Observation]: ...

    def step(self, key: PRNGKeyArray, state: State, action: Array, level: Brief) -> tuple[State, TimeStep]: ...

    def level(self, state: State) -> Level:
        """What was designed, from the state after the last step."""
        ...


@dataclass(frozen=True)
class Task:
    """A named source of episodes to be tested on. Tasks with equal environments and level shapes run as one program."""

    name: str
    env: Environment | HostEnvironment
    sample: Callable[[PRNGKeyArray], Level]
    """The level of one episode: constant for a fixed level, a new draw for a procedural one."""
    max_steps: int
    """An upper bound of an episode's length."""
    scale: tuple[float, float] | None = None
    """The returns that count as 0 and as 1, where they are to be compared with those of other tasks."""


@dataclass(frozen=True)
class Suite:
    """Tasks that are reported together."""

    name: str
    tasks: tuple[Task, ...]


class Box(NamedTuple):
    """Vectors whose entries have bounds of their own."""

    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Vectors:
    """A view of levels as points of a box, for curricula that fit distributions to vectors."""

    box: Box
    level: Callable[[PRNGKeyArray, Array], Level]
    """The level at a point ``[D]`` of the box; what else there is to a level is drawn with the key."""


@dataclass(frozen=True)
class Design:
    """How teachers that learn make levels."""

    encoder: Callable[[Any, DesignTask], Any]
    """From the teacher's encoder settings and the task to a module that embeds its observations."""
    build: DesignTask | None = None
    """A level from nothing."""
    edit: Callable[[int], DesignTask] | None = None
    """A level from another, with so many edits."""
    settings: Any = field(default_factory=NoSettings)
    """What there is to set about the encoder, with defaults."""
    allowed: Callable[[Observation], Array] | None = None
    """From observations ``[n, ...]`` to the actions ``[n, actions]`` that are allowed; without it, all are."""


def _no_metrics(level: Level) -> Metrics:
    return {}


@dataclass(frozen=True)
class Levels:
    """What a teacher may do to levels. All but drawing them is an ability that some have and others do not."""

    sample: Callable[[PRNGKeyArray], Level]
    """A random level: the generator of domain randomisation."""
    metrics: Callable[[Level], Metrics] = _no_metrics
    """Complexity of one level as named scalars; booleans become shares when averaged."""
    edit: Callable[[PRNGKeyArray, Level, int], Level] | None = None
    """The level after so many small random changes."""
    easy: Callable[[PRNGKeyArray], Level] | None = None
    """A random level of the simplest kind."""
    numbered: Callable[[Array], Level] | None = None
    """The level of a number, from 0. Training sets are then the first so many levels, the same ones in every run."""
    vectors: Vectors | None = None
    """Levels as vectors."""
    design: Design | None = None
    """Levels as the work of a teacher that learns."""


@dataclass(frozen=True)
class Rules:
    """What counts."""

    success: float = 0.0
    """An episode is solved if its return exceeds this."""
    optimum: Callable[[Level], Array] | None = None
    """The highest return possible on a level, where it can be computed."""
    resampled_optimum: Callable[[Level], Array] | None = None
    """The highest return that can be expected on a level whose hidden parameters are drawn anew (naive grounding)."""
    grounded_optimum: Callable[[Level], Array] | None = None
    """The highest sum of fictitious rewards that can be expected on a level, by who sees what happens there."""
    limit: int | None = None
    """Steps after which an episode is cut off, where that is known."""
    hide: str = ""
    """Where nothing is hidden but could be: what to do about it, such as ``set env.ice to beta``."""


@dataclass(frozen=True)
class Suites(Mapping[str, Suite]):
    """Held-out suites by name, built when they are looked up; single tasks are found too but not listed."""

    names: tuple[str, ...]
    build: Callable[[str], Suite]
    """Refuses an unknown name in a sentence."""

    def __getitem__(self, name: str) -> Suite:
        return self.build(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Viewer:
    """Levels and episodes for people to see. Pictures are arrays ``uint8 [H, W, 3]``; for files see ``pictures``."""

    text: Callable[[Level], str]
    parse: Callable[[str], Level] | None = None
    """The level of a text that ``text`` has written, or a person. Refuses others with a ``UserError``."""
    picture: Callable[[Level], np.ndarray] | None = None
    frames: Callable[[Level, State], Iterator[np.ndarray]] | None = None
    """An episode, a picture a step, all of one size: from its level and its states ``[T + 1, ...]``."""
    pace: int = 120
    """Milliseconds a frame."""
    seen: Callable[[Observation], np.ndarray] | None = None
    """What the student sees of one step, as a picture; without it, images are shown as they are."""
    snapshot: Callable[[Level, Any], np.ndarray] | None = None
    """Of an environment outside of JAX: a picture of a simulator as it stands."""
    actions: tuple[str, ...] = ()
    """What each action is called, or each of its numbers."""
    editor: Editor | None = None
    """How people draw levels; without it they fill in a form."""
    controls: Controls | None = None
    """How people play; without it they cannot."""
    generators: tuple[tuple[str, Callable[[PRNGKeyArray], Level]], ...] = ()
    """Other levels that people can ask for, by name. An ``empty`` one stands for ``Levels.easy``."""


class Brought(NamedTuple):
    """A level that a person brings, as it is tested: in which environment, in which form, and for how long."""

    env: Environment | HostEnvironment
    level: Level
    """As ``env`` takes it. Levels that differ in what they say have equal shapes, wherever that can be done."""
    max_steps: int


@dataclass(frozen=True)
class Domain:
    """An environment with all that belongs to it: what a registry entry builds."""

    env: Environment | HostEnvironment
    levels: Levels
    encoder: Callable[[Any], Any]
    """From encoder settings to a module that embeds observations ``[n, ...]``."""
    suites: Mapping[str, Suite]
    rules: Rules = Rules()
    viewer: Viewer | None = None
    """How its levels and episodes look, where anybody can tell."""
    brought: Callable[[Level], Brought] | None = None
    """How a level that a person brings is tested; without it, as in training (``as_brought``)."""
    measured: Callable[[Level], Mapping[str, Any]] | None = None
    """What a person is told of a level that they bring: numbers or words by name, found by one program for levels of
    all sizes. Without it, what ``Levels.metrics`` says."""


LONGEST = 1000
"""Steps of an episode on a level that a person brings, where an environment does not say how long one may take."""


def as_brought(domain: Domain, level: Level) -> Brought:
    """A level of the training space as it is tested when a person brings it."""
    if domain.brought is not None:
        return domain.brought(level)
    return Brought(domain.env, level, domain.rules.limit or LONGEST)


def missing(what: str, why: str, instead: str) -> UserError:
    """The sentence for an ability that an environment does not have."""
    return UserError(f"This environment has no {what}, and {why}; {instead}.")


def observation_spec(env: Environment | HostEnvironment, level: Level) -> Any:
    """Shapes and dtypes of an observation of ``env``, without playing."""
    if isinstance(env, HostEnvironment):
        return env.observation_spec
    return jax.eval_shape(lambda level: env.reset(jax.random.key(0), env.prepare(level)), level)[1]
