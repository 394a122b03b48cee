"""Where environments are stepped, and the only place but for simulators outside of JAX (``hosts``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from .envs.base import Environment
from .hosts.environment import HostEnvironment
from .hosts.play import HostCollector
from .rl.ppo import Student, StudentState
from .seeds import any_seed
from .students import vmap_students
from .types import Level, Rollout


def select(condition: Bool[Array, "..."], yes: Any, no: Any) -> Any:
    """Choose between two pytrees, elementwise over the leading axes of ``condition``."""

    def leaf(a: Array, b: Array) -> Array:
        return jnp.where(condition.reshape(*condition.shape, *[1] * (a.ndim - condition.ndim)), a, b)

    return jax.tree.map(leaf, yes, no)


class Collector(Protocol):
    """Plays students on levels."""

    pure: ClassVar[bool]
    """Can it be compiled with the rest of a step?"""

    def __call__(self, key: PRNGKeyArray, students: StudentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B, ...]``) from the start."""
        ...


def collector(env: Environment | HostEnvironment, student: Student, steps: int) -> Collector:
    """The one that an environment needs."""
    if isinstance(env, HostEnvironment):
        return HostCollector(env, student, steps)
    return JaxCollector(env, student, steps)


@dataclass(frozen=True)
class JaxCollector:
    """Plays students in an environment written in JAX, as one scan that is compiled with the rest of the step."""

    env: Environment
    student: Student
    steps: int
    pure: ClassVar[bool] = True

    def __call__(self, key: PRNGKeyArray, students: StudentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B, ...]``) from the start for ``steps`` steps each."""
        devices = self.student.devices
        levels = devices.shard(levels)
        size = jax.tree.leaves(levels)[0].shape[:2]
        count, batch = size
        reset = jax.vmap(jax.vmap(self.env.reset))
        step = jax.vmap(jax.vmap(self.env.step))
        act = vmap_students(self.student.act, count)
        value = vmap_students(self.student.value, count)
        noise_of = vmap_students(lambda key: self.student.noise(key, batch), count)

        def value_after(students: StudentState, cut: Array, memory: Any, obs: Any) -> Array:
            # Behind a conditional it costs a forward pass only at the steps where some episode was cut off.
            return jax.lax.cond(
                any_seed(cut.any()),
                lambda: value(students, memory, obs, jnp.zeros_like(cut)),
                lambda: jnp.zeros(cut.shape),
            )

        def throw(key: PRNGKeyArray) -> tuple[Array, PRNGKeyArray, PRNGKeyArray]:
            k_act, k_step, k_reset = jax.random.split(key, 3)
            return noise_of(jax.random.split(k_act, count)), k_step, k_reset

        def play(carry: tuple[Any, ...], dice: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            state, obs, memory, first = carry
            noise, k_step, k_reset = dice
            memory, decision = act(students, devices.shard(noise), memory, obs, first)
            state, ts = step(jax.random.split(k_step, size), state, decision.action)
            # A time limit needs the value of what would have come, which the next step of the scan does not see.
            # Each device decides for its own levels: at every step of a rollout, none should wait for another.
            cut = ts.truncated & ~ts.terminated
            cut_value = devices.per_device(value_after)(students, cut, memory, ts.next_obs)
            done = ts.terminated | ts.truncated
            state, next_obs = select(done, reset(jax.random.split(k_reset, size), levels), (state, ts.obs))
            out = (obs, decision, ts.reward, ts.terminated, ts.truncated, first, cut, cut_value)
            return (state, next_obs, memory, done), out

        k_reset, k_play = jax.random.split(key)
        state, obs = reset(jax.random.split(k_reset, size), levels)
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), self.student.initial_carry(batch))
        carry = (state, obs, memory, jnp.ones(size, bool))
        # For all steps at once: in the loop, a few numbers at a time, it would be a twentieth of the time.
        dice = jax.vmap(throw)(jax.random.split(k_play, self.steps))
        (_, obs, memory, first), out = jax.lax.scan(play, carry, dice)
        last_value = value(students, memory, obs, first)

        obs, decision, reward, terminated, truncated, first, cut, cut_value = jax.tree.map(
            lambda x: jnp.moveaxis(x, 0, 1), out
        )
        following = jnp.concatenate([decision.value[:, 1:], last_value[:, None]], axis=1)
        return Rollout(
            obs=obs,
            action=decision.action,
            log_prob=decision.log_prob,
            policy=decision.policy,
            value=decision.value,
            next_value=jnp.where(cut, cut_value, following),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            first=first,
        )
