"""Environments around environments: action repeat, frame stack, and grounding.

Grounding is for environments with hidden random parameters (``HiddenParameters``), whose distribution a curriculum
would otherwise bias (thesis, chapter 6). Put it outside of the other wrappers, which pass hidden parameters on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..errors import require
from ..hosts.environment import HostEnvironment
from ..settings import GroundingName
from ..types import ActionSpace, Level, Observation, Shares, TimeStep, Transition, played
from .base import Domain, Environment, Hidden, HiddenParameters, Prepared, is_fictitious, missing


def ground(domain: Domain, grounding: GroundingName) -> Domain:
    """A domain to train on. Its suites stay as they are: students are tested without grounding.

    The optimum of a level becomes that of a student who does not know what is hidden, where the domain can tell.
    """
    if grounding == "none":
        return domain
    why, instead = f"train.grounding is {grounding}", "set it to none, or choose another method"
    if domain.rules.hide:
        instead = f"{domain.rules.hide}, set train.grounding to none, or choose another method"
    optimum = domain.rules.resampled_optimum if grounding == "naive" else domain.rules.grounded_optimum
    if isinstance(domain.env, HostEnvironment):
        if not domain.env.hides:
            raise missing("hidden parameters in its simulator", f"{why}, which draws them", instead)
        env = domain.env.grounded("episode" if grounding == "naive" else "step")
    elif not hides(domain.env):
        raise missing("hidden parameters (prior, posterior, impose)", f"{why}, which draws them", instead)
    else:
        env = Resampled(domain.env) if grounding == "naive" else Grounded(domain.env)
    return replace(domain, env=env, rules=replace(domain.rules, optimum=optimum))


def hides(env: Any) -> bool:
    """Does an environment have hidden parameters? Wrappers only pass them on."""
    return hides(env.env) if isinstance(env, ActionRepeat | FrameStack) else isinstance(env, HiddenParameters)


def _hidden(env: Any) -> HiddenParameters:
    require(
        hides(env),
        f"{type(env).__name__} has no hidden parameters (prior, posterior, impose), so there is nothing to ground.",
    )
    return env


@dataclass(frozen=True)
class Grounded:
    """SAMPLR's transitions: what is learned from a step is what might have happened, given what the student knows.

    At every step the hidden parameters are drawn from their posterior under the true distribution, and a step with them
    is what the student is paid for. The episode itself goes on with the parameters that the curriculum chose.
    """

    env: Environment
    fictitious = True

    def __post_init__(self) -> None:
        _hidden(self.env)

    @property
    def action_space(self) -> ActionSpace:
        return self.env.action_space

    def prepare(self, level: Level) -> Prepared:
        return self.env.prepare(level)

    def reset(self, key: PRNGKeyArray, level: Prepared) -> tuple[Any, Observation]:
        return self.env.reset(key, level)

    def step(self, key: PRNGKeyArray, state: Any, action: Array, level: Prepared) -> tuple[Any, TimeStep]:
        k_hidden, k_fictitious, k_real = jax.random.split(key, 3)
        hidden = _hidden(self.env)
        imagined = hidden.impose(state, hidden.posterior(k_hidden, state, level))
        _, might = self.env.step(k_fictitious, imagined, action, level)
        state, real = self.env.step(k_real, state, action, level)
        return state, TimeStep(real.obs, real.done, might.transition, real.shares)


@dataclass(frozen=True)
class Resampled:
    """Naive grounding: an episode starts with hidden parameters from the true distribution, whatever its level says."""

    env: Environment

    def __post_init__(self) -> None:
        _hidden(self.env)

    @property
    def action_space(self) -> ActionSpace:
        return self.env.action_space

    def prepare(self, level: Level) -> Prepared:
        return self.env.prepare(level)

    def reset(self, key: PRNGKeyArray, level: Prepared) -> tuple[Any, Observation]:
        k_hidden, k_reset = jax.random.split(key)
        hidden = _hidden(self.env)
        state, obs = self.env.reset(k_reset, level)
        return hidden.impose(state, hidden.prior(k_hidden, level)), obs

    def step(self, key: PRNGKeyArray, state: Any, action: Array, level: Prepared) -> tuple[Any, TimeStep]:
        return self.env.step(key, state, action, level)


class Outcome(NamedTuple):
    """What a step did, apart from what is seen of it."""

    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    shares: Shares = {}  # noqa: RUF012


@runtime_checkable
class Unseen(Protocol):
    """Offered by environments whose observations are dear: steps that nobody looks at. ``step`` is all four."""

    def focus(self, state: Any, level: Prepared) -> tuple[Any, Any]:
        """What the next few steps change of a state, and what they may need of a level."""
        ...

    def move(self, key: PRNGKeyArray, moving: Any, action: Array, near: Any) -> tuple[Any, Outcome]: ...

    def settle(self, state: Any, moving: Any, near: Any) -> Any:
        """The state after some moves; ``state`` is the one before them."""
        ...

    def observe(self, state: Any, level: Prepared) -> Observation: ...


def looked_at(env: Unseen, key: PRNGKeyArray, state: Any, action: Array, level: Prepared) -> tuple[Any, TimeStep]:
    """One step of an environment that is looked at."""
    moving, near = env.focus(state, level)
    moving, outcome = env.move(key, moving, action, near)
    state = env.settle(state, moving, near)
    return state, played(env.observe(state, level), *outcome[:3], shares=outcome.shares)


@dataclass(frozen=True)
class ActionRepeat:
    """Every action is played so many times, or until the episode is over; rewards add up.

    Where an environment offers it (``Unseen``), only the last of these steps is looked at.
    """

    env: Environment
    times: int

    def __post_init__(self) -> None:
        require(self.times >= 1, f"An action is repeated {self.times} times; give at least 1.")
        require(not is_fictitious(self.env), "Ground an environment outside of its action repeat, not inside.")

    @property
    def action_space(self) -> ActionSpace:
        return self.env.action_space

    def prepare(self, level: Level) -> Prepared:
        return self.env.prepare(level)

    def reset(self, key: PRNGKeyArray, level: Prepared) -> tuple[Any, Observation]:
        return self.env.reset(key, level)

    def step(self, key: PRNGKeyArray, state: Any, action: Array, level: Prepared) -> tuple[Any, TimeStep]:
        keys = jax.random.split(key, self.times)
        if isinstance(self.env, Unseen):
            return self._unseen(self.env, keys, state, action, level)
        first = self.env.step(keys[0], state, action, level)

        def again(so_far: tuple[Any, TimeStep], key: PRNGKeyArray) -> tuple[tuple[Any, TimeStep], None]:
            state, step = so_far
            following, after = self.env.step(key, state, action, level)
            total = step.transition.reward + after.transition.reward
            shares = jax.tree.map(jnp.add, step.shares, after.shares)
            after = after._replace(transition=after.transition._replace(reward=total), shares=shares)
            # What is over stands still.
            return jax.tree.map(lambda old, new: jnp.where(step.done, old, new), so_far, (following, after)), None

        return jax.lax.scan(again, first, keys[1:])[0]

    def _unseen(
        self, env: Unseen, keys: PRNGKeyArray, state: Any, action: Array, level: Prepared
    ) -> tuple[Any, TimeStep]:
        moving, near = env.focus(state, level)

        def again(so_far: tuple[Any, Outcome], key: PRNGKeyArray) -> tuple[tuple[Any, Outcome], None]:
            moving, before = so_far
            following, after = env.move(key, moving, action, near)
            over = before.terminated | before.truncated
            shares = jax.tree.map(jnp.add, before.shares, after.shares)
            after = after._replace(reward=before.reward + after.reward, shares=shares)
            return jax.tree.map(lambda old, new: jnp.where(over, old, new), so_far, (following, after)), None

        (moving, outcome), _ = jax.lax.scan(again, env.move(keys[0], moving, action, near), keys[1:])
        state = env.settle(state, moving, near)
        return state, played(env.observe(state, level), *outcome[:3], shares=outcome.shares)

    def prior(self, key: PRNGKeyArray, level: Prepared) -> Hidden:
        return _hidden(self.env).prior(key, level)

    def posterior(self, key: PRNGKeyArray, state: Any, level: Prepared) -> Hidden:
        return _hidden(self.env).posterior(key, state, level)

    def impose(self, state: Any, hidden: Hidden) -> Any:
        return _hidden(self.env).impose(state, hidden)


class Stacked(NamedTuple):
    """A state with what was seen last."""

    inner: Any
    frames: Observation
    """Every array ``[..., frames * channels]``, the newest last."""


@dataclass(frozen=True)
class FrameStack:
    """An observation is the last few side by side along its last axis; an episode starts with copies of its first."""

    env: Environment
    frames: int

    def __post_init__(self) -> None:
        require(self.frames >= 1, f"A stack of {self.frames} frames was asked for; give at least 1.")
        require(not is_fictitious(self.env), "Ground an environment outside of its frame stack, not inside.")

    @property
    def action_space(self) -> ActionSpace:
        return self.env.action_space

    def prepare(self, level: Level) -> Prepared:
        return self.env.prepare(level)

    def reset(self, key: PRNGKeyArray, level: Prepared) -> tuple[Stacked, Observation]:
        inner, obs = self.env.reset(key, level)
        frames = jax.tree.map(lambda x: jnp.concatenate([x] * self.frames, axis=-1), obs)
        return Stacked(inner, frames), frames

    def step(self, key: PRNGKeyArray, state: Stacked, action: Array, level: Prepared) -> tuple[Stacked, TimeStep]:
        inner, step = self.env.step(key, state.inner, action, level)
        frames = self._with(state.frames, step.obs)
        reward, terminated, truncated, next_obs = step.transition
        transition = Transition(reward, terminated, truncated, self._with(state.frames, next_obs))
        return Stacked(inner, frames), TimeStep(frames, step.done, transition, step.shares)

    def _with(self, frames: Observation, obs: Observation) -> Observation:
        return jax.tree.map(lambda old, new: jnp.concatenate([old[..., new.shape[-1] :], new], axis=-1), frames, obs)

    def prior(self, key: PRNGKeyArray, level: Prepared) -> Hidden:
        return _hidden(self.env).prior(key, level)

    def posterior(self, key: PRNGKeyArray, state: Stacked, level: Prepared) -> Hidden:
        return _hidden(self.env).posterior(key, state.inner, level)

    def impose(self, state: Stacked, hidden: Hidden) -> Stacked:
        return state._replace(inner=_hidden(self.env).impose(state.inner, hidden))
