"""Playing a batch of levels to learn from: the training loop's part that steps environments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from .devices import ONE, Devices
from .envs.base import Environment, is_fictitious
from .hosts.environment import HostEnvironment
from .hosts.play import HostCollector
from .rl.agent import Agent, AgentState
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

    def __call__(self, key: PRNGKeyArray, students: AgentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B, ...]``) from the start."""
        ...


def collector(
    env: Environment | HostEnvironment, agent: Agent, steps: int, devices: Devices = ONE, queue: int = 1
) -> Collector:
    """The one that an environment needs."""
    if isinstance(env, HostEnvironment):
        return HostCollector(env, agent, steps)
    return JaxCollector(env, agent, steps, devices, queue)


@dataclass(frozen=True)
class JaxCollector:
    """Plays students in an environment written in JAX, as one scan that is compiled with the rest of the step."""

    env: Environment
    agent: Agent
    steps: int
    devices: Devices = ONE
    queue: int = 1
    """Levels of a queue: after an episode the next one is played, the last one until the end."""
    pure: ClassVar[bool] = True

    def __call__(self, key: PRNGKeyArray, students: AgentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B * queue, ...]``) from the start: ``B`` queues for ``steps`` steps each."""
        devices, queue = self.devices, self.queue
        levels = devices.shard(levels)
        count, number = jax.tree.leaves(levels)[0].shape[:2]
        size = count, batch = count, number // queue
        # Once a level and rollout. The loop below closes over it: it is neither carried nor selected from.
        all_prepared = jax.vmap(jax.vmap(self.env.prepare))(levels)

        def prepared(turn: Array | None) -> Any:
            """Of the levels whose turn it is."""
            if turn is None:
                return all_prepared
            pick = jax.vmap(jax.vmap(lambda queued, at: queued[at]))
            return jax.tree.map(lambda x: pick(x.reshape(count, batch, queue, *x.shape[2:]), turn), all_prepared)

        reset = jax.vmap(jax.vmap(self.env.reset))
        step = jax.vmap(jax.vmap(self.env.step))
        act = vmap_students(self.agent.act, count)
        value = vmap_students(self.agent.value, count)
        noise_of = vmap_students(lambda key: self.agent.noise(key, batch), count)
        fictitious = is_fictitious(self.env)

        def value_of(students: AgentState, needed: Array, memory: Any, obs: Any) -> Array:
            """The value of successors that no later step of the scan sees."""
            if fictitious:
                return value(students, memory, obs, jnp.zeros_like(needed))
            # Behind a conditional it costs a forward pass only at the steps where some episode was cut off.
            return jax.lax.cond(
                any_seed(needed.any()),
                lambda: value(students, memory, obs, jnp.zeros_like(needed)),
                lambda: jnp.zeros(needed.shape),
            )

        def draw(key: PRNGKeyArray) -> tuple[Array, PRNGKeyArray, PRNGKeyArray]:
            k_act, k_step, k_reset = jax.random.split(key, 3)
            return noise_of(jax.random.split(k_act, count)), k_step, k_reset

        def play(carry: tuple[Any, ...], random: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            state, obs, memory, first, turn = carry
            noise, k_step, k_reset = random
            memory, decision = act(students, devices.shard(noise), memory, obs, first)
            state, ts = step(jax.random.split(k_step, size), state, decision.action, prepared(turn))
            after = ts.transition
            # Each device decides for its own levels: at every step of a rollout, none should wait for another.
            apart = jnp.ones_like(ts.done) if fictitious else after.truncated & ~after.terminated
            own_value = devices.per_device(value_of)(students, apart, memory, after.next_obs)
            following = None if turn is None else jnp.minimum(turn + ts.done, queue - 1)
            begun = reset(jax.random.split(k_reset, size), prepared(following))
            state, next_obs = select(ts.done, begun, (state, ts.obs))
            ends = (after.reward, after.terminated, after.truncated, ts.done, ts.shares)
            return (state, next_obs, memory, ts.done, following), (obs, decision, ends, first, apart, own_value, turn)

        k_reset, k_play = jax.random.split(key)
        turn = None if queue == 1 else jnp.zeros(size, jnp.int32)
        state, obs = reset(jax.random.split(k_reset, size), prepared(turn))
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), self.agent.initial_carry(batch))
        carry = (state, obs, memory, jnp.ones(size, bool), turn)
        # For all steps at once: in the loop, a few numbers at a time, it would be a twentieth of the time.
        random = jax.vmap(draw)(jax.random.split(k_play, self.steps))
        (_, obs, memory, first, _), out = jax.lax.scan(play, carry, random)
        last_value = value(students, memory, obs, first)

        obs, decision, ends, first, apart, own_value, turn = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), out)
        reward, terminated, truncated, done, shares = ends
        following = jnp.concatenate([decision.value[:, 1:], last_value[:, None]], axis=1)
        return Rollout(
            obs=obs,
            action=decision.action,
            log_prob=decision.log_prob,
            policy=decision.policy,
            value=decision.value,
            next_value=jnp.where(apart, own_value, following),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            done=done,
            first=first,
            shares=shares,
            turn=turn,
        )
