"""Icy road: two tiles, and the first says something about the second. Levels are dd, di, id, ii.

A policy is the probability to drive fast at the start, after a dry tile, and after ice.
"""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from tutelage.envs.hidden_games import solve
from tutelage.envs.hidden_games.settings import icy_road

from .dynamics import domain_randomisation, fictitious_pvl, grounded, highest, pvl, train, true_gap, value

GAME = icy_road(1, 15)
START, DRY, ICE = solve.histories(GAME)
LEVELS = [(0, 0), (0, 1), (1, 0), (1, 1)]
BEST = F(717, 272)


def fast(start, dry, ice):
    return {START: start, DRY: dry, ICE: ice}


def test_chances_follow_what_was_seen():
    assert [solve.chance(GAME, history) for history in (START, DRY, ICE)] == [F(1, 16), F(1, 17), F(2, 17)]
    assert solve.levels(GAME) == LEVELS
    assert [solve.probability(GAME, level) for level in LEVELS] == [F(15, 17), F(15, 272), F(15, 272), F(1, 136)]


def test_actions_are_worth_what_the_posterior_says():
    values = [solve.action_values(GAME, history) for history in (START, DRY, ICE)]
    assert values == [(F(21, 16), F(15, 16)), (F(23, 17), F(16, 17)), (F(12, 17), F(15, 17))]
    assert solve.bayes(GAME) == fast(1, 1, 0)
    # Fast is worth it while ice is rarer than one in ten.
    assert all(
        (solve.chance(GAME, history) < F(1, 10)) == (solve.bayes(GAME)[history] == 1) for history in (START, DRY, ICE)
    )


@pytest.mark.parametrize(
    ("policy", "worth"),
    [
        ((1, 1, 0), BEST),
        ((1, 1, 1), F(21, 8)),
        ((0, 0, 0), F(15, 8)),
        ((1, 0, 0), F(9, 4)),
        ((0, 1, 0), F(615, 272)),
        ((F(1, 10),) * 3, F(39, 20)),
    ],
)
def test_utilities(policy, worth):
    assert solve.utility(GAME, fast(*policy)) == worth
    assert value(GAME, fast(*policy), START) == worth


@pytest.mark.parametrize(
    ("policy", "returns", "regrets"),
    [
        ((1, 1, 0), (4, -7, -8, -9), (0, 9, 10, 9)),
        ((1, 1, 1), (4, -7, -7, -18), (0, 9, 9, 18)),
        ((0, 0, 0), (2, 1, 1, 0), (2, 1, 1, 0)),
        ((F(1, 10),) * 3, (F(22, 10), F(2, 10), F(2, 10), F(-18, 10)), (F(18, 10),) * 4),
    ],
)
def test_returns_and_regrets_of_every_level(policy, returns, regrets):
    assert tuple(solve.level_return(GAME, fast(*policy), level) for level in LEVELS) == returns
    assert tuple(solve.regret(GAME, fast(*policy), level) for level in LEVELS) == regrets


