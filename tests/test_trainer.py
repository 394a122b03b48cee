"""The step: learning only where the curriculum allows it, compiled once, however a run is cut into dispatches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.curricula.base import newly_generated
from tutelage.curricula.random import DomainRandomization
from tutelage.envs.base import Rules
from tutelage.methods.accel import AccelSettings
from tutelage.methods.base import Parts
from tutelage.methods.plr import PLRSettings
from tutelage.methods.registry import find
from tutelage.methods.robust_plr import RobustPLRSettings
from tutelage.rl.learner import Learner
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import EvolveSettings, PPOSettings, ReplaySettings
from tutelage.trainer import Trainer, TrainState, compiled
from tutelage.types import SOURCES, Rollout

PPO = PPOSettings(epochs=2, learning_rate=0.01, anneal=True)
REPLAY = ReplaySettings(capacity=8, min_fill=0.5, rate=0.7)


@dataclass(frozen=True)
class Watched:
    """An environment that counts how often its step is traced."""

    env: Any
    traced: list

    @property
    def action_space(self) -> Any:
        return self.env.action_space

    def prepare(self, level: Any) -> Any:
        return self.env.prepare(level)

    def reset(self, key: Any, level: Any) -> Any:
        return self.env.reset(key, level)

    def step(self, key: Any, state: Any, action: Any, level: Any) -> Any:
        self.traced.append(1)
        return self.env.step(key, state, action, level)


@pytest.fixture(scope="session")
def trainer(toy, toy_agent) -> Trainer:
    """ACCEL on the toy: it generates, replays and edits."""
    curriculum = find("accel").build(AccelSettings(REPLAY, EvolveSettings()), Parts(toy, 4, 6, PPO))
    learner, domain = ppo_learner(toy_agent(), PPO), replace(toy, env=Watched(toy.env, []))
    return Trainer(domain, learner, curriculum, students=1, levels=4, rollout=6, iterations=12)


@pytest.fixture(scope="session")
def start(trainer, random_state):
    """A function to make the state before the first iteration, as often as one likes: dispatches use states up."""
    students = random_state(trainer.learner, np.zeros(4, np.float32))

    def fresh() -> TrainState:
        stacked = jax.tree.map(lambda x: jnp.array(x[None]), students)
        curriculum = jax.jit(trainer.curriculum.init)(jax.random.key(1))
        return TrainState(stacked, curriculum, jax.random.key(2), jax.random.key(3), jnp.int32(0))

    return fresh


@pytest.fixture(scope="session")
def run(trainer, start):
    """The compiled program; what is traced after its first dispatch is traced once too often."""
    program = compiled(trainer, 4)
    program(start(), 1)
    trainer.domain.env.traced.clear()
    return program


def as_numpy(state: TrainState) -> Any:
    return jax.tree.map(np.array, state._replace(key=(), branch_key=()))


def updates(students: Any) -> int:
    """How often the optimiser has moved the only student."""
    (counts,) = [s.count for s in jax.tree.leaves(students.optimiser, is_leaf=_is_adam) if _is_adam(s)]
    return int(counts[0])


def _is_adam(tree: Any) -> bool:
    return hasattr(tree, "mu")


def test_how_a_run_is_cut_into_dispatches_does_not_change_a_bit(run, start):
    whole, log = run(start(), 4)
    state, parts = start(), []
    for n in (1, 1, 2):
        state, report = run(state, n)
        assert all(np.isnan(values[n:]).all() for values in jax.tree.leaves(report)), "past n there is nothing"
        parts.append(jax.tree.map(lambda values, n=n: values[:n], report))
    jax.tree.map(np.testing.assert_array_equal, as_numpy(whole), as_numpy(state))
    jax.tree.map(lambda values, *parts: np.testing.assert_array_equal(values, np.concatenate(parts)), log, *parts)


def test_the_step_is_traced_for_one_program_only(trainer, run, start):
    state = start()
    for n in (1, 4, 2):
        state, _ = run(state, n)
    assert trainer.domain.env.traced == []


def test_students_stay_bit_identical_where_nobody_learns(run, start):
    state, learned = start(), []
    for _ in range(12):
        before = as_numpy(state).students
        state, report = run(state, 1)
        after, learns = as_numpy(state).students, bool(report.learned[0])
        changed = jax.tree.leaves(jax.tree.map(lambda a, b: not np.array_equal(a, b), before, after))
        assert any(changed) == learns
        assert report.learned[0] in (0, 1), "all of a batch or nothing of it"
        assert np.isnan(report.metrics["ppo/policy_loss"][0]) == (not learns)
        assert updates(after) == updates(before) + PPO.epochs * learns
        learned.append(learns)
    assert any(learned)
    assert not all(learned)


def test_levels_are_described_whatever_their_source(run, start):
    """A run logs its levels' metrics and their source at every iteration; for mazes these tell if they are solvable."""
    state, sources = start(), set()
    for _ in range(3):
        state, report = run(state, 4)
        assert np.isfinite(report.metrics["level/goal"]).all()
        assert (report.sources.sum(axis=1) == 1).all()
        for name, share in zip(SOURCES, report.sources.T, strict=True):
            own = report.metrics[f"{name}/level/goal"]
            assert (np.isnan(own) == (share == 0)).all(), "there is no mean of nothing"
            np.testing.assert_allclose(own[share == 1], report.metrics["level/goal"][share == 1], rtol=1e-6)
            sources |= {name} if share.any() else set()
    assert sources == set(SOURCES)


