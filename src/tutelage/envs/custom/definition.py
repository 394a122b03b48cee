"""What a user says about an environment of their own. No JAX here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...settings import NetworkSettings
from ...types import Continuous


@dataclass(frozen=True, eq=False, kw_only=True)
class Definition:
    """What both kinds of environments have. A level is any pytree of arrays of fixed shapes."""

    sample: Callable[[Any], Any]
    """A random level, from a random key."""
    edit: Callable[[Any, Any], Any] | None = None
    """A level after one small random change, from a random key and the level. ACCEL needs it."""
    metrics: Callable[[Any], Mapping[str, Any]] | None = None
    """Named numbers of a level, to be logged."""
    easy: Callable[[Any], Any] | None = None
    """A random level of the simplest kind: what ACCEL starts from with ``evolve.start = easy``, which needs it."""
    bounds: tuple[Sequence[float], Sequence[float]] | None = None
    """Where a level is one vector: the lowest and the highest value of each entry. ALP-GMM needs them."""
    tests: Mapping[str, Any] = field(default_factory=dict)
    """Held-out levels by name: the suite ``tests``. There is always the suite ``fresh``, of new random levels."""
    success: float = 0.0
    """An episode is solved if its return exceeds this."""
    max_steps: int | None = None
    """The time limit of an episode, which is your environment's to keep: training plays so many steps in a row, and an
    evaluation goes no further. Without one it is what Gymnasium's ``TimeLimit`` says; where nobody says anything,
    evaluations stop after 1000 steps.
    """
    settings: Mapping[str, str] = field(default_factory=dict)
    """What differs from the preset, by dotted name, such as ``{"train.steps": "2M"}``."""
    encoder: Any = None
    """What embeds observations: settings of one of ours (``tutelage.ImageEncoder(...)``), or a flax module of your own,
    which gets observations with one leading axis. Without one it is chosen by what the observation looks like.
    """
    network: NetworkSettings | None = None
    """The network after the encoder, where the preset's does not fit."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Gymnasium(Definition):
    """A Gymnasium environment with levels, which it takes in ``reset(options={"level": ...})``.

    A file that calls one of these ``environment`` can be trained on: ``tutelage train path/to/file.py robust-plr``.
    Levels are drawn and edited by functions of JAX, which are compiled. An environment gets a level as NumPy arrays:
    the array itself, or dictionaries by the names of the fields.
    """

    make: Callable[..., Any]
    """A new environment. Called in every worker process, which runs the file as well. One that takes ``render_mode`` is
    called with ``render_mode="rgb_array"`` where episodes are drawn.
    """


@dataclass(frozen=True, eq=False, kw_only=True)
class Jax(Definition):
    """An environment of pure functions of one level, without a batch. It never starts an episode by itself.

    A file that calls one of these ``environment`` can be trained on: ``tutelage train path/to/file.py robust-plr``.
    """

    reset: Callable[..., tuple[Any, Any]]
    """``reset(key, level) -> state, obs``"""
    step: Callable[..., tuple[Any, Any, Any, Any, Any]]
    """``step(key, state, action) -> state, obs, reward, terminated, truncated``"""
    actions: int | Continuous
    """One of so many, or ``tutelage.Continuous(n)``: numbers that are meant to be from -1 to 1."""
    prepare: Callable[[Any], Any] | None = None
    """Whatever is dear about a level, computed once a level and rollout and never part of the state. With it, the
    functions are ``reset(key, prepared)`` and ``step(key, state, action, prepared)``.
    """
    render: Callable[[Any], Any] | None = None
    """A picture of a state, ``uint8 [H, W, 3]``: then levels and episodes can be drawn."""
