"""Students in environments outside of JAX: their steps are compiled, the simulators' are worker processes'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..rl.ppo import Student, StudentState
from ..students import over_students
from ..types import Level, Rollout
from .environment import HostEnvironment
from .fleet import hire


def by_name(levels: Level) -> dict[str, np.ndarray]:
    """The arrays of levels by the path to each; a level that is one array has an empty name."""
    flat, _ = jax.tree_util.tree_flatten_with_path(jax.device_get(levels))
    return {jax.tree_util.keystr(path, simple=True, separator="/"): np.asarray(leaf) for path, leaf in flat}


def random_seeds(key: PRNGKeyArray, number: int) -> np.ndarray:
    """What simulators' own dice start from."""
    return np.asarray(jax.random.randint(key, (number,), 0, 2**31 - 1))


@dataclass(frozen=True)
class HostCollector:
    """Plays students in a fleet of simulators, for the same rollout as a ``JaxCollector`` gives."""

    env: HostEnvironment
    student: Student
    steps: int
    pure: ClassVar[bool] = False

    def __call__(self, key: PRNGKeyArray, students: StudentState, levels: Level) -> Rollout:
        """Play ``levels`` (``[S, B, ...]``) from the start for ``steps`` steps each."""
        count, batch = size = jax.tree.leaves(levels)[0].shape[:2]
        number = count * batch
        named = {name: value.reshape(number, *value.shape[2:]) for name, value in by_name(levels).items()}
        act, value = compiled_student(self.student, count)
        students = students._replace(optimiser=())  # which no step reads: handing it over at every one takes time
        k_seeds, k_play = jax.random.split(key)
        fleet = hire(self.env, named, number)
        obs = fleet.reset(named, random_seeds(k_seeds, number)).reshape(*size, *self.env.shape)
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), self.student.initial_carry(batch))
        first, nobody = np.ones(size, bool), np.zeros(size, bool)
        log = _Log(count, self.steps, batch)
        for t in range(self.steps):
            memory, decision = act(students, k_play, np.int32(t), memory, obs, first)
            action = np.asarray(decision.action)
            fleet.send(action.reshape(number, *action.shape[2:]))
            # While the simulators work.
            log.write(t, obs=obs, first=first, action=action, log_prob=decision.log_prob, policy=decision.policy)
            log.write(t, value=decision.value)
            answer = {name: x.reshape(*size, *x.shape[1:]) for name, x in fleet.receive().items()}
            cut = answer["truncated"] & ~answer["terminated"]
            after = value(students, memory, answer["next_obs"], nobody) if cut.any() else np.zeros(size, np.float32)
            log.write(t, cut=cut, after=after)
            log.write(t, **{name: answer[name] for name in ("reward", "terminated", "truncated")})
            obs, first = answer["obs"], answer["terminated"] | answer["truncated"]
        last = np.asarray(value(students, memory, obs, first))
        found = log.arrays
        following = np.concatenate([found["value"][:, 1:], last[:, None]], axis=1)
        found["next_value"] = np.where(found.pop("cut"), found.pop("after"), following)
        return Rollout(**found)


class _Log:
    """Arrays ``[S, T, B, ...]``, written step by step."""

    def __init__(self, count: int, steps: int, batch: int) -> None:
        self.arrays: dict[str, Any] = {}
        self._size = (count, steps, batch)

    def write(self, t: int, **values: Any) -> None:
        for name, value in values.items():
            array = np.asarray(value)
            if name not in self.arrays:
                self.arrays[name] = np.empty((*self._size, *array.shape[2:]), array.dtype)
            self.arrays[name][:, t] = array


@lru_cache(maxsize=64)
def compiled_student(student: Student, count: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How so many students act, and what they expect: ``act(students, key, t, memory, obs, first)`` gives memory and
    decision of step ``t``, ``value(students, memory, obs, first)`` the values.
    """
    act = over_students(student.act, count)

    def step(students: Any, key: PRNGKeyArray, t: Any, memory: Any, obs: Any, first: Any) -> Any:
        return act(students, jax.random.split(jax.random.fold_in(key, t), count), memory, obs, first)

    return jax.jit(step), jax.jit(over_students(student.value, count))


def play_episodes(
    act: Callable[..., Any],
    memory: Callable[[int], Any],
    env: HostEnvironment,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
    levels: Level,
    longest: int,
    watch: Callable[[Mapping[str, np.ndarray]], None] = lambda step: None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One episode on each level, to its end: seeds, returns and lengths. As many are played at once as the fleet has.

    ``act(keys, t, memory, obs)`` gives memory and actions of a batch; ``keys`` are those by which each episode starts
    and goes on. ``watch`` sees the actions and answers of every step.
    """
    named = by_name(levels)
    fleet = hire(env, named)
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
