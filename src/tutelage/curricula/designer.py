"""A teacher that learns to design levels: a student of its own environment, paid when others have played its levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..envs.base import Brief, DesignTask, observation_spec
from ..rl.ppo import Student, StudentState
from ..rollout import JaxCollector
from ..types import Level, Metrics, Rollout


class DesignerState(NamedTuple):
    teacher: StudentState
    pending: Rollout
    """How the levels that are being played were designed, ``[1, T, B, ...]``: what the teacher will learn from."""


@dataclass(frozen=True)
class Designer:
    """A design task and the student who plays it."""

    task: DesignTask
    teacher: Student

    def init(self, key: PRNGKeyArray, starts: Level, number: int) -> DesignerState:
        """A new teacher of ``number`` levels at a time. ``starts`` has the shapes of what ``design`` will be given."""
        k_teacher, k_shape = jax.random.split(key)
        briefs = jax.eval_shape(self._briefs, k_shape, starts, jnp.zeros(number))
        obs = observation_spec(self.task, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), briefs))
        teacher = self.teacher.init(k_teacher, obs)
        shapes = jax.eval_shape(self._play, k_shape, teacher, briefs)
        return DesignerState(teacher, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes))

    def design(
        self, key: PRNGKeyArray, state: DesignerState, starts: Level, number: int
    ) -> tuple[DesignerState, Level]:
        """Design ``number`` levels, from ``starts`` (``[number, ...]``, or ``()`` to start from nothing)."""
        k_dice, k_play = jax.random.split(key)
        briefs = self._briefs(k_dice, starts, jnp.zeros(number))
        rollout = self._play(k_play, state.teacher, briefs)
        levels = jax.vmap(self._replay)(briefs, jnp.swapaxes(rollout.action[0], 0, 1))
        return state._replace(pending=rollout), levels

    def reward(
        self, key: PRNGKeyArray, state: DesignerState, rewards: Float[Array, " B"]
    ) -> tuple[DesignerState, Metrics]:
        """Pay for each level of the last design, at its last step, and learn from it."""
        pending = state.pending._replace(reward=state.pending.reward.at[0, -1].set(rewards))
        rollout = jax.tree.map(lambda x: x[0], pending)
        teacher, metrics = self.teacher.update(key, state.teacher, rollout, jnp.float32(0))
        return DesignerState(teacher, pending), {f"teacher/{name}": value for name, value in metrics.items()} | {
            "teacher/reward": rewards.mean()
        }

    def _briefs(self, key: PRNGKeyArray, starts: Level, each: Array) -> Brief:
        return Brief(jax.random.key_data(jax.random.split(key, each.shape[0])), starts)

    def _play(self, key: PRNGKeyArray, teacher: StudentState, briefs: Brief) -> Rollout:
        collect = JaxCollector(self.task, self.teacher, self.task.steps)
        return collect(key, *jax.tree.map(lambda x: x[None], (teacher, briefs)))

    def _replay(self, brief: Brief, actions: Array) -> Level:
        """The level that some actions lead to. The collector starts anew where an episode ends; this stops there."""
        unused = jax.random.key(0)

        def step(state: Any, action: Array) -> tuple[Any, None]:
            return self.task.step(unused, state, action)[0], None

        state, _ = jax.lax.scan(step, self.task.reset(unused, brief)[0], actions)
        return self.task.level(state)
