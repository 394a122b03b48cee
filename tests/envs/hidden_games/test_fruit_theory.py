"""Fruit: one decision, and nothing to see. What follows from the payoffs, and what a curriculum makes of it.

The level (1,) is that of the apple, (0,) that of the banana; p is the probability to choose the apple.
"""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from tutelage.envs.hidden_games import solve
from tutelage.envs.hidden_games.settings import fruit

from .dynamics import domain_randomisation, highest, pvl, score, train, true_gap, value

APPLE, BANANA = (1,), (0,)
SHARES = [0.3, 0.5, 0.7]


def choosing(p):
    return {(): p}


@pytest.mark.parametrize(("q", "apple", "banana"), [(0.7, "2.1", "3"), (0.5, "1.5", "5"), (0.3, "0.9", "7")])
def test_utilities_are_linear_and_the_banana_is_bayes_optimal_below_ten_thirteenths(q, apple, banana):
    game, exact = fruit(q), solve.exact(q)
    assert (solve.utility(game, choosing(F(1))), solve.utility(game, choosing(F(0)))) == (F(apple), F(banana))
    assert (3 * exact, 10 * (1 - exact)) == (F(apple), F(banana))
    assert solve.bayes(game) == choosing(0)
    assert solve.bayes(fruit(0.77)) == choosing(1)
    assert solve.bayes(fruit(0.76)) == choosing(0)
    loss = solve.utility(game, solve.bayes(game)) - solve.utility(game, choosing(F(3, 13)))
    assert loss == F(3, 13) * (10 - 13 * exact)


@pytest.mark.parametrize(
    ("q", "slope", "mixed", "loss"),
    [(0.7, -0.9, 2.79231, 0.20769), (0.5, -3.5, 4.19231, 0.80769), (0.3, -6.1, 5.59231, 1.40769)],
)
def test_the_equilibrium_policy_costs_more_the_farther_the_truth_is_from_a_tie(q, slope, mixed, loss):
    game = fruit(q)
    assert true_gap(game, ()) == pytest.approx(slope)
    p = solve.equilibrium(game).policy
    assert float(solve.utility(game, choosing(p))) == pytest.approx(mixed, abs=1e-5)
    assert float(solve.utility(game, solve.bayes(game))) - mixed == pytest.approx(loss, abs=1e-5)


def test_the_equilibrium_of_a_regret_teacher_does_not_know_the_truth():
    answers = {solve.equilibrium(fruit(q)) for q in SHARES}
    assert answers == {(F(3, 13), F(10, 13), F(30, 13))}
    game, (p, share, least) = fruit(0.7), answers.pop()
    assert [solve.regret(game, choosing(p), level) for level in (APPLE, BANANA)] == [least, least]
    # Neither side can do better: the student is paid the same for both fruits, the teacher for both levels.
    for policy in (F(0), p, F(1)):
        mean = share * solve.regret(game, choosing(policy), APPLE) + (1 - share) * solve.regret(
            game, choosing(policy), BANANA
        )
        assert mean == least
    for policy in np.linspace(0, 1, 14):
        assert max(solve.regret(game, choosing(policy), level) for level in (APPLE, BANANA)) >= least - 1e-9


def best_level(p):
    """For a teacher of exact regret."""
    return max((APPLE, BANANA), key=lambda level: solve.regret(fruit(0.7), choosing(p), level))


def test_alternating_best_responses_never_settle():
    p, seen = F(1), []
    for _ in range(6):
        level = best_level(p)
        p = F(1) if level == APPLE else F(0)  # the best answer to that level
        seen.append((level, p))
    assert seen == [(BANANA, 0), (APPLE, 1)] * 3


def test_fictitious_play_comes_close_to_the_equilibrium():
    apples, levels = np.ones(2), np.ones(2)  # chosen and shown so far: banana, apple
    for _ in range(20_000):
        chosen = int(3 * levels[1] >= 10 * levels[0])  # both at once, and the student prefers apples where it may
        shown = int(3 * apples[0] > 10 * apples[1])
        apples[chosen] += 1
        levels[shown] += 1
    student, teacher = apples[1] / apples.sum(), levels[1] / levels.sum()
    assert (student, teacher) == pytest.approx((0.2257, 0.7665), abs=1e-4)
    assert (student, teacher) == pytest.approx((3 / 13, 10 / 13), abs=0.01)


