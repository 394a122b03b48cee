"""What a designing teacher is paid for: one number a level, from how the students fared on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import UserError, unknown
from ..scores import Episodes, Score, episodes
from ..settings import ObjectiveName
from ..types import Level, Rollout


@dataclass(frozen=True)
class Objective:
    """A teacher's objective. Returns are undiscounted."""

    name: ObjectiveName
    discount: float
    gae_lambda: float
    clip: bool = False
    """Pay no less than 0 for a regret. The thesis does not clip. Minimax, whose pay is a loss, is never clipped."""
    antagonist: Literal["mean", "best"] = "mean"
    """Which return of the better student counts. Of two equal students who solve half of their episodes the best shows
    a regret that is not there.
    """
    optimum: Callable[[Level], Array] | None = None
    """The highest return possible on a level, where it is known."""

    def __post_init__(self) -> None:
        if self.name not in get_args(ObjectiveName):
            raise unknown("teacher's objective", self.name, get_args(ObjectiveName))
        if self.name == "exact-regret" and self.optimum is None:
            raise UserError(
                "The objective exact-regret needs an environment that knows its optimal returns, and this one "
                "does not; choose regret, population-regret or pvl."
            )

    def __call__(self, levels: Level, rollout: Rollout) -> Float[Array, " B"]:
        """Payment for each of ``levels`` (``[S, B, ...]``, the same for every student)."""
        view = episodes(rollout)
        payment = _OBJECTIVES[self.name](self, levels, rollout, view)
        return jnp.maximum(payment, 0.0) if self.clip and self.name != "minimax" else payment


def _reached(o: Objective, view: Episodes) -> Float[Array, "S B"]:
    """What each student reached: its mean return, or its best complete episode where there is one."""
    return view.returns if o.antagonist == "mean" else jnp.where(jnp.isfinite(view.best), view.best, view.returns)


def _minimax(o: Objective, levels: Level, rollout: Rollout, view: Episodes) -> Array:
    return -view.returns.mean(axis=0)


def _regret(o: Objective, levels: Level, rollout: Rollout, view: Episodes) -> Array:
    return _reached(o, view)[1] - view.returns[0]


def _population_regret(o: Objective, levels: Level, rollout: Rollout, view: Episodes) -> Array:
    return _reached(o, view).max(axis=0) - view.returns.mean(axis=0)


def _pvl(o: Objective, levels: Level, rollout: Rollout, view: Episodes) -> Array:
    score = Score("pvl", o.discount, o.gae_lambda)
    return score(rollout, view, view.best).mean(axis=0)


def _exact_regret(o: Objective, levels: Level, rollout: Rollout, view: Episodes) -> Array:
    assert o.optimum is not None
    return jax.vmap(o.optimum)(jax.tree.map(lambda x: x[0], levels)) - view.returns[0]


_OBJECTIVES: dict[str, Callable[[Objective, Level, Rollout, Episodes], Array]] = {
    "minimax": _minimax,
    "regret": _regret,
    "population-regret": _population_regret,
    "pvl": _pvl,
    "exact-regret": _exact_regret,
}