def test_a_regret_teacher_makes_every_tile_icy_with_one_in_ten_and_the_student_too_careful():
    p, share, regret = solve.equilibrium(GAME)
    assert (p, share, regret) == (F(1, 10), F(1, 10), F(9, 5))
    # Against such tiles all policies have the same regret, so that history tells nothing.
    chance = {level: np.prod([share if tile else 1 - share for tile in level]) for level in LEVELS}
    for policy in [(0, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]:
        assert sum(chance[level] * solve.regret(GAME, fast(*policy), level) for level in LEVELS) == regret
    assert solve.utility(GAME, fast(p, p, p)) == F(39, 20) < BEST


@pytest.mark.parametrize(
    ("policy", "scores"),
    [
        ((1, 1, 1), (1.0110, 0, 0.6471, 0)),
        ((1, 1, 0), (1.0055, 0, 0.0588, 0)),
        ((0, 0, 0), (0.0919, 0, 0.0588, 0)),
    ],
)
def test_pvl_of_real_rewards_prefers_dry_levels(policy, scores):
    found = [float(pvl(GAME, fast(*policy), level)) for level in LEVELS]
    assert found == pytest.approx(scores, abs=1e-4)
    assert np.argmax(found) == 0


@pytest.mark.parametrize(
    ("policy", "dry", "icy"),
    [
        ((1, 1, 1), (0.6824, 0.6090, 0.6457), (0.6824, 1.1419, 0.9122)),
        ((1, 1, 0), (0.6721, 0.6090, 0.6406), (0.6721, 0.1038, 0.3880)),
        ((0, 0, 0), (0.0620, 0.0554, 0.0587), (0.0620, 0.1038, 0.0829)),
    ],
)
def test_pvl_of_fictitious_rewards_shows_ice_to_whoever_is_fast_after_it(policy, dry, icy):
    for level in LEVELS:
        found = [float(each) for each in fictitious_pvl(GAME, fast(*policy), level)]
        assert [*found, np.mean(found)] == pytest.approx(icy if level[0] else dry, abs=1e-4)  # of the first tile only


# --- expected policy gradients


def greedy(policy):
    """The first tile with the larger score at the second step."""
    return float(fictitious_pvl(GAME, policy, (1, 0))[1] > fictitious_pvl(GAME, policy, (0, 0))[1])


TEACHERS = {
    "dr": domain_randomisation(GAME),
    "regret": highest(GAME, solve.regret),
    "pvl": highest(GAME, pvl),
    "samplr-greedy": grounded(GAME, greedy),
    "samplr-even": grounded(GAME, lambda policy: 0.5),
}
CHECKPOINTS = {
    "dr": {
        100: (0.969, 0.970, 0.432, 2.6079),
        400: (0.993, 0.993, 0.267, 2.6278),
        3000: (0.999, 0.999, 0.036, 2.6350),
    },
    "regret": {
        100: (0.086, 0.053, 0.060, 1.927),
        400: (0.069, 0.070, 0.091, 1.927),
        3000: (0.088, 0.063, 0.058, 1.932),
    },
    "pvl": {100: (0.989, 0.989, 0.5, 2.6224), 400: (0.997, 0.997, 0.5, 2.6286), 3000: (1.0, 1.0, 0.5, 2.6303)},
    "samplr-greedy": {
        100: (0.969, 0.963, 0.280, 2.6068),
        400: (0.993, 0.993, 0.280, 2.6277),
        3000: (0.999, 0.999, 0.280, 2.6323),
    },
    "samplr-even": {
        100: (0.969, 0.939, 0.152, 2.5990),
        400: (0.993, 0.987, 0.034, 2.6279),
        3000: (0.999, 0.998, 0.004, 2.6350),
    },
}
SHOWN = {
    "regret": {100: 0.090, 400: 0.074, 3000: 0.070},
    "pvl": {100: 0, 400: 0, 3000: 0},
    "samplr-greedy": {100: 0.230, 400: 0.058, 3000: 0.008},
}
"""Share of icy tiles; of grounded teachers, of first tiles."""


@pytest.fixture(scope="module")
def trained():
    return {name: train(GAME, teacher, 3000, 1.0) for name, teacher in TEACHERS.items()}


def utility(policy):
    return float(solve.utility(GAME, policy))


@pytest.mark.parametrize("name", TEACHERS)
def test_where_each_teacher_leads(trained, name):
    for steps, (*expected, worth) in CHECKPOINTS[name].items():
        policy = trained[name].policies[steps]
        assert list(policy.values()) == pytest.approx(expected, abs=1.1e-3)
        assert utility(policy) == pytest.approx(worth, abs=6e-4 if name == "regret" else 6e-5)
    for steps, share in SHOWN.get(name, {}).items():
        assert np.mean([np.mean(shown) for shown in trained[name].shown[:steps]]) == pytest.approx(share, abs=1e-3)


def test_a_regret_teacher_never_leads_near_the_optimum(trained):
    assert all(utility(trained["regret"].policies[steps]) < 2.0 for steps in (100, 400, 3000))


def test_pvl_never_shows_ice_so_that_nothing_is_learned_about_it(trained):
    assert {policy[ICE] for policy in trained["pvl"].policies} == {0.5}
    assert set(trained["pvl"].shown) == {(0, 0)}


def test_fictitious_transitions_teach_rare_histories_sooner_and_both_groundings_end_at_bayes(trained):
    samplr, naive = trained["samplr-even"], trained["dr"]
    assert samplr.policies[400][ICE] < 0.05
    assert naive.policies[400][ICE] > 0.2
    for run in (samplr, naive):
        assert all(abs(p - solve.bayes(GAME)[history]) < 0.05 for history, p in run.policies[3000].items())
        assert float(BEST) - utility(run.policies[3000]) < 0.002


def test_greedy_replay_leaves_ice_once_its_score_falls_below_that_of_dry_tiles(trained):
    """Which is why replay has staleness."""
    run = trained["samplr-greedy"]
    last = max(step for step, shown in enumerate(run.shown) if shown)
    assert last < 100
    after = fictitious_pvl(GAME, run.policies[last + 1], (1, 0))[1]
    assert float(after) < float(fictitious_pvl(GAME, run.policies[last + 1], (0, 0))[1]) < 0.6095
    assert run.policies[3000][ICE] == run.policies[last + 1][ICE] > 0.2


# --- is an advantage over several fictitious steps unbiased?


def advantages(share, critic):
    """Of both actions at the start, with lambda 0.95 and a share of icy first tiles that a curriculum chose."""
    policy = fast(F(1, 2), F(1, 2), F(1, 2))
    worth = {history: value(GAME, policy, history) if critic == "exact" else 0 for history in (START, DRY, ICE)}
    ice = solve.chance(GAME, START)
    step = (1 - ice) * worth[DRY] + ice * worth[ICE] - worth[START]
    later = {history: solve.mixed(F(1, 2), *solve.action_values(GAME, history)) - worth[history] for history in worth}
    tail = F(95, 100) * ((1 - share) * later[DRY] + share * later[ICE])
    return [float(now + step + tail) for now in solve.action_values(GAME, START)]


@pytest.mark.parametrize("share", [F(1, 16), F(1, 2), F(1)])
def test_an_exact_critic_keeps_the_curriculum_out_of_advantages(share):
    assert advantages(share, "exact") == pytest.approx([0.1875, -0.1875])


@pytest.mark.parametrize(
    ("share", "expected"),
    [(F(1, 16), (2.3813, 2.0063)), (F(1, 2), (2.2346, 1.8596)), (F(1), (2.0669, 1.6919))],
)
def test_a_wrong_critic_lets_it_in_as_a_shift_that_actions_share_here(share, expected):
    found = advantages(share, "zero")
    assert found == pytest.approx(expected, abs=1e-4)
    assert found[0] - found[1] == pytest.approx(0.375) == true_gap(GAME, START)


def test_robust_bayes_optimality_looks_at_the_histories_of_each_level():
    """The epsilon of always fast is 3/17 where there is ice, and a hundredth on average."""
    assert [solve.grounded_regret(GAME, fast(1, 1, 0), level) for level in LEVELS] == [0] * 4
    assert [solve.grounded_regret(GAME, fast(1, 1, 1), level) for level in LEVELS] == [0, 0, F(3, 17), F(3, 17)]
    assert float(BEST - solve.utility(GAME, fast(1, 1, 1))) == pytest.approx(0.01103, abs=1e-5)
