"""Teachers that design: how they are paid, when they learn, and that they learn."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import UserError, build, override, preset
from tutelage.algorithms import METHODS, Parts
from tutelage.settings import (
    AdversarySettings,
    PairedSettings,
    PLRSettings,
    PPOSettings,
    RepairedSettings,
    ReplaySettings,
    TeacherSettings,
)
from tutelage.types import GENERATED, REPLAYED

TINY = {
    "env.size": "3",
    "env.view": "3",
    "env.blocks": "2",
    "env.max_steps": "6",
    "network.core": "none",
    "network.width": "8",
    "network.filters": "2",
    "teacher.filters": "2",
    "teacher.width": "4",
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
        state, metrics = step(state)
        states.append((state, {name: float(value) for name, value in metrics.items()}))
    return states


def same(a: Any, b: Any) -> bool:
    return all((x == y).all() for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.fixture(scope="module")
def repaired():
    return history("repaired", 24)


@pytest.fixture(scope="module")
def paired():
    return history("paired", 1)


def test_the_teacher_is_paid_at_its_last_step_and_nothing_comes_after(paired):
    (_, _), (state, metrics) = paired
    pending = state.curriculum.pending
    reward = np.asarray(pending.reward[0])
    assert (reward[:-1] == 0).all()
    assert reward[-1].mean() == pytest.approx(metrics["teacher/reward"])
    assert np.asarray(pending.terminated[0]).tolist() == [[False] * 4] * (reward.shape[0] - 1) + [[True] * 4]
    assert np.asarray(pending.first[0]).tolist() == [[True] * 4] + [[False] * 4] * (reward.shape[0] - 1)


def test_both_students_of_paired_learn_from_the_same_new_levels(paired):
    (before, _), (after, metrics) = paired
    assert metrics["learned"] == 1
    for student in range(2):
        change = jax.tree.map(lambda x, i=student: x[i], (before.students.params, after.students.params))
        assert not same(*change)
    assert {"student-0/return", "student-1/return"} <= set(metrics)


def test_repaired_only_evaluates_new_levels_and_pays_the_teacher_for_them_only(repaired):
    sources = set()
    for (before, _), (after, metrics) in pairwise(repaired):
        sources.add(metrics["source"])
        if metrics["source"] == GENERATED:
            assert same(before.students.params, after.students.params)
            assert not same(before.curriculum.base.teacher.params, after.curriculum.base.teacher.params)
        else:
            assert not same(before.students.params, after.students.params)
            assert same(before.curriculum.base.teacher, after.curriculum.base.teacher)
            assert np.isnan(metrics["teacher/reward"])
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
        state, metrics = trainer.step(state)
        return state, metrics["teacher/reward"]

    rewards = jax.jit(lambda state: jax.lax.scan(step, state, None, 300)[1])(jax.jit(trainer.init)(0))
    assert float(rewards[0]) == pytest.approx(-2, abs=0.5)
    assert float(rewards[-1]) == pytest.approx(-1, abs=0.05)


def teacher_of(**changes: str) -> Any:
    """The designer that settings lead to, and the shapes of its state: nothing is compiled."""
    trainer = build(settings("paired", **changes))
    state = jax.eval_shape(lambda: trainer.init(0)).curriculum.teacher
    return trainer.curriculum, [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize(("name", "value"), [("filters", 3), ("time", 3), ("core", "lstm"), ("head", 3), ("width", 3)])
def test_every_setting_of_a_teachers_network_changes_it(name, value):
    memory = {"teacher.core": "lstm"} if name == "width" else {}
    assert teacher_of(**memory)[1] != teacher_of(**memory, **{f"teacher.{name}": str(value)})[1]


def test_a_teacher_learns_by_its_own_settings_and_else_by_the_students():
    curriculum, _ = teacher_of(**{"teacher.learning_rate": "0.5", "teacher.entropy_coef": "5", "ppo.epochs": "7"})
    ppo = curriculum.designer.teacher.ppo
    assert (ppo.learning_rate, ppo.entropy_coef, ppo.epochs, ppo.anneal) == (0.5, 5, 7, False)
    assert {field.name for field in fields(TeacherSettings)} == {
        *("filters", "time", "core", "head", "width"),
        *("learning_rate", "entropy_coef"),
    }


def test_every_adversary_setting_reaches_the_objective():
    curriculum, _ = teacher_of(**{"adversary.objective": "pvl", "adversary.clip": "true", "adversary.students": "3"})
    assert (curriculum.objective.name, curriculum.objective.clip, curriculum.students) == ("pvl", True, 3)
    assert {field.name for field in fields(AdversarySettings)} == {"objective", "clip", "students"}


def test_a_learned_editor_edits_replayed_levels_and_is_paid_when_they_were_played():
    learned = {"evolve.editor": "learned", "evolve.edits": "2", "replay.rate": "0.8"}
    chosen = override(preset("maze", "accel", "small"), TINY | REPLAYING | learned)
    trainer = build(chosen)
    state, step = jax.jit(trainer.init)(0), jax.jit(trainer.step)
    paid = 0
    for _ in range(16):
        before = state.curriculum.editor.teacher.params
        state, metrics = step(state)
        edited = metrics["source"] == 2
        assert same(before, state.curriculum.editor.teacher.params) != bool(edited)
        assert bool(jnp.isnan(metrics["teacher/reward"])) != bool(edited)
        paid += int(edited)
    assert paid > 0


# --- what is refused, before anything is compiled


def test_an_environment_without_a_design_task_cannot_be_designed(toy):
    for name, chosen in (("paired", PairedSettings()), ("repaired", RepairedSettings())):
        with pytest.raises(UserError, match="no design task"):
            METHODS[name].build(chosen, Parts(toy, 4, PPOSettings()))
    accel = preset("maze", "accel").curriculum
    accel = replace(accel, evolve=replace(accel.evolve, editor="learned"))
    with pytest.raises(UserError, match="no editing task"):
        METHODS["accel"].build(accel, Parts(toy, 4, PPOSettings()))


@pytest.mark.parametrize(("objective", "students"), [("regret", 1), ("regret", 3), ("population-regret", 1)])
def test_a_method_with_too_few_or_too_many_students_is_refused(objective, students):
    with pytest.raises(UserError, match=f"adversary.students is {students}, and the objective {objective} needs"):
        AdversarySettings(objective, students=students)


def test_exact_regret_needs_an_environment_that_knows_it(toy):
    """The toy does not; mazes do. For the objective, see test_objectives."""
    replay = ReplaySettings(score="exact-regret")
    with pytest.raises(UserError, match="exact-regret needs an environment that knows its optimal returns"):
        METHODS["plr"].build(PLRSettings(replay), Parts(toy, 4, PPOSettings()))
    build(override(preset("maze", "plr"), {"replay.score": "exact-regret"}))
    build(settings("paired", **{"adversary.objective": "exact-regret"}))
