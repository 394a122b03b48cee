"""From a rollout to one score a level: how much is there to learn on it? (thesis, Table 3.1 and section 4.3.2)

A rollout may hold several episodes of a level, or only a part of one. Complete episodes count, each step alike, so an
episode counts by its length; the incomplete one at the end counts only where no episode was completed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .errors import unknown
from .rl.advantages import gae, td_errors
from .rl.distributions import Categorical
from .settings import ScoreName
from .types import Rollout, State


class Episodes(NamedTuple):
    """A rollout seen as episodes."""

    counted: Bool[Array, "S T B"]
    """The steps that count, as described above; at least one for each level that was played."""
    running: Float[Array, "S T B"]
    """The return of the episode so far, this step's reward included."""
    ended: Bool[Array, "S T B"]
    begins: Int[Array, "S B"] | None = None
    """The first and the last step on each level; None where a level has all of them."""
    stops: Int[Array, "S B"] | None = None

    @property
    def number(self) -> Float[Array, "S B"]:
        """Complete episodes on each level."""
        return self.ended.sum(axis=1).astype(jnp.float32)

    def mean(self, per_step: Float[Array, "S T B"]) -> Float[Array, "S B"]:
        """Average over the steps that count."""
        return jnp.where(self.counted, per_step, 0.0).sum(axis=1) / jnp.maximum(self.counted.sum(axis=1), 1)

    def first(self, per_step: Float[Array, "S T B"]) -> Float[Array, "S B"]:
        """At the first step on each level."""
        return per_step[:, 0] if self.begins is None else _at(per_step, self.begins)

    def last(self, per_step: Float[Array, "S T B"]) -> Float[Array, "S B"]:
        """At the last step on each level."""
        return per_step[:, -1] if self.stops is None else _at(per_step, self.stops)

    @property
    def latest(self) -> Episodes:
        """The same with the latest complete episode on each level alone, where there are several."""
        final = self.ended & (self.ended[:, ::-1].cumsum(axis=1)[:, ::-1] == 1)
        # Its steps are those from which the last end is the next one.
        own = _next(final) == _next(self.ended)
        counted = self.counted & (own | ~self.ended.any(axis=1, keepdims=True))
        return self._replace(counted=counted, ended=final, begins=jnp.argmax(counted, axis=1))

    def over_complete(self, per_episode: Float[Array, "S T B"]) -> Float[Array, "S B"]:
        """Average over complete episodes of a value given at their last step; the last step's where there is none."""
        total = jnp.where(self.ended, per_episode, 0.0).sum(axis=1)
        return jnp.where(self.number > 0, total / jnp.maximum(self.number, 1.0), self.last(per_episode))

    @property
    def returns(self) -> Float[Array, "S B"]:
        """Mean return of the complete episodes on each level; the return so far where there is none."""
        return self.over_complete(self.running)

    @property
    def best(self) -> Float[Array, "S B"]:
        """Highest return of a complete episode on each level, minus infinity where there is none."""
        return jnp.where(self.ended, self.running, -jnp.inf).max(axis=1)

    def success_rate(self, threshold: float) -> Float[Array, "S B"]:
        """Share of complete episodes whose return exceeds ``threshold``; 0 where there is none."""
        solved = jnp.where(self.ended, self.running > threshold, False).sum(axis=1)
        return solved / jnp.maximum(self.number, 1.0)


