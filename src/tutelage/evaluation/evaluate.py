"""Play a student on a suite. Every episode counts, and is played to its end.

An episode's level and all its randomness come from the seed, the task's name and the episode's number alone: the table
of a task does not depend on what else is in its suite, and the same student and seed give the same table.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..envs.base import Environment, Suite, Task
from ..errors import require
from ..hosts.environment import HostEnvironment
from ..hosts.play import play_episodes
from ..rl.agent import Agent, AgentState
from ..rollout import select
from .statistics import min_over_attempts, standard_error


class TaskResult(NamedTuple):
    """All episodes on one task."""

    task: str
    returns: Float[np.ndarray, " N"]
    lengths: Int[np.ndarray, " N"]
    solved: Bool[np.ndarray, " N"]
    scale: tuple[float, float] | None = None
    """The returns that count as 0 and as 1, where the task says so."""

    @property
    def solved_rate(self) -> float:
        return float(self.solved.mean())

    @property
    def standard_error(self) -> float:
        """Of the solved rate, over episodes."""
        return _error(self.solved)

    @property
    def mean_return(self) -> float:
        return float(self.returns.mean())

    @property
    def return_error(self) -> float:
        """Standard error of the mean return, over episodes."""
        return _error(self.returns)

    @property
    def normalised_return(self) -> float | None:
        """The mean return on the task's scale; None where it has none."""
        return None if self.scale is None else (self.mean_return - self.scale[0]) / (self.scale[1] - self.scale[0])

    @property
    def min_return(self) -> float:
        """The worst of all attempts."""
        return float(min_over_attempts(self.returns))


def _error(values: np.ndarray) -> float:
    return standard_error(values) if len(values) > 1 else 0.0


class Evaluation(NamedTuple):
    """A student on a suite."""

    suite: str
    seed: int
    tasks: tuple[TaskResult, ...]

    @property
    def solved_rate(self) -> float:
        """Mean over tasks, each counting once."""
        return float(np.mean([task.solved_rate for task in self.tasks]))

    @property
    def mean_return(self) -> float:
        return float(np.mean([task.mean_return for task in self.tasks]))

    @property
    def normalised_return(self) -> float | None:
        """Mean over tasks; None where one has no scale."""
        each = [task.normalised_return for task in self.tasks]
        return None if None in each else float(np.mean([value for value in each if value is not None]))