def test_a_batch_is_described_by_its_solved_levels_its_regret_and_its_actions(trainer, toy, outcome):
    """Returns of the four levels are goal % 7 / 7 - 0.4; those above 0 are solved."""
    goals = np.array([[1, 3, 5, 6]], np.int32)
    levels = jax.eval_shape(toy.levels.sample, jax.random.key(0))._replace(goal=goals, limit=np.full_like(goals, 4))
    rollout = outcome(levels)._replace(action=np.array([[[0, 0, 1, 1], [0, 1, 1, 0]]]))
    knowing = replace(toy, rules=Rules(optimum=lambda level: level.goal / 7.0))
    describe = jax.jit(replace(trainer, domain=knowing).describer)
    proposal = newly_generated(levels)
    sources, metrics = describe(proposal, rollout, {"worth": goals / 2.0})
    assert sources.tolist() == [1, 0, 0]
    assert metrics["episodes"] == 4
    assert metrics["worth"] == metrics["generated/worth"] == 15 / 8
    assert metrics["solved"] == 0.75
    assert metrics["solved-level/goal"] == pytest.approx((3 + 5 + 6) / 3)
    assert metrics["regret"] == pytest.approx(0.4)
    assert metrics["action-complexity"] == 2.0, "two actions, of which no two make a word yet"
    _, none = describe(proposal, rollout._replace(reward=rollout.reward - 1), {"worth": goals / 2.0})
    assert np.isnan(none["solved-level/goal"]), "there is no mean of nothing"
    assert np.isfinite(none["level/goal"])


