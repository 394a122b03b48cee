"""What is said of a training step: figures of every level of a batch, and their means over all and by source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .complexity import lzw
from .rl.agent import AgentState
from .scores import episodes
from .types import SOURCES, ActionSpace, Discrete, Level, Metrics, Proposal, Rollout, Share


class Finite(NamedTuple):
    """What of an iteration is finite: 1 or 0 each. Nothing that is not comes back by itself."""

    rewards: Float[Array, ""]
    students: Float[Array, ""]
    """All weights of all students after learning."""
    teachers: Float[Array, ""]


class StepReport(NamedTuple):
    """One iteration, for whoever logs it."""

    finite: Finite

    learned: Float[Array, ""]
    """The share of the batch that the students learned from."""
    sources: Float[Array, " 3"]
    """The share of the batch that came from each of ``SOURCES``."""
    metrics: Metrics
    """Named scalars, of a source under its name; NaN where there was nothing to average."""


def finite(rollout: Rollout, students: Any, curriculum: Any) -> Finite:
    """Whether a rollout and those who learned from it are finite. ``curriculum`` may hold agents that learn as well."""
    teachers = [x.params for x in jax.tree.leaves(curriculum, is_leaf=_is_agent) if _is_agent(x)]
    return Finite(*(_all_finite(tree) for tree in (rollout.reward, students.agent.params, teachers)))


def _is_agent(node: Any) -> bool:
    return isinstance(node, AgentState)


def _all_finite(tree: Any) -> Float[Array, ""]:
    flags = [jnp.isfinite(x).all() for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.bool_(True), *flags]).all().astype(jnp.float32)


@dataclass(frozen=True)
class Describer:
    """Works out the figures of a batch."""

    level_metrics: Callable[[Level], Metrics]
    action_space: ActionSpace
    success: float = 0.0
    optimum: Callable[[Level], Array] | None = None
    queue: int = 1
    """So many levels in a row share their steps."""

    def __call__(
        self, proposal: Proposal, rollout: Rollout, more: Mapping[str, Float[Array, "S B"]]
    ) -> tuple[Float[Array, " 3"], Metrics]:
        """Shares of the sources, and figures. ``more`` are those of the curriculum, of each level."""
        view = episodes(rollout)
        solved = view.success_rate(self.success)
        levels = {
            f"level/{name}": value.astype(jnp.float32)
            for name, value in jax.vmap(jax.vmap(self.level_metrics))(proposal.levels).items()
        }
        each = {"return": view.returns, "solved": solved} | levels | dict(more)
        actions = self.action_space
        if isinstance(actions, Discrete):
            complexity = jax.vmap(jax.vmap(lambda played: lzw(played, actions.n), in_axes=1))
            each["action-complexity"] = jnp.repeat(complexity(rollout.action[:, :, :: self.queue]), self.queue, axis=1)
        if self.optimum is not None:
            each["regret"] = jax.vmap(jax.vmap(self.optimum))(proposal.levels) - view.returns
        played = rollout.played
        groups = {"": played} | {f"{name}/": played & (proposal.source == index) for index, name in enumerate(SOURCES)}
        metrics: Metrics = {"episodes": view.number.sum()}
        for prefix, members in groups.items():
            metrics |= {f"{prefix}{name}": _mean(value, members) for name, value in each.items()}
            # Not defined where no level was solved.
            metrics |= {
                f"{prefix}solved-{name}": _mean(value, members & (solved > 0)) for name, value in levels.items()
            }
            metrics |= {f"{prefix}{name}": _share(share, members) for name, share in rollout.shares.items()}
        if len(solved) > 1:
            for i in range(len(solved)):
                metrics |= {f"student-{i}/return": view.returns[i].mean(), f"student-{i}/solved": solved[i].mean()}
        return jnp.stack([groups[f"{name}/"].sum() for name in SOURCES]) / played.sum(), metrics


def _share(share: Share, members: Bool[Array, "S B"]) -> Float[Array, ""]:
    """Of all steps of some levels; NaN where the whole is nothing."""
    part, whole = (jnp.where(members[:, None], x, 0).sum() for x in share)
    return part / whole


def _mean(value: Array, members: Bool[Array, "S B"]) -> Float[Array, ""]:
    """Over some levels; NaN where there are none."""
    return jnp.where(members, value, 0).sum() / members.sum()
