"""Episodes of students and of people, step by step.

Levels and students are data: there is one compiled program for each kind of student and shape of level, and a level
that somebody has just drawn is played by it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..envs.base import Brought, Environment
from ..errors import require
from ..evaluation.evaluate import episode_keys
from ..hosts.environment import HostEnvironment
from ..hosts.fields import nested
from ..hosts.play import by_name
from ..hosts.spaces import observed, played
from ..rl.agent import Agent, AgentState
from ..rl.distributions import Categorical
from ..rollout import select
from ..types import Continuous, Discrete

CHUNK = 64
"""Steps that are played at once."""
LONGEST = 5000
"""Steps of an episode that anybody is shown."""


class Played(NamedTuple):
    """An episode of ``T`` steps as numpy arrays."""

    level: Any
    states: Any
    """``[T + 1, ...]``, as ``Viewer.frames`` takes them."""
    obs: Any
    """``[T + 1, ...]``: before every step, and after the last."""
    actions: np.ndarray
    bars: np.ndarray
    """``[T, n]``: the probability of each action; of numbers, what the policy likes best."""
    values: np.ndarray
    rewards: np.ndarray

    @property
    def length(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return."""
        return float(self.rewards.sum())

    @property
    def bytes(self) -> int:
        return sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(self[1:]))


def watch(agent: Agent, state: AgentState, brought: Brought, key: PRNGKeyArray, greedy: bool) -> Played:
    """Play a student from the start to the end: the episode that ``evaluate`` counts with the same key."""
    longest = min(brought.max_steps, LONGEST)
    if isinstance(brought.env, HostEnvironment):
        return _watch_host(agent, state, brought.env, brought.level, key, greedy, longest)
    level = brought.level
    k_reset, k_play = episode_keys(key)
    start, step = _programs(agent, brought.env)
    prepared, carry = start(k_reset, level)
    first, parts = jax.device_get(carry[1:3]), []
    for _ in range(0, longest, CHUNK):
        carry, part = step(state, k_play, prepared, carry, greedy)
        parts.append(jax.device_get(part))
        if parts[-1]["done"].any():
            break
    whole = jax.tree.map(lambda *x: np.concatenate(x), *parts) if len(parts) > 1 else parts[0]
    length = min(longest, int(np.argmax(whole["done"])) + 1 if whole["done"].any() else longest)
    states, obs = (
        jax.tree.map(lambda one, all: np.concatenate([np.asarray(one)[None], all[:length]]), one, whole[name])
        for one, name in zip(first, ("state", "obs"), strict=True)
    )
    told = (whole[name][:length] for name in ("action", "bars", "value", "reward"))
    return Played(level, states, obs, *told)


