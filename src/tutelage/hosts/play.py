"""Students in environments outside of JAX: their steps are compiled, the simulators' are worker processes'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..rl.agent import Agent, AgentState
from ..students import vmap_students
from ..types import Level, Rollout
from .environment import HostEnvironment
from .fleet import Fleet, get_fleet
from .worker import ALL, EVEN, ODD, PARTS


def by_name(levels: Level) -> dict[str, np.ndarray]:
    """The arrays of levels by the path to each; a level that is one array has an empty name."""
    flat, _ = jax.tree_util.tree_flatten_with_path(jax.device_get(levels))
    return {jax.tree_util.keystr(path, simple=True, separator="/"): np.asarray(leaf) for path, leaf in flat}


def random_seeds(key: PRNGKeyArray, number: int) -> np.ndarray:
    """What simulators' own dice start from."""
    return np.asarray(jax.random.randint(key, (number,), 0, 2**31 - 1))


ENOUGH = 32
"""Levels that are worth cutting in halves: measured with ``benchmarks/hosts.py``."""


@dataclass(frozen=True)
class HostCollector:
    """Plays students in a fleet of simulators, for the same rollout as a ``JaxCollector`` gives."""

    env: HostEnvironment
    agent: Agent
    steps: int
    pure: ClassVar[bool] = False

    def __call__(self, key: PRNGKeyArray, students: AgentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B, ...]``) from the start for ``steps`` steps each."""
        count, batch = size = jax.tree.leaves(levels)[0].shape[:2]
        number = count * batch
        named = {name: value.reshape(number, *value.shape[2:]) for name, value in by_name(levels).items()}
        k_seeds, k_play = jax.random.split(key)
        fleet = get_fleet(self.env, named, number)
        obs = _unflattened(fleet.reset(named, random_seeds(k_seeds, number)), size)
        log = _Log(count, self.steps, batch)
        # Two halves take turns: while simulators play the one, the student chooses for the other. Of few levels all are
        # played at once, for it chooses for eight as long as for sixteen.
        parts = (ALL,) if batch % 2 or batch < ENOUGH else (EVEN, ODD)
        halves = [
            _Half(fleet, log, self.agent, students, key, part, obs)
            for part, key in zip(parts, jax.random.split(k_play, len(parts)), strict=True)
        ]
        for t in range(self.steps):
            for half in halves:
                if t > 0:
                    half.receive(t - 1)
                half.act(t)
        last = np.empty(size, np.float32)
        for part, half in zip(parts, halves, strict=True):
            half.receive(self.steps - 1)
            last[:, PARTS[part]] = half.expected()
        found = log.arrays
        following = np.concatenate([found["value"][:, 1:], last[:, None]], axis=1)
        found["next_value"] = np.where(found.pop("cut"), found.pop("after"), following)
        return Rollout(**found)


def _unflattened(tree: Any, size: tuple[int, int]) -> Any:
    """``[S * B, ...]`` as ``[S, B, ...]``."""
    return jax.tree.map(lambda x: x.reshape(*size, *x.shape[1:]), tree)


class _Log:
    """Trees of arrays ``[S, T, B, ...]``, written step by step, and all levels or every other one at a time."""

    def __init__(self, count: int, steps: int, batch: int) -> None:
        self.arrays: dict[str, Any] = {}
        self.steps = steps
        self._size = (count, steps, batch)
        self._leaves: dict[tuple[str, ...], list[np.ndarray]] = {}

    def write(self, t: int, part: bytes, **values: Any) -> None:
        """What is written together at one step is so at every step."""
        names, place = tuple(values), (slice(None), t, PARTS[part])
        if names not in self._leaves:
            new = jax.tree.map(lambda x: np.empty((*self._size, *x.shape[2:]), x.dtype), values)
            self.arrays |= new
            self._leaves[names] = jax.tree.leaves(new)
        for array, value in zip(self._leaves[names], jax.tree.leaves(values), strict=True):
            array[place] = np.asarray(value)


class _Half:
    """Every other level of a batch, or all of them: what students see and remember there."""

    def __init__(
        self,
        fleet: Fleet,
        log: _Log,
        agent: Agent,
        students: AgentState,
        key: PRNGKeyArray,
        part: bytes,
        obs: Any,
    ) -> None:
        """``obs`` is what students see at first, on all levels."""
        self._fleet, self._log, self._part = fleet, log, part
        self._students, self._obs = students, jax.tree.map(lambda x: x[:, PARTS[part]], obs)
        count, batch = self._size = jax.tree.leaves(self._obs)[0].shape[:2]
        noise, self._act, self._value = compiled_agent(agent, count, batch)
        # All at once and ahead of time: a step should have nothing to do but to act.
        self._noise = np.asarray(noise(jax.random.split(key, log.steps)))
        self._memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), agent.initial_carry(batch))
        self._first, self._nobody = np.ones(self._size, bool), np.zeros(self._size, bool)
        self._nothing = np.zeros(self._size, np.float32)

    def act(self, t: int) -> None:
        """Choose actions, and send them."""
        self._memory, chosen = self._act(self._students, self._noise[t], self._memory, self._obs, self._first)
        action = np.asarray(chosen.action)
        self._fleet.send(action.reshape(-1, *action.shape[2:]), part=self._part)
        # While the simulators work.
        seen = {"obs": self._obs, "first": self._first, "action": action}
        self._log.write(t, self._part, **seen, log_prob=chosen.log_prob, policy=chosen.policy, value=chosen.value)

    def receive(self, t: int) -> None:
        """What followed."""
        answer = self._fleet.receive(self._part)
        reward, terminated, truncated = (answer[x].reshape(self._size) for x in ("reward", "terminated", "truncated"))
        self._obs, self._first = _unflattened(answer["obs"], self._size), terminated | truncated
        cut = truncated & ~terminated
        after = self._nothing
        if np.count_nonzero(cut):
            final = _unflattened(answer["final_obs"], self._size)
            after = self._value(self._students, self._memory, final, self._nobody)
        ends = {"terminated": terminated, "truncated": truncated, "done": self._first}
        self._log.write(t, self._part, **ends, reward=reward, cut=cut, after=after)

    def expected(self) -> np.ndarray:
        """What the students expect of what would follow."""
        return np.asarray(self._value(self._students, self._memory, self._obs, self._first))


@lru_cache(maxsize=64)
def compiled_agent(agent: Agent, count: int, batch: int) -> tuple[Callable[..., Any], ...]:
    """How so many students play so many levels each: ``noise(keys)`` is what is random at steps with these keys,
    ``act(students, noise, memory, obs, first)`` gives memory and decision, ``value(students, memory, obs, first)`` what
    they expect.
    """
    noise_of = vmap_students(lambda key: agent.noise(key, batch), count)

    def noise(key: PRNGKeyArray) -> Array:
        return noise_of(jax.random.split(key, count))

    act, value = vmap_students(agent.act, count), vmap_students(agent.value, count)
    return jax.jit(jax.vmap(noise)), jax.jit(act), jax.jit(value)


def play_episodes(
    act: Callable[..., Any],
    memory: Callable[[int], Any],
    env: HostEnvironment,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
    levels: Level,
    longest: int,
    watch: Callable[[Mapping[str, Any]], None] = lambda step: None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One episode on each level, to its end: seeds, returns and lengths. As many are played at once as the fleet has.

    ``act(keys, t, memory, obs)`` gives memory and actions of a batch; ``keys`` are those by which each episode starts
    and goes on. ``watch`` sees the actions and answers of every step.
    """
    named = by_name(levels)
    fleet = get_fleet(env, named)
    starts, goes_on = keys
    seeds = np.asarray(jax.vmap(lambda key: jax.random.randint(key, (), 0, 2**31 - 1))(starts))
    total, returns, lengths = len(seeds), [], []
    for begin in range(0, total, fleet.number):
        # The last batch is filled up with episodes that nobody counts, and nobody plays.
        places = np.minimum(np.arange(begin, begin + fleet.number), total - 1)
        active = np.arange(begin, begin + fleet.number) < total
        obs = fleet.reset({name: value[places] for name, value in named.items()}, seeds[places])
        remembered, mine = memory(fleet.number), goes_on[places]
        sums, steps = np.zeros(fleet.number), np.zeros(fleet.number, np.int32)
        for t in range(longest):
            remembered, action = act(mine, np.int32(t), remembered, obs)
            action = np.asarray(action)
            fleet.send(action, active)
            answer = fleet.receive()
            watch({"action": action, **answer})
            sums += np.where(active, answer["reward"], 0.0)
            steps += active
            active = active & ~(answer["terminated"] | answer["truncated"])
            obs = answer["obs"]
            if not active.any():
                break
        count = min(total - begin, fleet.number)
        returns.append(sums[:count])
        lengths.append(steps[:count])
    return seeds, np.concatenate(returns).astype(np.float32), np.concatenate(lengths)
