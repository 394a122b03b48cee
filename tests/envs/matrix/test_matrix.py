"""The one-step games: their payoffs, their exact answers, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tutelage import preset
from tutelage.envs.matrix.settings import ICE_CREAM, MatrixSettings, corollary_game, matrix, parse
from tutelage.envs.matrix.solve import expected_utility, maximin, minimax_regret, worst_payoff, worst_regret
from tutelage.errors import UserError
from tutelage.experiment import build_domain


def test_the_vendors_table_has_the_thesiss_expected_utilities_and_regrets():
    assert np.mean(ICE_CREAM, axis=1).round().tolist() == [200, 400, 383]
    assert [worst_regret(ICE_CREAM, row) for row in np.eye(3)] == [600, 250, 200]
    assert expected_utility(ICE_CREAM).policy.tolist() == [0, 1, 0]


def test_mixed_answers_by_hand():
    # Cold and hot decide: the regrets of medium and large are (50, 250) and (150, 0), equal at 4/9.
    answer = minimax_regret(ICE_CREAM)
    np.testing.assert_allclose(answer.policy, [0, 4 / 9, 5 / 9], atol=1e-6)
    assert answer.value == pytest.approx(1000 / 9)
    # Small and medium pay (250, 200) when cold and (150, 500) when hot, equal at 3/4.
    answer = maximin(ICE_CREAM)
    np.testing.assert_allclose(answer.policy, [3 / 4, 1 / 4, 0], atol=1e-6)
    assert answer.value == pytest.approx(237.5)
    assert worst_payoff(ICE_CREAM, answer.policy) == pytest.approx(answer.value)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_the_game_of_corollary_1_is_what_the_corollary_says(p):
    game = corollary_game(8, p, 0.01, 1.0)
    assert min(map(min, game)) >= 0
    assert max(map(max, game)) <= 1
    assert minimax_regret(game).value == pytest.approx(0.5)
    np.testing.assert_allclose(minimax_regret(game).policy, [0.5, 0.5, 0, 0], atol=1e-6)
    assert worst_regret(game, np.array([0, 0, 0.5, 0.5])) == pytest.approx(0.5 + (1 - p) / 2 - 0.01)


def test_the_environment_pays_what_the_matrix_says():
    domain = build_domain(preset("matrix", "dr"))
    for row in range(3):
        for column in range(3):
            level = domain.env.prepare(np.int32(column))  # pyright: ignore
            state, _ = domain.env.reset(None, level)  # pyright: ignore
            step = domain.env.step(None, state, np.int32(row), level)[1]  # pyright: ignore
            assert step.reward == ICE_CREAM[row][column]
            assert step.done
            assert step.transition.terminated
    assert [float(domain.rules.optimum(np.int32(column))) for column in range(3)] == [250, 500, 750]  # pyright: ignore


def test_columns_lie_side_by_side_on_a_line():
    vectors = build_domain(preset("matrix", "alp-gmm")).levels.vectors
    assert vectors is not None
    assert vectors.box == ((0.0,), (3.0,))
    places = [0.0, 0.99, 1.0, 2.5, 3.0]
    assert [int(vectors.level(None, np.array([place]))) for place in places] == [0, 0, 1, 2, 2]  # pyright: ignore


def test_any_matrix_can_be_given():
    assert parse("1 0; -2.5 1e2") == ((1, 0), (-2.5, 100))
    assert matrix(MatrixSettings("custom", "1 2 3")) == ((1, 2, 3),)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"game": "custom"}, "env.payoffs is empty"),
        ({"game": "custom", "payoffs": "1 2; 3"}, "Row 2 of env.payoffs has 1 entries and row 1 has 2"),
        ({"game": "custom", "payoffs": "1 2; 3 x"}, "Row 2 of env.payoffs is '3 x'; give numbers only"),
        ({"game": "custom", "payoffs": "1 inf"}, "not finite"),
        ({"game": "corollary-1", "epsilon": 0.4}, "give a number between 0 and 0.25"),
        ({"game": "corollary-1", "p": 1.0}, "between 0 and 1"),
        ({"game": "corollary-1", "columns": 2}, "at least 3"),
    ],
)
def test_a_game_that_cannot_be_is_refused(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        MatrixSettings(**settings)