def pooled(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Evaluations of several students on one suite as one: the episodes of all."""
    together = [
        same[0]._replace(
            **{
                part: np.concatenate([getattr(task, part) for task in same])
                for part in ("returns", "lengths", "solved")
            }
        )
        for same in zip(*(evaluation.tasks for evaluation in evaluations), strict=True)
    ]
    return Evaluation(evaluations[0].suite, evaluations[0].seed, tuple(together))


def evaluate(
    agent: Agent,
    state: AgentState,
    suite: Suite,
    episodes: int = 100,
    seed: int = 0,
    success: float = 0.0,
    greedy: bool = False,
) -> Evaluation:
    """Play ``episodes`` episodes on each task of a suite. ``state`` is one student's, without the ``S`` axis.

    Actions are drawn from the policy, as in training; ``greedy`` takes the likeliest instead.
    """
    require(episodes >= 1, f"{episodes} episodes were asked for; an evaluation needs at least 1.")
    results: dict[str, TaskResult] = {}
    for tasks in _groups(suite.tasks):
        numbers = jnp.arange(episodes)
        keys = [jax.vmap(lambda i, task=task: episode_key(seed, task, i))(numbers) for task in tasks]
        levels = [sampler(task)(k) for task, k in zip(tasks, keys, strict=True)]
        stacked = jax.tree.map(lambda *x: jnp.concatenate(x), *levels)
        longest = max(task.max_steps for task in tasks)
        play = player(agent, tasks[0].env, greedy)
        together = jnp.concatenate(keys)
        size = batch_size(tasks[0].env, stacked, len(together))
        returns, lengths = _in_batches(partial(play, state), together, stacked, jnp.int32(longest), size)
        for i, task in enumerate(tasks):
            mine = slice(i * episodes, (i + 1) * episodes)
            results[task.name] = TaskResult(
                task.name, returns[mine], lengths[mine], returns[mine] > success, task.scale
            )
    return Evaluation(suite.name, seed, tuple(results[task.name] for task in suite.tasks))


def batch_size(env: Environment | HostEnvironment, levels: Any, episodes: int) -> int:
    """How many episodes are played at once: all, unless their prepared levels and states take too much memory.

    Batches share a program, so the last one is filled up.
    """
    if isinstance(env, HostEnvironment):
        return episodes

    def begin(key: PRNGKeyArray, level: Any) -> Any:
        prepared = env.prepare(level)
        return prepared, env.reset(key, prepared)

    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), levels)
    shapes = jax.tree.leaves(jax.eval_shape(begin, jax.random.key(0), one))
    each = sum(leaf.size * leaf.dtype.itemsize for leaf in shapes)
    batches = -(-episodes * each // BATCH_BYTES)
    return -(-episodes // max(1, batches))


def _in_batches(
    play: Callable[..., tuple[Any, Any]], keys: PRNGKeyArray, levels: Any, longest: Array, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths of all episodes, so many at once."""
    found = []
    for start in range(0, len(keys), size):
        which = np.arange(start, start + size) % len(keys)
        mine = (keys, levels) if size == len(keys) else jax.tree.map(lambda x, which=which: x[which], (keys, levels))
        found.append(jax.device_get(play(*mine, longest)))
    returns, lengths = (np.concatenate(parts)[: len(keys)] for parts in zip(*found, strict=True))
    return returns, lengths


BATCH_BYTES = 128 << 20
"""For prepared levels and states of the episodes that are played at once. Preparing them may take ten times as much."""


def _groups(tasks: tuple[Task, ...]) -> list[list[Task]]:
    """Tasks that can be played as one batch: equal environments, equal level shapes."""
    groups: dict[Any, list[Task]] = {}
    for task in tasks:
        level = jax.eval_shape(task.sample, jax.random.key(0))
        leaves, structure = jax.tree.flatten(level)
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        groups.setdefault((task.env, structure, shapes), []).append(task)
    return list(groups.values())


def episode_key(seed: int, task: Task, number: int | Array) -> PRNGKeyArray:
    """Everything random about one episode of a task."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), zlib.crc32(task.name.encode())), number)


def episode_level(task: Task, key: PRNGKeyArray) -> Any:
    """The level of the episode with this key."""
    return task.sample(jax.random.fold_in(key, 0))


def episode_keys(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """The keys by which the episode with this key starts, and by which it goes on."""
    k_reset, k_play = jax.random.split(jax.random.fold_in(key, 1))
    return k_reset, k_play


def actor(agent: Agent, greedy: bool) -> Callable[..., tuple[Any, Array]]:
    """Memory and action of a student at one step of one episode."""

    def act(state: AgentState, key: PRNGKeyArray, memory: Any, obs: Any, first: Array) -> tuple[Any, Array]:
        noise = agent.noise(key, 1)
        memory, decision = agent.act(state, noise, *jax.tree.map(lambda x: x[None], (memory, obs, first)))
        action = agent.actions.mode(decision.policy) if greedy else decision.action
        return jax.tree.map(lambda x: x[0], (memory, action))

    return act


@lru_cache(maxsize=256)
def sampler(task: Task) -> Callable[[PRNGKeyArray], Any]:
    """The levels of the episodes with these keys."""
    return jax.jit(jax.vmap(lambda key: episode_level(task, key)))


def player(agent: Agent, env: Environment | HostEnvironment, greedy: bool) -> Callable[..., tuple[Any, Any]]:
    """Plays a batch of episodes: returns and lengths, from a student's state, keys, levels, and how long any can be."""
    return _host_player(agent, env, greedy) if isinstance(env, HostEnvironment) else _player(agent, env, greedy)


@lru_cache(maxsize=64)
def _player(agent: Agent, env: Environment, greedy: bool) -> Callable[..., tuple[Array, Array]]:
    """Play a batch of episodes at once, in memory that does not grow with their length."""
    act = actor(agent, greedy)

    def play(state: AgentState, keys: PRNGKeyArray, levels: Any, longest: Array) -> tuple[Array, Array]:
        count = keys.shape[0]
        k_reset, k_play = jax.vmap(episode_keys)(keys)
        prepared = jax.vmap(env.prepare)(levels)
        env_state, obs = jax.vmap(env.reset)(k_reset, prepared)
        memory = agent.initial_carry(count)

        def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            t, env_state, obs, memory, over, total, length = carry
            k = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, t)))(k_play)
            first = jnp.broadcast_to(t == 0, (count,))
            memory, action = jax.vmap(act, (None, 0, 0, 0, 0))(state, k[:, 0], memory, obs, first)
            next_state, ts = jax.vmap(env.step)(k[:, 1], env_state, action, prepared)
            # What is over stands still: nothing after an episode's end enters its return.
            env_state, obs = select(over, (env_state, obs), (next_state, ts.obs))
            total = total + jnp.where(over, 0.0, ts.reward)
            length = length + ~over
            return t + 1, env_state, obs, memory, over | ts.done, total, length

        start = (
            jnp.int32(0),
            env_state,
            obs,
            memory,
            jnp.zeros(count, bool),
            jnp.zeros(count),
            jnp.zeros(count, jnp.int32),
        )
        *_, total, length = jax.lax.while_loop(lambda c: (c[0] < longest) & ~c[4].all(), body, start)
        return total, length

    return jax.jit(play)


@lru_cache(maxsize=64)
def host_actor(agent: Agent, greedy: bool) -> Callable[..., tuple[Any, Array]]:
    """Memory and actions of a student at step ``t`` of a batch of episodes, each with a key of its own."""
    act = actor(agent, greedy)

    def step(state: AgentState, keys: PRNGKeyArray, t: Array, memory: Any, obs: Any) -> tuple[Any, Array]:
        k_act = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, t))[0])(keys)
        first = jnp.broadcast_to(t == 0, keys.shape)
        return jax.vmap(act, (None, 0, 0, 0, 0))(state, k_act, memory, obs, first)

    return jax.jit(step)


def _host_player(agent: Agent, env: HostEnvironment, greedy: bool) -> Callable[..., tuple[Any, Any]]:
    """As `_player`, for an environment outside of JAX."""
    act = host_actor(agent, greedy)

    def play(state: AgentState, keys: PRNGKeyArray, levels: Any, longest: Array) -> tuple[Any, Any]:
        starts = jax.vmap(episode_keys)(keys)
        _, *played = play_episodes(partial(act, state), agent.initial_carry, env, starts, levels, int(longest))
        return played[0], played[1]

    return play