def episodes(rollout: Rollout, discount: float = 1.0) -> Episodes:
    """Split a rollout into episodes; returns are discounted from each episode's first step."""
    mine = rollout.mine
    ended = rollout.done if mine is None else rollout.done & mine
    # A step counts as part of a complete episode if that ends before the next one starts.
    following = jnp.pad(rollout.first[:, 1:], ((0, 0), (0, 1), (0, 0)), constant_values=True)
    counted = jnp.where(ended.any(axis=1, keepdims=True), _next(ended) <= _next(following), True)
    begins = stops = None
    if mine is not None:
        counted = counted & mine
        begins = jnp.argmax(mine, axis=1)
        stops = mine.shape[1] - 1 - jnp.argmax(mine[:, ::-1], axis=1)

    def forward(carry: tuple[Array, Array], step: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        total, weight = carry
        r_t, first_t = step
        weight = jnp.where(first_t, 1.0, weight * discount)
        total = jnp.where(first_t, 0.0, total) + weight * r_t
        return (total, weight), total

    start = jnp.zeros_like(rollout.reward[:, 0])
    inputs = jax.tree.map(lambda x: jnp.moveaxis(x, 1, 0), (rollout.reward, rollout.first))
    _, running = jax.lax.scan(forward, (start, start), inputs)
    return Episodes(counted, jnp.moveaxis(running, 0, 1), ended, begins, stops)


def _at(per_step: Float[Array, "S T B"], step: Int[Array, "S B"]) -> Float[Array, "S B"]:
    return jnp.take_along_axis(per_step, step[:, None], axis=1)[:, 0]


def _next(marked: Bool[Array, "S T B"]) -> Int[Array, "S T B"]:
    """At each step the next one that is marked, itself included; ``T`` where there is none."""
    steps = marked.shape[1]
    where = jnp.where(marked, jnp.arange(steps, dtype=jnp.int32)[:, None], steps)
    return jax.lax.cummin(where, axis=1, reverse=True)


class Scorer(Protocol):
    """Says how much there is to learn on each level of a batch. One that learns keeps a state of its own."""

    def init(self, key: PRNGKeyArray) -> State: ...

    def view(self, rollout: Rollout) -> Episodes:
        """The rollout as episodes, with returns discounted as this score compares them."""
        ...

    def update(
        self, key: PRNGKeyArray, state: State, rollout: Rollout, view: Episodes, best: Float[Array, "S B"]
    ) -> tuple[State, Float[Array, "S B"]]:
        """One score a level. ``best`` is the best return on each level so far, this rollout included."""
        ...


@dataclass(frozen=True)
class Score:
    """A score that follows from the rollout alone."""

    name: ScoreName
    discount: float
    gae_lambda: float
    success: float = 0.0
    """An episode is solved if its return exceeds this (read by learnability only)."""
    scored: Literal["all", "latest"] = "all"
    """Of several complete episodes on a level: all of them, or the latest."""

    def __post_init__(self) -> None:
        if self.name not in get_args(ScoreName):
            raise unknown("score", self.name, get_args(ScoreName))

    def view(self, rollout: Rollout) -> Episodes:
        """The rollout as episodes, with returns discounted as this score compares them."""
        return episodes(rollout, discount=1.0 if self.name in _UNDISCOUNTED else self.discount)

    def init(self, key: PRNGKeyArray) -> tuple[()]:
        return ()

    def update(
        self, key: PRNGKeyArray, state: tuple[()], rollout: Rollout, view: Episodes, best: Float[Array, "S B"]
    ) -> tuple[tuple[()], Float[Array, "S B"]]:
        return state, self(rollout, view if self.scored == "all" else view.latest, best)

    def __call__(self, rollout: Rollout, view: Episodes, best: Float[Array, "S B"]) -> Float[Array, "S B"]:
        """One score a level. ``best`` is the best return on each level so far, this rollout included."""
        return _SCORES[self.name](self, rollout, view, best)

    def _gae(self, rollout: Rollout) -> Float[Array, "S T B"]:
        return gae(
            rollout.reward,
            rollout.value,
            rollout.next_value,
            rollout.terminated,
            rollout.cut,
            self.discount,
            self.gae_lambda,
        )


def _reachable(view: Episodes, best: Float[Array, "S B"]) -> Float[Array, "S B"]:
    """The best return so far; the return so far where no episode was ever completed."""
    return jnp.where(jnp.isfinite(best), best, view.last(view.running))


def _entropy(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(Categorical(rollout.policy.shape[-1]).entropy(rollout.policy))


def _min_margin(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    top = jax.lax.top_k(jax.nn.softmax(rollout.policy), 2)[0]
    # One minus the margin: the smaller it is, the less the policy has decided and the more there is to learn.
    return view.mean(1.0 - (top[..., 0] - top[..., 1]))


def _least_confidence(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(1.0 - jax.nn.softmax(rollout.policy).max(axis=-1))


def _td_error(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    delta = td_errors(rollout.reward, rollout.value, rollout.next_value, rollout.terminated, s.discount)
    return view.mean(jnp.abs(delta))


def _gae(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(s._gae(rollout))


def _l1_value_loss(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(jnp.abs(s._gae(rollout)))


def _pvl(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(jnp.maximum(s._gae(rollout), 0.0))


def _maxmc(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    return view.mean(_reachable(view, best)[:, None] - rollout.value)


def _maxmc_initial(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    # What is played of a level starts with an episode, so its first value is the initial state's.
    return _reachable(view, best) - view.first(rollout.value)


def _learnability(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    p = episodes(rollout).success_rate(s.success)
    return p * (1.0 - p)


def _exact_regret(s: Score, rollout: Rollout, view: Episodes, best: Array) -> Array:
    # Whoever asks for this gives the optimal return in the place of the best one so far.
    return best - view.returns


OF_CHOICES = ("entropy", "min-margin", "least-confidence")
"""Scores that read probabilities of single actions, so that there must be such."""

_UNDISCOUNTED = ("maxmc-undiscounted", "exact-regret")

_SCORES: dict[str, Callable[[Score, Rollout, Episodes, Array], Array]] = {
    "entropy": _entropy,
    "min-margin": _min_margin,
    "least-confidence": _least_confidence,
    "td-error": _td_error,
    "gae": _gae,
    "l1-value-loss": _l1_value_loss,
    "pvl": _pvl,
    "maxmc": _maxmc,
    "maxmc-undiscounted": _maxmc,
    "maxmc-initial": _maxmc_initial,
    "learnability": _learnability,
    "exact-regret": _exact_regret,
}
