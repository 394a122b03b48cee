"""One training step for every method, and many steps as one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from .curricula.base import Curriculum, learned, only_if
from .devices import Devices
from .envs.base import Domain, observation_spec
from .figures import Describer, StepReport, finite
from .rl.learner import Learner, StudentState
from .rollout import Collector, collector
from .seeds import vmap_seeds
from .settings import OWN
from .students import vmap_students
from .types import Metrics, Proposal, Rollout, by_level


class TrainState(NamedTuple):
    """All there is to a run: what a checkpoint holds and a digest covers."""

    students: StudentState
    """Every array has a leading ``S`` axis."""
    curriculum: Any
    key: PRNGKeyArray
    branch_key: PRNGKeyArray
    """Decides when to replay and when to edit: the same for all seeds that train as one program."""
    iteration: Int[Array, ""]


class Keys(NamedTuple):
    """What is random in one iteration."""

    propose: PRNGKeyArray
    collect: PRNGKeyArray
    learn: PRNGKeyArray
    observe: PRNGKeyArray


@dataclass(frozen=True)
class Trainer:
    """Students, a curriculum, and the loop between them."""

    domain: Domain
    learner: Learner
    curriculum: Curriculum
    students: int
    levels: int
    rollout: int
    iterations: int
    """Length of the whole run; schedules end with it."""
    queue: int = 1
    """Levels that the curriculum proposes for each that is played at a time."""

    @property
    def devices(self) -> Devices:
        return self.learner.devices

    @property
    def steps_per_iteration(self) -> int:
        """Of one student, as the literature counts."""
        return self.levels * self.rollout

    def init(self, seed: int, shared_seed: int = OWN) -> TrainState:
        """The state before the first iteration. ``shared_seed`` is that of replay and edit decisions; without one, the
        run's own.
        """
        return self._init(jax.random.key(seed), jax.random.key(seed if shared_seed == OWN else shared_seed))

    @cached_property
    def _init(self) -> Callable[[PRNGKeyArray, PRNGKeyArray], TrainState]:
        """From keys, and compiled once: the same program for every seed."""
        return jax.jit(self._first)

    def _first(self, key: PRNGKeyArray, branch_key: PRNGKeyArray) -> TrainState:
        k_students, k_curriculum, k_run, _ = jax.random.split(key, 4)
        level = jax.eval_shape(self.domain.levels.sample, k_run)
        obs = observation_spec(self.domain.env, level)
        # One after the other and not under a vmap: orthogonal weights are a decomposition, and JAX spreads a batch of
        # those over the threads of the CPU. Several such batches at once can wait for each other forever.
        students = jax.lax.map(lambda key: self.learner.init(key, obs), jax.random.split(k_students, self.students))
        state = TrainState(
            students=students,
            curriculum=self.curriculum.init(k_curriculum),
            key=k_run,
            branch_key=jax.random.split(branch_key, 4)[3],  # the fourth: independent of those above, also of one seed
            iteration=jnp.int32(0),
        )
        return self.devices.replicate(state)

    @cached_property
    def collector(self) -> Collector:
        """Who plays."""
        return collector(self.domain.env, self.learner.agent, self.rollout, self.devices, self.queue)

    @cached_property
    def describer(self) -> Describer:
        """Who works out what is logged of a batch."""
        domain = self.domain
        rules, actions = domain.rules, domain.env.action_space
        return Describer(domain.levels.metrics, actions, rules.success, rules.optimum, self.queue)

    def step(self, state: TrainState) -> tuple[TrainState, StepReport]:
        """One iteration: propose, collect, learn, observe."""
        curriculum, proposal = self.propose(state)
        rollout = self.collector(self.keys(state).collect, state.students.agent, proposal.levels)
        return self.finish(state, curriculum, proposal, rollout)

    def keys(self, state: TrainState) -> Keys:
        """All that is random in the iteration that comes next."""
        return Keys(*jax.random.split(jax.random.fold_in(state.key, state.iteration), 4))

    def propose(self, state: TrainState) -> tuple[Any, Proposal]:
        """The levels to play, and the curriculum that has proposed them."""
        branch_key = jax.random.fold_in(state.branch_key, state.iteration)
        # Curricula see everything whole, on every device: there is one buffer, and they know nothing of devices.
        return self.devices.replicate(self.curriculum.propose(self.keys(state).propose, branch_key, state.curriculum))

    def finish(
        self, state: TrainState, curriculum: Any, proposal: Proposal, rollout: Rollout
    ) -> tuple[TrainState, StepReport]:
        """What follows from levels that were played: learn and observe."""
        keys = self.keys(state)
        if self.learner.ppo.time_limit == "terminate":
            rollout = rollout._replace(terminated=rollout.terminated | rollout.truncated)
        students, learning = self._learn(keys.learn, state, proposal, rollout)
        rollout = by_level(self.devices.replicate(rollout), self.queue)
        curriculum, info = self.curriculum.observe(keys.observe, curriculum, proposal, rollout, students)
        if info.adopt is not None:
            students = jax.tree.map(lambda x: x[info.adopt], students)
        sources, metrics = self.describer(proposal, rollout, info.figures)
        part = len(range(self.levels)[learned(self.curriculum)]) / self.levels
        sound = finite(rollout, students, curriculum)
        report = StepReport(sound, part * proposal.learn, sources, metrics | learning | info.metrics)
        after = TrainState(students, curriculum, state.key, state.branch_key, state.iteration + 1)
        return self.devices.replicate((after, report))

    def _learn(
        self, key: PRNGKeyArray, state: TrainState, proposal: Proposal, rollout: Rollout
    ) -> tuple[StudentState, Metrics]:
        """Learn if the proposal says so. The flag is one scalar: a rollout that nobody learns from costs no loss."""
        progress = state.iteration / self.iterations
        update = vmap_students(lambda k, s, r: self.learner.update(k, s, r, progress), self.students)
        part = learned(self.curriculum)
        experience = rollout if part == slice(None) else jax.tree.map(lambda x: x[:, :, part], rollout)

        def learn() -> tuple[StudentState, Metrics]:
            return update(jax.random.split(key, self.students), state.students, experience)

        students, metrics = only_if(proposal.learn, learn, state.students)
        return students, {f"ppo/{name}": value.mean() for name, value in metrics.items()}


def compiled(trainer: Trainer, most: int, seeds: int = 1) -> Callable[[TrainState, int], tuple[TrainState, StepReport]]:
    """A function that runs ``n <= most`` iterations in one dispatch and returns their reports ``[most]``, NaN past n.

    ``n`` is not part of the program, so every dispatch runs the same machine code: how a run is cut into dispatches
    does not change a bit of it. The state that is passed in is used up. Several ``seeds`` are one program: states (of
    which ``seeds.stack`` makes one) and reports then have a leading axis.

    Where levels are played outside of JAX, what comes before and after is compiled, and the loop is Python's.
    """
    if not trainer.collector.pure:
        return _in_parts(trainer, most)

    step = jax.jit(trainer.step, inline=True)  # traced once, both for its shapes and for the loop

    def run(state: TrainState, n: Array) -> tuple[TrainState, StepReport]:
        shapes = jax.eval_shape(step, state)[1]
        log = jax.tree.map(lambda x: jnp.full((most, *x.shape), jnp.nan, jnp.float32), shapes)

        def body(carry: tuple[Array, TrainState, StepReport]) -> tuple[Array, TrainState, StepReport]:
            i, state, log = carry
            state, report = step(state)
            return i + 1, state, jax.tree.map(lambda all, x: all.at[i].set(x.astype(jnp.float32)), log, report)

        _, state, log = jax.lax.while_loop(lambda carry: carry[0] < n, body, (jnp.int32(0), state, log))
        return state, log

    jitted = jax.jit(vmap_seeds(run, seeds), donate_argnums=0)
    return lambda state, n: jitted(state, jnp.int32(n))


def _in_parts(trainer: Trainer, most: int) -> Callable[[TrainState, int], tuple[TrainState, StepReport]]:
    keys, propose, finish = jax.jit(trainer.keys), jax.jit(trainer.propose), jax.jit(trainer.finish)

    def run(state: TrainState, n: int) -> tuple[TrainState, StepReport]:
        played = []
        for _ in range(n):
            curriculum, proposal = propose(state)
            rollout = trainer.collector(keys(state).collect, state.students.agent, proposal.levels)
            state, report = finish(state, curriculum, proposal, rollout)
            played.append(report)

        def column(*values: Array) -> np.ndarray:
            nothing = np.full_like(values[0], np.nan, np.float32)
            return np.array([*values, *[nothing] * (most - n)], np.float32)

        return state, jax.tree.map(column, *jax.device_get(played))

    return run
