"""What teachers are paid for, by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.curricula.objectives import Objective
from tutelage.errors import UserError
from tutelage.scores import Score
from tutelage.types import Rollout


def rollout(rewards, values=0.0) -> Rollout:
    """One-step episodes ``[S, T, B]``: every reward is a return."""
    reward = jnp.asarray(rewards, jnp.float32)
    value = jnp.broadcast_to(jnp.asarray(values, jnp.float32), reward.shape)
    yes, no = jnp.ones(reward.shape, bool), jnp.zeros(reward.shape, bool)
    return Rollout((), (), value, (), value, value, reward, terminated=yes, truncated=no, done=yes, first=yes)


# Two students, three episodes, two levels.
PLAYED = rollout([[[0.0, 0.9], [0.3, 0.9], [0.0, 0.9]], [[0.2, 0.1], [0.8, 0.3], [0.5, 0.2]]])


def pay(name, played=PLAYED, **options):
    objective = Objective(name, 0.9, 0.8, **options)
    levels = jnp.zeros(played.reward.shape[::2], jnp.int32)
    return objective(levels, played).tolist()


def test_regret_is_the_difference_of_mean_returns():
    assert pay("regret") == pytest.approx([0.5 - 0.1, 0.2 - 0.9])


def test_on_request_the_antagonists_best_episode_counts():
    assert pay("regret", antagonist="best") == pytest.approx([0.8 - 0.1, 0.3 - 0.9])


def test_the_antagonists_return_so_far_counts_where_no_episode_was_completed():
    """Two steps without an end: the return so far is their sum."""
    no = jnp.zeros(PLAYED.reward.shape, bool)
    unfinished = PLAYED._replace(terminated=no, done=no, first=no.at[:, 0].set(True))
    expected = pytest.approx([1.5 - 0.3, 0.6 - 2.7])
    assert pay("regret", unfinished, antagonist="best") == pay("regret", unfinished) == expected


def test_equal_students_show_a_regret_only_where_the_best_episode_counts():
    """Both solve every other episode of a level, for 0.88: nobody does better than the other."""
    played = rollout([[[0.88], [0.0]], [[0.0], [0.88]]])
    for objective in ("regret", "population-regret"):
        assert pay(objective, played) == pytest.approx([0.0])
        assert pay(objective, played, antagonist="best") == pytest.approx([0.44])


def test_clipping_is_a_switch_and_off():
    assert pay("regret", clip=True) == pytest.approx([0.4, 0.0])
    assert Objective("regret", 0.9, 0.8).clip is False


def test_minimax_is_never_clipped():
    """Its pay is below 0 wherever the student earns something: clipped, the teacher would be paid nothing at all."""
    assert pay("minimax", clip=True) == pay("minimax")


def test_minimax_pays_minus_the_students_return():
    assert pay("minimax") == pytest.approx([-(0.1 + 0.5) / 2, -(0.9 + 0.2) / 2])


def test_population_regret_is_the_best_student_minus_the_mean_of_all():
    assert pay("population-regret") == pytest.approx([0.5 - 0.3, 0.9 - 0.55])
    assert pay("population-regret", antagonist="best") == pytest.approx([0.8 - 0.3, 0.9 - 0.55])


def test_exact_regret_is_against_the_optimum_and_of_the_first_student():
    assert pay("exact-regret", optimum=lambda level: jnp.float32(1.0)) == pytest.approx([0.9, 0.1])


def test_pvl_is_the_students_mean_of_the_score_of_that_name():
    played = rollout(np.asarray(PLAYED.reward), values=0.4)
    score = Score("pvl", 0.9, 0.8)
    view = score.view(played)
    expected = score(played, view, view.best).mean(axis=0)
    assert pay("pvl", played) == pytest.approx(expected.tolist())


def test_what_cannot_be_paid_for_is_refused():
    with pytest.raises(UserError, match="needs an environment that knows its optimal returns"):
        Objective("exact-regret", 0.9, 0.8)
    with pytest.raises(UserError, match="Did you mean minimax"):
        Objective("minmax", 0.9, 0.8)  # pyright: ignore