@pytest.mark.parametrize("q", SHARES)
def test_a_regret_teacher_holds_the_student_at_its_equilibrium_whatever_the_truth_is(q):
    game = fruit(q)
    trained = train(game, highest(game, solve.regret), 2000, 0.1)
    p = np.array([policy[()] for policy in trained.policies])
    assert p.mean() == pytest.approx(3 / 13, abs=0.03)
    assert (p[-500:].mean(), p[-500:].std()) == pytest.approx((0.220, 0.011), abs=1e-3)
    assert np.mean([level == APPLE for level in trained.shown[-500:]]) == pytest.approx(0.780, abs=1e-3)
    loss = solve.utility(game, solve.bayes(game)) - solve.utility(game, choosing(p[-500:].mean()))
    assert loss > {0.7: 0.1, 0.5: 0.7, 0.3: 0.7}[q]


@pytest.mark.parametrize(("q", "left"), [(0.7, 0.006), (0.5, 0.001), (0.3, 0.001)])
def test_domain_randomisation_and_grounding_go_to_the_bayes_optimal_fruit(q, left):
    """Every kind of grounding has the gradient of domain randomisation here: nothing is known before the last step."""
    game = fruit(q)
    policy = train(game, domain_randomisation(game), 2000, 0.1).policies[-1]
    assert policy[()] == pytest.approx(left, abs=6e-4)
    assert float(solve.utility(game, solve.bayes(game)) - solve.utility(game, policy)) < 0.01


@pytest.mark.parametrize("q", [0.05, 0.3, 0.5, 0.7, 0.76, 0.77, 0.9])
def test_the_grounded_gradient_has_the_sign_of_the_truth_on_every_level(q):
    game, exact = fruit(q), solve.exact(q)
    assert domain_randomisation(game)({})[1][()] == pytest.approx(float(13 * exact - 10))
    for p in (F(0), F(1, 4), F(1)):
        # What is paid in fictitious rewards is a line in p, the same on every level.
        paid = {solve.grounded_return(game, choosing(p), level) for level in (APPLE, BANANA)}
        assert paid == {10 * (1 - exact) + p * (13 * exact - 10)} == {solve.utility(game, choosing(p))}
        regrets = {solve.grounded_regret(game, choosing(p), level) for level in (APPLE, BANANA)}
        assert regrets == {p * (10 - 13 * exact) if exact < F(10, 13) else (1 - p) * (13 * exact - 10)}


# --- scores that stand in for regret

TABLE = [
    # p, share of apples that the critic knows, value, then apple / banana by regret, PVL, L1 and MaxMC
    (0, 0.7, 3.0, (3, 0), (0, 7), (3, 7), (0, 7)),
    (0, 0.5, 5.0, (3, 0), (0, 5), (5, 5), (-2, 5)),
    (3 / 13, 0.7, 2.7923, (2.3077, 2.3077), (0.0479, 5.5444), (2.1959, 6.1888), (0.2077, 7.2077)),
    (0.5, 0.7, 2.55, (1.5, 5), (0.225, 3.725), (1.5, 5), (0.45, 7.45)),
    (1, 0.7, 2.1, (0, 10), (0.9, 0), (0.9, 2.1), (0.9, 7.9)),
    (1, 0.5, 1.5, (0, 10), (1.5, 0), (1.5, 1.5), (1.5, 8.5)),
]


@pytest.mark.parametrize(("p", "known", "worth", "regrets", "pvls", "l1s", "maxmcs"), TABLE)
def test_scores_of_both_levels_with_a_critic_that_sees_nothing(p, known, worth, regrets, pvls, l1s, maxmcs):
    game, policy = fruit(known), choosing(p)
    critic = value(game, policy, ())
    assert float(critic) == pytest.approx(worth, abs=1e-4)
    for level, best, regret, positive, l1, maxmc in zip(
        (APPLE, BANANA), (3, 10), regrets, pvls, l1s, maxmcs, strict=True
    ):
        assert float(solve.regret(game, policy, level)) == pytest.approx(regret, abs=1e-4)
        assert float(pvl(game, policy, level)) == pytest.approx(positive, abs=1e-4)
        assert float(score(game, policy, level, abs)) == pytest.approx(l1, abs=1e-4)
        assert solve.optimum(game, level) == best
        assert float(best - critic) == pytest.approx(maxmc, abs=1e-4)
        signed = solve.level_return(game, policy, level) - critic
        assert float(score(game, policy, level, lambda a: a)) == pytest.approx(float(signed))


def test_pvl_rewards_levels_on_which_a_habit_is_right_and_can_lock_it_in():
    """The opposite of regret. Which fruit it ends with depends on where it starts."""

    def ends(q, start):
        game = fruit(q)
        return train(game, highest(game, pvl), 2000, 0.1, start).policies[-1][()]

    assert all(ends(q, 0.5) < 0.01 for q in SHARES)
    assert ends(0.7, 0.953) == pytest.approx(0.998, abs=1e-3)
    prefers_apple = [p for p in np.linspace(0, 1, 101) if highest(fruit(0.7), pvl)(choosing(p))[0] == APPLE]
    assert min(prefers_apple) == pytest.approx(0.91, abs=0.011)
