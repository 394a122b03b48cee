"""Teachers that design: how they are paid, when they learn, and that they learn."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import UserError, build, override, preset
from tutelage.envs.maze.settings import MazeDesignEncoderSettings
from tutelage.figures import StepReport
from tutelage.methods.base import Parts
from tutelage.methods.paired import PairedSettings
from tutelage.methods.plr import PLRSettings
from tutelage.methods.registry import find
from tutelage.methods.repaired import RepairedSettings
from tutelage.rl.learner import Learner
from tutelage.settings import AdversarySettings, PPOSettings, ReplaySettings, TeacherSettings
from tutelage.types import EDITED, GENERATED, REPLAYED

TINY = {
    "env.size": "3",
    "env.view": "3",
    "env.blocks": "2",
    "env.max_steps": "6",
    "network.core": "none",
    "network.width": "8",
    "encoder.filters": "2",
    "teacher.encoder.filters": "2",
    "teacher.head": "4",
    "train.levels": "4",
    "train.rollout": "8",
}
REPLAYING = {"replay.capacity": "8", "replay.min_fill": "0.5", "replay.rate": "0.5"}


def settings(method: str, **changes: str) -> Any:
    replaying = REPLAYING if method == "repaired" else {}
    return override(preset("maze", method, "small"), TINY | replaying | changes)


def history(method: str, iterations: int) -> list[Any]:
    """The state before the first iteration and after each, and what happened in it."""
    trainer = build(settings(method))
    state = jax.jit(trainer.init)(0)
    step = jax.jit(trainer.step)
    states = [(state, None)]
    for _ in range(iterations):
        state, report = step(state)
        states.append((state, jax.tree.map(np.asarray, report)))
    return states


def source(report: StepReport) -> int:
    """The one source of all levels of a batch."""
    assert sorted(report.sources.tolist()) == [0, 0, 1]
    return int(np.argmax(report.sources))


def same(a: Any, b: Any) -> bool:
    return all((x == y).all() for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.fixture(scope="module")
def repaired():
    return history("repaired", 24)


@pytest.fixture(scope="module")
def paired():
    return history("paired", 1)


@dataclass(frozen=True)
class Keeping:
    """A teacher that keeps what it should learn from, in the place of what it would have learned."""

    teacher: Learner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.teacher, name)

    def update(self, key: Any, state: Any, rollout: Any, progress: Any) -> tuple[Any, dict[str, Any]]:
        return rollout, {}


def test_the_teacher_is_paid_at_its_last_step_and_nothing_comes_after():
    trainer = build(settings("paired"))
    designer = trainer.curriculum.designer
    curriculum = replace(trainer.curriculum, designer=replace(designer, teacher=Keeping(designer.teacher)))

    @jax.jit
    def iterate(state: Any) -> Any:
        _, proposal = trainer.propose(state)
        rollout = trainer.collector(jax.random.key(0), state.students.agent, proposal.levels)
        # What students earn by chance would hardly tell one level from another.
        rollout = rollout._replace(reward=jax.random.normal(jax.random.key(1), rollout.reward.shape))
        paid, info = curriculum.observe(jax.random.key(2), state.curriculum, proposal, rollout, state.students)
        return proposal.notes, paid, info, curriculum.objective(proposal.levels, rollout)

    design, paid, info, payment = jax.tree.map(np.asarray, iterate(jax.jit(trainer.init)(0)))
    steps = len(paid.reward)
    assert len(np.unique(payment)) == 4
    np.testing.assert_array_equal(paid.reward, [*np.zeros((steps - 1, 4)), payment])
    assert info.metrics["teacher/reward"] == pytest.approx(payment.mean())
    assert paid.terminated.tolist() == paid.done.tolist() == [[False] * 4] * (steps - 1) + [[True] * 4]
    assert paid.first.tolist() == [[True] * 4] + [[False] * 4] * (steps - 1)
    assert same(paid._replace(reward=()), jax.tree.map(lambda x: x[0], design._replace(reward=())))


def test_both_students_of_paired_learn_from_the_same_new_levels(paired):
    (before, _), (after, report) = paired
    assert report.learned == 1
    assert source(report) == GENERATED
    for student in range(2):
        change = jax.tree.map(lambda x, i=student: x[i], (before.students.agent.params, after.students.agent.params))
        assert not same(*change)
    assert {"student-0/return", "student-1/return"} <= set(report.metrics)


def test_repaired_only_evaluates_new_levels_and_pays_the_teacher_for_them_only(repaired):
    sources = set()
    for (before, _), (after, report) in pairwise(repaired):
        sources.add(source(report))
        if source(report) == GENERATED:
            assert same(before.students.agent.params, after.students.agent.params)
            assert not same(before.curriculum.base.agent.params, after.curriculum.base.agent.params)
        else:
            assert not same(before.students.agent.params, after.students.agent.params)
            assert same(before.curriculum.base, after.curriculum.base)
            assert np.isnan(report.metrics["teacher/reward"])
    assert sources == {GENERATED, REPLAYED}


def test_repaired_keeps_a_buffer_for_each_student_with_the_best_return_of_both(repaired):
    buffer = repaired[1][0].curriculum.buffer  # after the first batch, which both have played
    assert buffer.score.shape[0] == 2
    assert (buffer.best[0] == buffer.best[1]).all()
    last = repaired[-1][0].curriculum.buffer
    assert not (last.score[0] == last.score[1]).all()


def test_a_teacher_learns_what_it_is_paid_for():
    """Against a student that cannot learn, a minimax teacher finds the column that pays it least."""
    game = override(
        preset("matrix", "minimax"),
        {"env.game": "custom", "env.payoffs": "3 1 2; 3 1 2", "ppo.learning_rate": "1e-9", "teacher.entropy_coef": "0"},
    )
    trainer = build(game)

    def step(state: Any, _: None) -> tuple[Any, Any]:
        state, report = trainer.step(state)
        return state, report.metrics["teacher/reward"]

    rewards = jax.jit(lambda state: jax.lax.scan(step, state, None, 300)[1])(jax.jit(trainer.init)(0))
    assert float(rewards[0]) == pytest.approx(-2, abs=0.5)
    assert float(rewards[-1]) == pytest.approx(-1, abs=0.05)


def teacher_of(**changes: str) -> Any:
    """The designer that settings lead to, and the shapes of its state: nothing is compiled."""
    trainer = build(settings("paired", **changes))
    state = jax.eval_shape(lambda: trainer.init(0)).curriculum
    return trainer.curriculum, [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize(
    ("name", "value"), [("encoder.filters", 3), ("encoder.time", 3), ("core", "lstm"), ("head", 3), ("width", 3)]
)
def test_every_setting_of_a_teachers_network_changes_it(name, value):
    memory = {"teacher.core": "lstm", "teacher.width": "4"} if name == "width" else {}
    assert teacher_of(**memory)[1] != teacher_of(**memory | {f"teacher.{name}": str(value)})[1]


def test_a_teacher_learns_by_its_own_settings_and_else_by_the_students():
    curriculum, _ = teacher_of(**{"teacher.learning_rate": "0.5", "teacher.entropy_coef": "5", "ppo.epochs": "7"})
    ppo = curriculum.designer.teacher.ppo
    assert (ppo.learning_rate, ppo.entropy_coef, ppo.epochs, ppo.anneal) == (0.5, 5, 7, False)
    assert {field.name for field in fields(TeacherSettings)} == {
        *("encoder", "core", "head", "width"),
        *("learning_rate", "entropy_coef"),
    }
    assert {field.name for field in fields(MazeDesignEncoderSettings)} == {"filters", "time"}


def test_every_adversary_setting_reaches_the_objective():
    curriculum, _ = teacher_of(**{"adversary.objective": "pvl", "adversary.clip": "true", "adversary.students": "3"})
    assert (curriculum.objective.name, curriculum.objective.clip, curriculum.students) == ("pvl", True, 3)
    for antagonist in ("mean", "best"):
        assert teacher_of(**{"adversary.antagonist": antagonist})[0].objective.antagonist == antagonist
    assert {field.name for field in fields(AdversarySettings)} == {"objective", "clip", "antagonist", "students"}


def test_a_learned_editor_edits_replayed_levels_and_is_paid_when_they_were_played():
    learned = {"evolve.editor": "learned", "evolve.edits": "2", "replay.rate": "0.8"}
    chosen = override(preset("maze", "accel", "small"), TINY | REPLAYING | learned)
    trainer = build(chosen)
    state, step = jax.jit(trainer.init)(0), jax.jit(trainer.step)
    paid = 0
    for _ in range(16):
        before = state.curriculum.editor.agent.params
        state, report = step(state)
        edited = source(report) == EDITED
        assert same(before, state.curriculum.editor.agent.params) != edited
        assert bool(jnp.isnan(report.metrics["teacher/reward"])) != edited
        paid += edited
    assert paid > 0


# --- what is refused, before anything is compiled


def test_an_environment_without_a_design_task_cannot_be_designed(toy):
    for name, chosen in (("paired", PairedSettings()), ("repaired", RepairedSettings())):
        with pytest.raises(UserError, match="no design task"):
            find(name).build(chosen, Parts(toy, 4, 8, PPOSettings()))
    accel = preset("maze", "accel").curriculum
    accel = replace(accel, evolve=replace(accel.evolve, editor="learned"))
    with pytest.raises(UserError, match="no editing task"):
        find("accel").build(accel, Parts(toy, 4, 8, PPOSettings()))


@pytest.mark.parametrize(("objective", "students"), [("regret", 1), ("regret", 3), ("population-regret", 1)])
def test_a_method_with_too_few_or_too_many_students_is_refused(objective, students):
    with pytest.raises(UserError, match=f"adversary.students is {students}, and the objective {objective} needs"):
        AdversarySettings(objective, students=students)


def test_exact_regret_needs_an_environment_that_knows_it(toy):
    """The toy does not; mazes do. For the objective, see test_objectives."""
    replay = ReplaySettings(score="exact-regret")
    with pytest.raises(UserError, match="exact-regret needs an environment that knows its optimal returns"):
        find("plr").build(PLRSettings(replay), Parts(toy, 4, 8, PPOSettings()))
    build(override(preset("maze", "plr"), {"replay.score": "exact-regret"}))
    build(settings("paired", **{"adversary.objective": "exact-regret"}))