def equations(jaxpr: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Every equation of a program with the equations that enclose it."""
    for equation in jaxpr.eqns:
        yield equation, inside
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from equations(inner, (*inside, equation))


def test_students_are_drawn_one_after_the_other(trainer):
    """Batches of decompositions wait for each other forever on a machine of two cores: PAIRED never started there."""
    several, key = replace(trainer, students=2), jax.random.key(0)
    decompositions = [
        equation.invars[0].aval.shape
        for equation, _ in equations(jax.make_jaxpr(several._first)(key, key).jaxpr)
        if equation.primitive.name in ("geqrf", "householder_product", "qr")
    ]
    assert decompositions
    assert all(len(shape) == 2 for shape in decompositions)


@dataclass(frozen=True)
class Marked:
    """A learner whose update can be recognised in a program by its name."""

    learner: Learner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)

    def update(self, *args: Any) -> Any:
        def learn_from_rollout(*args: Any) -> Any:
            return self.learner.update(*args)

        return jax.jit(learn_from_rollout)(*args)


@pytest.mark.parametrize("students", [1, 2])
def test_a_rollout_nobody_learns_from_costs_no_gradient(trainer, toy, students):
    """All learning is inside one branch of a conditional, and what decides is a single flag: a batched one would have
    become a select, which computes both sides.
    """
    base = find("robust-plr").build(RobustPLRSettings(REPLAY), Parts(toy, 4, 6, PPO))
    curriculum = replace(base, base=replace(base.base, students=students), students=students)
    several = replace(trainer, learner=Marked(trainer.learner), curriculum=curriculum, students=students)
    state = jax.eval_shape(several.init, 0)
    found = 0
    for equation, inside in equations(jax.make_jaxpr(several.step)(state).jaxpr):
        if equation.params.get("name") == "learn_from_rollout":
            found += 1
            conditionals = [outer for outer in inside if outer.primitive.name == "cond"]
            assert len(conditionals) == 1
            assert conditionals[0].invars[0].aval.shape == ()
    assert found == 1


@dataclass(frozen=True)
class Idle:
    """A learner that learns nothing and reports how far the run is."""

    learner: Learner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)

    def update(self, key: Any, state: Any, rollout: Any, progress: Any) -> Any:
        return state, {"progress": progress}


def test_progress_is_that_of_the_whole_run(trainer, toy, start):
    """It follows from the iteration, which is part of the state: a run that is resumed goes on where it stopped."""
    idle = replace(trainer, learner=Idle(trainer.learner), curriculum=DomainRandomization(toy.levels.sample, 4))
    step = jax.jit(idle.step)
    for iteration in (0, 6, 11):
        state = start()._replace(curriculum=(), iteration=jnp.int32(iteration))
        assert step(state)[1].metrics["ppo/progress"] == pytest.approx(iteration / 12)


@dataclass(frozen=True)
class Shown(Idle):
    """A learner that learns nothing and reports the advantages it would have learned from, step by step."""

    def update(self, key: Any, state: Any, rollout: Any, progress: Any) -> Any:
        batch = self.learner._batch(state.agent, state.agent, rollout)
        advantages = (batch.target - batch.value).reshape(rollout.reward.shape).mean(axis=1)
        return state, {f"advantage-{i}": a for i, a in enumerate(advantages)}


@pytest.mark.parametrize(
    ("time_limit", "advantages", "score"),
    [
        # TD errors 0.5, 0.5 | 0.5, 1.5: the limit cuts, and its value is gone on with.
        ("bootstrap", [0.5 + 0.25 * 0.5, 0.5, 0.5 + 0.25 * 1.5, 1.5], (0.625 + 0.5) / 2),
        # TD errors 0.5, 0 | 0.5, 1.5: nothing follows the limit. The end of the rollout is no limit.
        ("terminate", [0.5, 0.0, 0.5 + 0.25 * 1.5, 1.5], (0.5 + 0.0) / 2),
    ],
)
def test_a_time_limit_is_an_end_or_not_for_advantages_and_scores(trainer, toy, start, time_limit, advantages, score):
    """Rewards and values of 1, a limit after the second step, and a value of 3 after the last one."""
    ppo = replace(PPO, discount=0.5, gae_lambda=0.5, time_limit=time_limit)
    learner = Shown(ppo_learner(trainer.learner.agent, ppo))
    curriculum = find("plr").build(PLRSettings(replace(REPLAY, score="gae")), Parts(toy, 4, 4, ppo))
    limited = replace(trainer, learner=learner, curriculum=curriculum, rollout=4)

    def steps(values: list, dtype: Any = np.float32) -> np.ndarray:
        return np.broadcast_to(np.array(values, dtype)[None, :, None], (1, 4, 4))

    ones, at_limit = steps([1, 1, 1, 1]), steps([0, 1, 0, 0], bool)
    played = Rollout(
        obs=np.zeros((1, 4, 4, 4), np.float32),
        action=np.zeros((1, 4, 4), np.int32),
        log_prob=ones,
        policy=np.zeros((1, 4, 4, 3), np.float32),
        value=ones,
        next_value=steps([1, 1, 1, 3]),
        reward=ones,
        terminated=steps([0, 0, 0, 0], bool),
        truncated=at_limit,
        done=at_limit,
        first=steps([1, 0, 1, 0], bool),
    )
    state = start()._replace(curriculum=curriculum.init(jax.random.key(1)))
    after, report = jax.jit(lambda: limited.finish(state, *limited.propose(state), played))()
    assert [report.metrics[f"ppo/advantage-{i}"] for i in range(4)] == pytest.approx(advantages)
    buffer = after.curriculum.buffer
    assert buffer.score[0, : int(buffer.size[0])].tolist() == pytest.approx([score] * int(buffer.size[0]))
    assert buffer.best[0, 0] == 1.5  # discounted; the episode is complete in both cases


def test_steps_are_those_of_one_student(trainer):
    assert trainer.steps_per_iteration == replace(trainer, students=2).steps_per_iteration == 4 * 6
