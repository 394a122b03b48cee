"""ALP-GMM: levels from where the student's returns change, up or down (Portelas et al., 2019; thesis, section 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..envs.base import Vectors
from ..errors import require
from ..rl.learner import StudentState
from ..scores import episodes
from ..seeds import all_seeds
from ..types import Level, Metrics, Proposal, Rollout
from . import sum_tree
from .base import Info, newly_generated, only_if
from .mixture import Mixture, fit, unused


class History(NamedTuple):
    """The last levels that were played, newest first. Points are in the unit cube."""

    point: Float[Array, "H D"]
    result: Float[Array, " H"]
    """The student's mean return there."""
    progress: Float[Array, " H"]


class AlpGmmState(NamedTuple):
    history: History
    seen: Int[Array, ""]
    """Levels played since the run began."""
    mixture: Mixture
    """Over a level's point and, last, its absolute progress."""


@dataclass(frozen=True)
class AlpGmm:
    """Fits Gaussians to the levels played and the change of their returns, and draws from those where it is large."""

    vectors: Vectors
    levels: int
    fit_every: int = 250
    """Levels between two fits; as many are fitted, and as many are random before the first fit."""
    explore: float = 0.2
    fewest: int = 2
    most: int = 10
    """Mixtures of ``fewest`` to ``most`` Gaussians are tried."""
    history: int = 10_000

    def __post_init__(self) -> None:
        require(
            self.history >= self.fit_every >= self.most >= self.fewest >= 1,
            f"A history of {self.history} levels, fits of {self.fit_every} and {self.fewest} to {self.most} Gaussians "
            "do not go together; none may be smaller than the next.",
        )

    def init(self, key: PRNGKeyArray) -> AlpGmmState:
        size = len(self.vectors.box.low)
        none = jnp.zeros(self.history)
        return AlpGmmState(
            history=History(jnp.zeros((self.history, size)), none, none),
            seen=jnp.int32(0),
            mixture=unused(self.most, size + 1),
        )

    def propose(self, key: PRNGKeyArray, branch_key: PRNGKeyArray, state: AlpGmmState) -> tuple[AlpGmmState, Proposal]:
        points, levels = self._new(key, state)
        return state, newly_generated(levels, notes=points)

    def generate(self, key: PRNGKeyArray, state: AlpGmmState) -> Level:
        return self._new(key, state)[1]

    def _new(self, key: PRNGKeyArray, state: AlpGmmState) -> tuple[Float[Array, "B D"], Level]:
        k_random, k_explore, k_choose, k_noise, k_level = jax.random.split(key, 5)
        random = jax.random.uniform(k_random, (self.levels, len(self.vectors.box.low)))
        explore = (jax.random.uniform(k_explore, (self.levels, 1)) < self.explore) | (state.seen < self.fit_every)
        chosen = sum_tree.sample(k_choose, chances(state.mixture), self.levels)
        noise = jax.random.normal(k_noise, (self.levels, len(self.vectors.box.low) + 1))
        drawn = state.mixture.mean[chosen] + jnp.einsum("bij,bj->bi", state.mixture.factor[chosen], noise)
        points = jnp.where(explore, random, jnp.clip(drawn[:, :-1], 0.0, 1.0))
        low, high = jnp.array(self.vectors.box.low), jnp.array(self.vectors.box.high)
        # Clipped once more: rounding must not lead out of the box.
        vectors = jnp.clip(low + points * (high - low), low, high)
        levels = jax.vmap(self.vectors.level)(jax.random.split(k_level, self.levels), vectors)
        return points, jax.tree.map(lambda x: x[None], levels)

    def observe(
        self, key: PRNGKeyArray, state: AlpGmmState, proposal: Proposal, rollout: Rollout, students: StudentState
    ) -> tuple[AlpGmmState, Info]:
        returns, points = episodes(rollout).returns, proposal.notes
        progress = absolute_progress(points, returns[0], state.history, state.seen)
        new = History(points, returns[0], progress)
        history = jax.tree.map(lambda new, old: jnp.concatenate([new, old])[: self.history], new, state.history)
        seen = state.seen + self.levels

        def refit() -> tuple[Mixture, Metrics]:
            mixture = self._fit(key, history, seen)
            return mixture, {"mixture/gaussians": mixture.used.sum().astype(jnp.float32)}

        # Seeds play equally many levels, so all of them fit at once.
        due = all_seeds(seen // self.fit_every > state.seen // self.fit_every)
        mixture, metrics = only_if(due, refit, state.mixture)
        metrics["progress"] = progress.mean()
        return AlpGmmState(history, seen, mixture), Info(progress[None], returns, metrics)

    def _fit(self, key: PRNGKeyArray, history: History, seen: Int[Array, ""]) -> Mixture:
        """To the newest of the history, with progress in units of the range of all its returns.

        The unit matters little (a change of units changes neither the likeliest Gaussians nor the proportions of their
        means), but k-means and the regularisation compare progress with the axes of the unit cube.
        """
        known = jnp.arange(self.history) < seen
        highest = jnp.where(known, history.result, -jnp.inf).max()
        lowest = jnp.where(known, history.result, jnp.inf).min()
        unit = jnp.where(highest > lowest, highest - lowest, 1.0)
        points = jnp.concatenate([history.point, history.progress[:, None] / unit], axis=1)
        return fit(key, points[: self.fit_every], range(self.fewest, self.most + 1))


def absolute_progress(
    points: Float[Array, "B D"], returns: Float[Array, " B"], history: History, seen: Int[Array, ""]
) -> Float[Array, " B"]:
    """How far each return is from that of the nearest level before, the latest of several; 0 where there is none."""
    distance = jnp.square(points[:, None] - history.point).sum(axis=-1)
    known = jnp.arange(len(history.result)) < seen
    nearest = jnp.argmin(jnp.where(known, distance, jnp.inf), axis=1)  # the first of equals, which is the newest
    return jnp.where(seen > 0, jnp.abs(returns - history.result[nearest]), 0.0)


def chances(mixture: Mixture) -> Float[Array, " K"]:
    """How likely each Gaussian is to be drawn from: in proportion to its mean progress; alike where there is none."""
    progress = jnp.where(mixture.used, mixture.mean[:, -1], 0.0)
    weights = jnp.where(progress.sum() > 0, progress, mixture.used.astype(jnp.float32))
    return weights / jnp.maximum(weights.sum(), jnp.finfo(jnp.float32).tiny)
