"""A teacher that learns to design levels: a student of its own environment, paid when others have played its levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..envs.base import Brief, DesignTask, observation_spec
from ..rl.learner import Learner, StudentState
from ..rollout import JaxCollector
from ..types import Level, Metrics, Rollout


@dataclass(frozen=True)
class Designer:
    """A design task and the student who plays it."""

    task: DesignTask
    teacher: Learner

    def init(self, key: PRNGKeyArray, starts: Level, number: int) -> StudentState:
        """A new teacher of ``number`` levels at a time. ``starts`` has the shapes of what ``design`` will be given."""
        k_teacher, k_shape = jax.random.split(key)
        briefs = jax.eval_shape(self._briefs, k_shape, starts, jnp.zeros(number))
        obs = observation_spec(self.task, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), briefs))
        return self.teacher.init(k_teacher, obs)

    def design(self, key: PRNGKeyArray, teacher: StudentState, starts: Level, number: int) -> tuple[Level, Rollout]:
        """Design ``number`` levels, from ``starts`` (``[number, ...]``, or ``()`` to start from nothing). With them
        comes how they were designed, ``[1, T, B, ...]``: what the teacher will learn from.
        """
        k_briefs, k_play = jax.random.split(key)
        briefs = self._briefs(k_briefs, starts, jnp.zeros(number))
        rollout = self._play(k_play, teacher, briefs)
        return jax.vmap(self._replay)(briefs, jnp.swapaxes(rollout.action[0], 0, 1)), rollout

    def reward(
        self, key: PRNGKeyArray, teacher: StudentState, design: Rollout, rewards: Float[Array, " B"]
    ) -> tuple[StudentState, Metrics]:
        """Pay for each level of a design, at its last step, and learn from it."""
        paid = design._replace(reward=design.reward.at[0, -1].set(rewards))
        rollout = jax.tree.map(lambda x: x[0], paid)
        teacher, metrics = self.teacher.update(key, teacher, rollout, jnp.float32(0))
        return teacher, {f"teacher/{name}": value for name, value in metrics.items()} | {
            "teacher/reward": rewards.mean()
        }

    def _briefs(self, key: PRNGKeyArray, starts: Level, each: Array) -> Brief:
        return Brief(jax.random.key_data(jax.random.split(key, each.shape[0])), starts)

    def _play(self, key: PRNGKeyArray, teacher: StudentState, briefs: Brief) -> Rollout:
        collect = JaxCollector(self.task, self.teacher.agent, self.task.steps, self.teacher.devices)
        return collect(key, *jax.tree.map(lambda x: x[None], (teacher.agent, briefs)))

    def _replay(self, brief: Brief, actions: Array) -> Level:
        """The level that some actions lead to. The collector starts anew where an episode ends; this stops there."""
        unused, prepared = jax.random.key(0), self.task.prepare(brief)

        def step(state: Any, action: Array) -> tuple[Any, None]:
            return self.task.step(unused, state, action, prepared)[0], None

        state, _ = jax.lax.scan(step, self.task.reset(unused, prepared)[0], actions)
        return self.task.level(state)
