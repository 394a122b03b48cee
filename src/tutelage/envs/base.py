"""What an environment must offer: to be played (``Environment``), taught (``LevelSpace``) and tested (``Task``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
from jaxtyping import Array, PRNGKeyArray

from ..hosts.environment import HostEnvironment
from ..types import ActionSpace, Level, Metrics, Observation, State, TimeStep
from ..types import Continuous as Continuous
from ..types import Discrete as Discrete


class Environment(Protocol):
    """One level, no batch: ``vmap`` makes the batch. Pure, and a frozen dataclass, so that equal ones compile once."""

    @property
    def action_space(self) -> ActionSpace: ...

    def reset(self, key: PRNGKeyArray, level: Level) -> tuple[State, Observation]:
        """Start an episode on a level."""
        ...

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> tuple[State, TimeStep]:
        """Play one action. Never starts a new episode by itself: who collects does that."""
        ...


@runtime_checkable
class LevelSpace(Protocol):
    """What a teacher may do to levels."""

    def sample(self, key: PRNGKeyArray) -> Level:
        """A random level: the generator of domain randomisation."""
        ...

    def edit(self, key: PRNGKeyArray, level: Level, edits: int) -> Level:
        """The level after ``edits`` small random changes."""
        ...

    def metrics(self, level: Level) -> Metrics:
        """Complexity of one level as named scalars; booleans become shares when averaged."""
        ...


class Brief(NamedTuple):
    """What a designer is given to start from: the "level" of a design task."""

    dice: Array
    """Data of a random key. Every throw of a design comes from it, so that its actions can be replayed."""
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

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[State, Observation]: ...

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> tuple[State, TimeStep]: ...

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
class Parameters:
    """A view of levels as points of a box, for curricula that fit distributions to vectors."""

    box: Box
    level: Callable[[PRNGKeyArray, Array], Level]
    """The level at a point ``[D]`` of the box; what else there is to a level is drawn with the key."""


@dataclass(frozen=True)
class Domain:
    """An environment with all that belongs to it: what a registry entry builds."""

    env: Environment | HostEnvironment
    space: LevelSpace
    encoder: Callable[[Any], Any]
    """From network settings to a module that embeds observations ``[T, B, ...]``."""
    suite: Callable[[str], Suite]
    """A held-out suite by name."""
    suites: tuple[str, ...]
    empty: Callable[[PRNGKeyArray], Level] | None = None
    """A generator of the simplest levels, where there is one."""
    editable: bool = True
    """Can its levels be edited?"""
    success: float = 0.0
    """An episode is solved if its return exceeds this."""
    optimum: Callable[[Level], Array] | None = None
    """The highest return possible on a level, where it can be computed."""
    parameters: Parameters | None = None
    """Levels as vectors, where they are such."""
    design: DesignTask | None = None
    """How a teacher builds a level from nothing."""
    editing: Callable[[int], DesignTask] | None = None
    """How a teacher changes a level with so many edits."""
    design_encoder: Callable[[Any, DesignTask], Any] | None = None
    """From teacher settings to a module that embeds a design task's observations."""
    to_text: Callable[[Level], str] | None = None
    gallery: Callable[[Sequence[Level], Sequence[str], Path], None] | None = None
    """Draw levels with captions into one picture."""
    animate: Callable[[Level, State, Path], None] | None = None
    """Draw one episode as a moving picture, from its level and its states ``[T + 1, ...]``."""


def observation_spec(env: Environment | HostEnvironment, level: Level) -> Any:
    """Shapes and dtypes of an observation of ``env``, without playing."""
    if isinstance(env, HostEnvironment):
        return jax.ShapeDtypeStruct(env.shape, env.dtype)
    return jax.eval_shape(env.reset, jax.random.key(0), level)[1]