@lru_cache(maxsize=64)
def _programs(agent: Agent, env: Environment) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How an episode starts, and how it goes on for ``CHUNK`` steps. What is over stands still."""
    choose = _chooser(agent)

    def start(key: PRNGKeyArray, level: Any) -> tuple[Any, tuple[Any, ...]]:
        prepared = env.prepare(level)
        env_state, obs = env.reset(key, prepared)
        memory = jax.tree.map(lambda x: x[0], agent.initial_carry(1))
        return prepared, (jnp.int32(0), env_state, obs, memory, jnp.bool_(False))

    def go_on(
        state: AgentState, k_play: PRNGKeyArray, prepared: Any, carry: tuple[Any, ...], greedy: Array
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        def one(carry: tuple[Any, ...], _: None) -> tuple[tuple[Any, ...], dict[str, Any]]:
            t, env_state, obs, memory, over = carry
            k_act, k_step = jax.random.split(jax.random.fold_in(k_play, t))
            memory, action, bars, value = choose(state, k_act, memory, obs, t == 0, greedy)
            after, ts = env.step(k_step, env_state, action, prepared)
            env_state, obs = select(over, (env_state, obs), (after, ts.obs))
            out = {"state": env_state, "obs": obs, "action": action, "bars": bars, "value": value}
            over = over | ts.done
            return (t + 1, env_state, obs, memory, over), out | {"reward": ts.reward, "done": over}

        return jax.lax.scan(one, carry, None, CHUNK)

    return jax.jit(start), jax.jit(go_on)


def _chooser(agent: Agent) -> Callable[..., tuple[Any, Array, Array, Array]]:
    """Memory, action, bars and value of a student at one step; ``greedy`` may be traced."""

    def choose(state: AgentState, key: PRNGKeyArray, memory: Any, obs: Any, first: Array, greedy: Array) -> Any:
        noise = agent.noise(key, 1)
        memory, decision = agent.act(state, noise, *jax.tree.map(lambda x: x[None], (memory, obs, first)))
        likeliest = agent.actions.mode(decision.policy)
        action = jnp.where(greedy, likeliest, decision.action)
        bars = jax.nn.softmax(decision.policy) if isinstance(agent.actions, Categorical) else likeliest
        return jax.tree.map(lambda x: x[0], (memory, action, bars, decision.value))

    return choose


# --- environments outside of JAX


class Simulator:
    """One simulator in this process, for what somebody looks at. Training and tests have worker processes."""

    def __init__(self, env: HostEnvironment) -> None:
        self.inner = env.maker()
        self._seen = observed(self.inner.observation_space)
        self._played = played(self.inner.action_space)

    def reset(self, level: Any, seed: int) -> Any:
        named = {name: np.asarray(value).copy() for name, value in by_name(level).items()}
        return self._obs(self.inner.reset(seed=seed, options={"level": nested(named)})[0])

    def step(self, action: np.ndarray) -> tuple[Any, float, bool]:
        (one,) = self._played.actions(np.asarray(action)[None])
        obs, reward, terminated, truncated, _ = self.inner.step(one)
        return self._obs(obs), float(reward), bool(terminated or truncated)

    def close(self) -> None:
        self.inner.close()

    def _obs(self, given: Any) -> Any:
        return nested({entry.field.name: entry.read(given).astype(entry.field.dtype) for entry in self._seen})


def _seed(key: PRNGKeyArray) -> int:
    """As ``hosts.play.play_episodes`` draws it."""
    return int(jax.random.randint(key, (), 0, 2**31 - 1))


@lru_cache(maxsize=64)
def _host_chooser(agent: Agent) -> Callable[..., Any]:
    choose = _chooser(agent)

    def step(state: AgentState, k_play: PRNGKeyArray, t: Array, memory: Any, obs: Any, greedy: Array) -> Any:
        k_act = jax.random.split(jax.random.fold_in(k_play, t))[0]
        return choose(state, k_act, memory, obs, t == 0, greedy)

    return jax.jit(step)


def _watch_host(
    agent: Agent, state: AgentState, env: HostEnvironment, level: Any, key: PRNGKeyArray, greedy: bool, longest: int
) -> Played:
    choose, (k_reset, k_play) = _host_chooser(agent), episode_keys(key)
    simulator, seed = Simulator(env), _seed(k_reset)
    memory = jax.tree.map(lambda x: x[0], agent.initial_carry(1))
    steps: list[tuple[Any, ...]] = []
    try:
        obs, over = simulator.reset(level, seed), False
        seen = [obs]
        while not over and len(steps) < longest:
            memory, *told = choose(state, k_play, np.int32(len(steps)), memory, obs, greedy)
            action, bars, value = map(np.asarray, told)
            obs, reward, over = simulator.step(action)
            seen.append(obs)
            steps.append((action, bars, value, np.float32(reward)))
    finally:
        simulator.close()
    actions, bars, values, rewards = (np.stack(parts) for parts in zip(*steps, strict=True))
    return Played(
        level, _replayable(seed, actions), jax.tree.map(lambda *x: np.stack(x), *seen), actions, bars, values, rewards
    )


def _replayable(seed: int, actions: np.ndarray) -> dict[str, np.ndarray]:
    """What plays an episode again, as ``evaluation.record`` keeps it."""
    return {"seed": np.full(len(actions) + 1, seed), "action": np.concatenate([actions, np.zeros_like(actions[:1])])}


# --- people


@lru_cache(maxsize=64)
def _steps(env: Environment) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def start(key: PRNGKeyArray, level: Any) -> Any:
        prepared = env.prepare(level)
        return prepared, *env.reset(key, prepared)

    return jax.jit(start), jax.jit(env.step)


@dataclass
class Hand:
    """An episode that a person plays."""

    brought: Brought
    key: PRNGKeyArray

    def __post_init__(self) -> None:
        self.over, self._env = False, self.brought.env
        self._actions: list[np.ndarray] = []
        self._rewards: list[float] = []
        k_reset, self._k_play = episode_keys(self.key)
        if isinstance(self._env, HostEnvironment):
            self.simulator = Simulator(self._env)
            self._seed = _seed(k_reset)
            obs = self.simulator.reset(self.brought.level, self._seed)
            self._states: list[Any] = []
        else:
            start, _ = _steps(self._env)
            self._prepared, state, obs = start(k_reset, self.brought.level)
            self._state, self._states = state, [jax.device_get(state)]
        self._seen = [jax.device_get(obs)]

    @property
    def length(self) -> int:
        return len(self._rewards)

    @property
    def obs(self) -> Any:
        """What a student would see now."""
        return self._seen[-1]

    @property
    def last(self) -> Any:
        """The last state as an episode of one, for a picture."""
        return jax.tree.map(lambda x: np.asarray(x)[None], self._states[-1])

    def act(self, action: Any) -> float:
        """Play one step; returns the reward."""
        require(not self.over, "This episode is over; start another.")
        action = _checked(self._env.action_space, action)
        if isinstance(self._env, HostEnvironment):
            obs, reward, over = self.simulator.step(action)
        else:
            k_step = jax.random.split(jax.random.fold_in(self._k_play, self.length))[1]
            self._state, ts = _steps(self._env)[1](k_step, self._state, action, self._prepared)
            state, obs, reward, over = jax.device_get((self._state, ts.obs, ts.reward, ts.done))
            self._states.append(state)
        self._actions.append(action)
        self._rewards.append(float(reward))
        self._seen.append(obs)
        self.over = bool(over) or self.length >= min(self.brought.max_steps, LONGEST)
        return float(reward)

    def episode(self) -> Played:
        """All of it, to be watched again."""
        require(self.length > 0, "Nothing was played yet.")
        actions, rewards = np.stack(self._actions), np.array(self._rewards, np.float32)
        if isinstance(self._env, HostEnvironment):
            states: Any = _replayable(self._seed, actions)
        else:
            states = jax.tree.map(lambda *x: np.stack(x), *self._states)
        nothing = np.zeros((self.length, 0), np.float32)
        obs = jax.tree.map(lambda *x: np.stack(x), *self._seen)
        return Played(self.brought.level, states, obs, actions, nothing, nothing, rewards)

    def close(self) -> None:
        if isinstance(self._env, HostEnvironment):
            self.simulator.close()


def _checked(space: Any, action: Any) -> np.ndarray:
    """An action that somebody sent."""
    if isinstance(space, Discrete):
        good = isinstance(action, int) and not isinstance(action, bool) and 0 <= action < space.n
        require(good, f"The action is not one of 0 to {space.n - 1}.")
        return np.int32(action)  # pyright: ignore[reportReturnType]
    assert isinstance(space, Continuous)
    good = (
        isinstance(action, list)
        and len(action) == space.n
        and all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= 1e6 for x in action)
    )
    require(good, f"The action is not {space.n} numbers.")
    return np.clip(np.asarray(action, np.float32), -1.0, 1.0)
