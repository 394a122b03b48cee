"""The data that flows through one training step. Imports nothing of ours.

Axes are written in this order everywhere: ``S`` students, ``T`` steps, ``B`` levels that a student plays at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
"""Where a batch of levels came from (``Proposal.source``)."""

SOURCES = ("generated", "replayed", "edited")


class Discrete(NamedTuple):
    """One of ``n`` actions."""

    n: int


class Continuous(NamedTuple):
    """``n`` numbers, each meant to be from -1 to 1: an environment scales what it is given, and cuts off the rest."""

    n: int


ActionSpace = Discrete | Continuous


class TimeStep(NamedTuple):
    """What an environment answers to an action."""

    obs: Observation
    """What the policy sees next."""
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    """The episode ended by the rules: nothing comes after."""
    truncated: Bool[Array, ""]
    """The episode was cut off by a limit: its value goes on."""
    next_obs: Observation
    """The true successor of the transition that was rewarded: bootstrap from it. The same as ``obs``, except where an
    environment pays out a fictitious transition (grounded environments)."""


class Rollout(NamedTuple):
    """Experience of all students, ``[S, T, B, ...]``. Rewards and values are in the environment's own units.

    Every rollout starts at the first step of an episode. An episode that ends is started again on the same level.
    """

    obs: Observation
    action: Any
    log_prob: Float[Array, "S T B"]
    policy: Any
    """Parameters of the action distribution (logits, for discrete actions)."""
    value: Float[Array, "S T B"]
    next_value: Float[Array, "S T B"]
    """The value of the true successor, never masked: who reads it multiplies by ``1 - terminated``."""
    reward: Float[Array, "S T B"]
    terminated: Bool[Array, "S T B"]
    truncated: Bool[Array, "S T B"]
    first: Bool[Array, "S T B"]
    """The step is the first of its episode: the recurrent state is zero before it."""

    @property
    def done(self) -> Bool[Array, "S T B"]:
        return self.terminated | self.truncated


class Proposal(NamedTuple):
    """Levels to play, and what the curriculum must remember about them until it sees the rollout."""

    levels: Level
    """``[S, B, ...]``"""
    slots: Int[Array, "S B"]
    """The buffer slot a level was drawn from, -1 for a level that is in no buffer."""
    source: Int[Array, ""]
    """``GENERATED``, ``REPLAYED`` or ``EDITED``: one for the whole batch."""
    learn: Bool[Array, ""]
    """May the students learn from this batch? One flag a step: a batched one would pay for every update twice."""
    ids: Int[Array, "S B"]
    """A level's own number, given when it enters a buffer; -1 before."""
    parents: Int[Array, "S B"]
    """The number of the level that this one was edited from, -1 for none."""
    generations: Int[Array, "S B"]
    """How many edits lie between this level and a generated one."""
