"""The data that flows through one training step. Imports nothing of ours.

Axes are written in this order everywhere: ``S`` students, ``T`` steps, ``B`` levels that a student plays at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Level = Any
"""Any pytree of arrays. What it means is known to its environment only."""

State = Any
"""The state of an environment, a curriculum or a student: a pytree of arrays."""

Observation = Any
Carry = Any
Metrics = dict[str, Array]
"""Named scalars to be logged. Nothing in the program reads them."""

GENERATED, REPLAYED, EDITED = 0, 1, 2
"""Where a level came from (``Proposal.source``)."""

SOURCES = ("generated", "replayed", "edited")


class Discrete(NamedTuple):
    """One of ``n`` actions."""

    n: int


class Continuous(NamedTuple):
    """``n`` numbers, each meant to be from -1 to 1: an environment scales what it is given, and cuts off the rest."""

    n: int


ActionSpace = Discrete | Continuous


class Transition(NamedTuple):
    """What is learned from a step: the reward, and where it led."""

    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    """Ended by the rules: nothing comes after."""
    truncated: Bool[Array, ""]
    """Cut off by a limit: the value goes on."""
    next_obs: Observation
    """The successor of this transition: its value is what the student bootstraps from."""


class Share(NamedTuple):
    """What is logged as a share: parts of all steps over wholes of all steps."""

    part: Array
    whole: Array


Shares = dict[str, Share]
"""Named shares to be logged, such as icy tiles of those that were met. Nothing in the program reads them."""


class TimeStep(NamedTuple):
    """What an environment answers to an action: what happens next, and what is learned from it.

    For most environments the two agree (``played``). A grounded one pays out a fictitious transition, whose successor
    and end need not be those of the episode.
    """

    obs: Observation
    """What the student sees next."""
    done: Bool[Array, ""]
    """The episode is over: whoever collects starts the next one."""
    transition: Transition
    shares: Shares = {}  # noqa: RUF012  (nobody changes it, and a tree of arrays has no other empty mapping)
    """Of what really happened in this step."""

    @property
    def reward(self) -> Float[Array, ""]:
        return self.transition.reward


def played(
    obs: Observation, reward: Array, terminated: Array, truncated: Array, *, shares: Shares | None = None
) -> TimeStep:
    """The time step of an environment that pays for what really happened."""
    return TimeStep(obs, terminated | truncated, Transition(reward, terminated, truncated, obs), shares or {})


class Rollout(NamedTuple):
    """Experience of all students, ``[S, T, B, ...]``. Rewards and values are in the environment's own units.

    Every rollout starts at the first step of an episode. An episode that ends is started again on the same level, or
    followed by one on the next level of a queue.
    """

    obs: Observation
    action: Any
    log_prob: Float[Array, "S T B"]
    policy: Any
    """Parameters of the action distribution (logits, for discrete actions)."""
    value: Float[Array, "S T B"]
    next_value: Float[Array, "S T B"]
    """The value of the transition's successor, never masked: who reads it multiplies by ``1 - terminated``."""
    reward: Float[Array, "S T B"]
    terminated: Bool[Array, "S T B"]
    truncated: Bool[Array, "S T B"]
    done: Bool[Array, "S T B"]
    """The episode is over after this step. The same as ``terminated | truncated``, except in a grounded environment."""
    first: Bool[Array, "S T B"]
    """The step is the first of its episode: the recurrent state is zero before it."""
    shares: Shares = {}  # noqa: RUF012
    """``[S, T, B]`` each."""
    turn: Int[Array, "S T B"] | None = None
    """Which level of its queue each step was played on; None where nobody queues (see ``by_level``)."""
    mine: Bool[Array, "S T B"] | None = None
    """The steps that were played on the level of this column; None for all of them."""

    @property
    def played(self) -> Bool[Array, "S B"]:
        """The levels that were played at all."""
        return jnp.ones(self.done[:, 0].shape, bool) if self.mine is None else self.mine.any(axis=1)

    @property
    def cut(self) -> Bool[Array, "S T B"]:
        """No advantage flows back over this step: the episode or the transition ended here."""
        return self.done | self.terminated | self.truncated


def by_level(rollout: Rollout, queue: int) -> Rollout:
    """The rollout of ``B`` queues as that of their ``B * queue`` levels: each sees all steps of its queue, and which of
    them are its own.
    """
    if rollout.turn is None:
        return rollout

    def each(x: Array) -> Array:
        return jnp.repeat(x, queue, axis=2)

    mine = each(rollout.turn) == jnp.tile(jnp.arange(queue), rollout.turn.shape[2])
    apart: Rollout = jax.tree.map(each, rollout._replace(turn=None))
    shares = jax.tree.map(lambda x: jnp.where(mine, x, 0), apart.shares)
    return apart._replace(mine=mine, shares=shares)


class Proposal(NamedTuple):
    """Levels to play, and what the curriculum that proposed them wants to have back when they were played."""

    levels: Level
    """``[S, B, ...]``; where levels are queued, those of each queue one after the other."""
    source: Int[Array, "S B"]
    """``GENERATED``, ``REPLAYED`` or ``EDITED``."""
    learn: Bool[Array, ""]
    """May the students learn from this batch? One flag a step: a batched one would pay for every update twice.
    A curriculum that learns from a part of every batch says so with ``learned`` (see ``curricula.base``)."""
    notes: Any = ()
    """Whatever the curriculum needs when it observes the rollout. Nobody else reads it."""
