"""Stochastic Fruit Choice in MiniHack: what is paid, when it ends, and what grounding changes."""

from __future__ import annotations

from contextlib import closing

import pytest
from scipy.stats import binomtest

from tutelage.envs.minihack.engine import HIT_POINTS, TURN
from tutelage.envs.minihack_fruit.simulator import simulator

from .made_levels import EAT, KICK, NW, ONE_ROOM, SE, E, N, S, W, fruit_level


def play(game, actions):
    """Rewards and ends of all steps."""
    answers = [game.step(action) for action in actions]
    return [answer[1] for answer in answers], [answer[2] for answer in answers]


def start(game, level, seed=0):
    return game.reset(seed=seed, options={"level": level})[0]


@pytest.mark.parametrize(
    ("right", "fruit", "reward"), [(True, 1, 3.0), (False, 2, 10.0), (True, 2, 0.0), (False, 1, 0.0)]
)
def test_the_right_fruit_pays_and_either_is_the_end(right, fruit, reward):
    with closing(simulator(penalty="none")) as game:
        start(game, fruit_level(ONE_ROOM, right))
        rewards, ends = play(game, [E] * fruit + [EAT, E, KICK, SE, EAT, EAT, NW])
    assert rewards == [0.0] * (len(rewards) - 1) + [reward]
    assert ends == [False] * (len(ends) - 1) + [True]


def test_a_locked_door_is_kicked_open_in_two_steps_a_kick():
    with closing(simulator()) as game:
        start(game, fruit_level())
        play(game, [SE, E, E])
        turn = int(game.engine.stats[TURN])
        (bump, asked), _ = play(game, [E, KICK])
        assert bump == asked == -0.01
        assert game.engine.stats[TURN] == turn
        kicks = 0
        while True:
            game.step(E)
            kicks += 1
            assert game.engine.stats[TURN] == turn + kicks
            if b"WHAMM" not in game.engine.message:
                break
            game.step(KICK)
        assert b"crashes open" in game.engine.message
        rewards, ends = play(game, [E, E, EAT, NW])
    assert rewards[-1] == 3.0
    assert ends[-1]


def test_who_kicks_walls_dies_and_gets_nothing():
    with closing(simulator(penalty="none")) as game:
        seen = start(game, fruit_level(ONE_ROOM))
        assert seen["blstats"][HIT_POINTS] == 12
        total, over = 0.0, False
        for _ in range(100):
            for action in (KICK, W, S, N):  # time must pass for wounded legs to heal
                if not over:
                    _, reward, over, _, _ = game.step(action)
                    total += reward
    assert over
    assert total == 0.0


def test_an_episode_is_cut_off_at_its_limit():
    with closing(simulator(max_steps=5)) as game:
        start(game, fruit_level(ONE_ROOM))
        answers = [game.step(S) for _ in range(5)]
    assert [answer[3] for answer in answers] == [False] * 4 + [True]
    assert not any(answer[2] for answer in answers)


@pytest.mark.parametrize("hidden", ["level", "episode", "step"])
def test_grounding_draws_the_right_fruit_from_its_true_distribution(hidden):
    """On levels whose apple is right, with an apple that is right three times in ten."""
    episodes, paid = 120, 0
    with closing(simulator(apple=0.3, penalty="none", hidden=hidden)) as game:
        for seed in range(episodes):
            start(game, fruit_level(ONE_ROOM, True), seed)
            paid += play(game, [E, EAT, NW])[0][-1] == 3.0
    if hidden == "level":
        assert paid == episodes
    else:
        assert binomtest(paid, episodes, 0.3).pvalue > 1e-4
