"""One episode of an evaluation in full, to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..envs.base import Environment, Task
from ..hosts.environment import HostEnvironment
from ..hosts.play import play_episodes
from ..rl.agent import Agent, AgentState
from ..types import Level, State
from .evaluate import actor, episode_key, episode_keys, episode_level, host_actor, sampler

_LEAST_ROOM = 512
"""Steps that buffers have room for at least, so that tasks with different limits share a program."""


class Episode(NamedTuple):
    """An episode of ``T`` steps, as numpy arrays."""

    level: Level
    states: State
    """``[T + 1, ...]``: before the first step, and after every step. Of an environment outside of JAX, whose states are
    nobody else's to see, what plays the episode again: ``seed``, and every ``action`` with one more at the end.
    """
    actions: np.ndarray
    rewards: Float[np.ndarray, " T"]

    @property
    def length(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return."""
        return float(self.rewards.sum())


def record(
    agent: Agent, state: AgentState, task: Task, seed: int = 0, number: int = 0, greedy: bool = False
) -> Episode:
    """Play episode ``number`` of a task again: the one that ``evaluate`` counts with the same seed.

    (A single episode is not always rounded as one of a batch is, which can turn an action that was nearly a tie.)
    """
    key = episode_key(seed, task, number)
    if isinstance(task.env, HostEnvironment):
        return _record_host(agent, state, task, task.env, key, greedy)
    level = jax.tree.map(lambda x: x[0], sampler(task)(key[None]))
    room = max(_LEAST_ROOM, 1 << (task.max_steps - 1).bit_length())
    play = _recorder(agent, task.env, greedy, room)
    states, actions, rewards, length = jax.device_get(play(state, key, level, jnp.int32(task.max_steps)))
    level, length = jax.device_get(level), int(length)
    return Episode(level, jax.tree.map(lambda x: x[: length + 1], states), actions[:length], rewards[:length])


@lru_cache(maxsize=64)
def _recorder(agent: Agent, env: Environment, greedy: bool, room: int) -> Callable[..., tuple[Any, ...]]:
    """One program for all levels of a shape. Buffers have room for that many steps; none is played after the end."""
    act = actor(agent, greedy)
    choice = jax.eval_shape(agent.actions.mode, jnp.zeros(agent.actions.outputs + agent.actions.constants))

    def play(state: AgentState, key: PRNGKeyArray, level: Level, longest: Array) -> tuple[Any, ...]:
        k_reset, k_play = episode_keys(key)
        prepared = env.prepare(level)
        env_state, obs = env.reset(k_reset, prepared)
        memory = jax.tree.map(lambda x: x[0], agent.initial_carry(1))

        def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            t, env_state, obs, memory, _, states, actions, rewards = carry
            k_act, k_step = jax.random.split(jax.random.fold_in(k_play, t))
            memory, action = act(state, k_act, memory, obs, t == 0)
            env_state, ts = env.step(k_step, env_state, action, prepared)
            states = jax.tree.map(lambda all, x: all.at[t + 1].set(x), states, env_state)
            return (
                t + 1,
                env_state,
                ts.obs,
                memory,
                ts.done,
                states,
                actions.at[t].set(action),
                rewards.at[t].set(ts.reward),
            )

        def buffer(first: Array) -> Array:
            return jnp.zeros((room + 1, *first.shape), first.dtype).at[0].set(first)

        start = (
            jnp.int32(0),
            env_state,
            obs,
            memory,
            jnp.bool_(False),
            jax.tree.map(buffer, env_state),
            jnp.zeros((room, *choice.shape), choice.dtype),
            jnp.zeros(room),
        )
        t, *_, states, actions, rewards = jax.lax.while_loop(lambda c: (c[0] < longest) & ~c[4], body, start)
        return states, actions, rewards, t

    return jax.jit(play)


def _record_host(
    agent: Agent, state: AgentState, task: Task, env: HostEnvironment, key: PRNGKeyArray, greedy: bool
) -> Episode:
    level = jax.device_get(episode_level(task, key))
    k_reset, k_play = episode_keys(key)
    steps: list[tuple[np.ndarray, float]] = []
    seeds, _, lengths = play_episodes(
        partial(host_actor(agent, greedy), state),
        agent.initial_carry,
        env,
        (k_reset[None], k_play[None]),
        jax.tree.map(lambda x: np.asarray(x)[None], level),
        task.max_steps,
        lambda step: steps.append((step["action"][0], float(step["reward"][0]))),
    )
    length = int(lengths[0])
    actions = np.stack([action for action, _ in steps[:length]])
    rewards = np.array([reward for _, reward in steps[:length]], np.float32)
    states = {
        "seed": np.full(length + 1, seeds[0]),
        "action": np.concatenate([actions, np.zeros_like(actions[:1])]),
    }
    return Episode(level, states, actions, rewards)
