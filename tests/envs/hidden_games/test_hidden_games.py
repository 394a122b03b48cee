"""The games as environments: payoffs, posteriors, what grounding pays and shows, and what scores make of it."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build_domain, override, preset
from tutelage.envs.base import HiddenParameters
from tutelage.envs.hidden_games import solve
from tutelage.envs.hidden_games.env import HiddenGame, HiddenState, TileSpace
from tutelage.envs.hidden_games.settings import HiddenGameSettings, fruit, icy_road
from tutelage.envs.wrappers import Grounded, Resampled
from tutelage.errors import UserError
from tutelage.rl.advantages import gae
from tutelage.scores import Score

from .dynamics import fictitious_pvl, value
from .playing import play

KEY = jax.random.key(0)
ROAD = icy_road(1, 15)
GAMES = [fruit(0.7), ROAD]
MANY = 8000


def repeated(level, number=MANY):
    return jnp.broadcast_to(jnp.array(level, bool), (number, len(level)))


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.tiles[1])
def test_an_episode_pays_what_the_table_says_and_shows_each_tile_after_it(game):
    env = HiddenGame(game)
    for level in solve.levels(game):
        for action in (0, 1):
            state, obs = env.reset(KEY, jnp.array(level, bool))
            for history, tile in solve.along(level):
                assert obs.argmax() == solve.histories(game).index(history)
                assert obs.sum() == 1
                state, step = env.step(KEY, state, jnp.int32(action), jnp.array(level, bool))
                assert float(step.reward) == solve.pay(game, tile, action)
                obs = step.obs
            assert step.done
            assert not obs.any()


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.tiles[1])
def test_random_levels_and_the_prior_are_the_true_distribution(game):
    env, keys = HiddenGame(game), jax.random.split(KEY, 20_000)
    drawn = jax.vmap(TileSpace(game).sample)(keys)
    again = jax.vmap(lambda key: env.prior(key, jnp.ones(game.number, bool)))(keys)
    for level in solve.levels(game):
        for levels in (drawn, again):
            share = (np.asarray(levels) == level).all(axis=1).mean()
            assert share == pytest.approx(float(solve.probability(game, level)), abs=0.012)
    assert isinstance(env, HiddenParameters)


@pytest.mark.parametrize("history", solve.histories(ROAD))
def test_the_posterior_keeps_what_was_seen_and_draws_the_rest_by_it(history):
    """Whatever the level says of tiles that are still hidden."""
    tiles = jnp.array([*history, 1, 1][:2], bool)
    state = HiddenState(tiles, jnp.int32(len(history)), jnp.int32(0))
    drawn = jax.vmap(lambda key: HiddenGame(ROAD).posterior(key, state, tiles))(jax.random.split(KEY, 40_000))
    drawn = np.asarray(drawn)
    assert (drawn[:, : len(history)] == np.array(history, bool)).all()
    next_tile = drawn[:, len(history)].mean()
    assert next_tile == pytest.approx(float(solve.chance(ROAD, history)), abs=0.005)
    if not history:  # one chance for all: ice on the first tile makes ice on the second likelier
        assert drawn[drawn[:, 0], 1].mean() == pytest.approx(2 / 17, abs=0.025)
    assert (HiddenGame(ROAD).impose(state, ~tiles).tiles == ~tiles).all()


@pytest.mark.parametrize("level", solve.levels(ROAD))
def test_fictitious_rewards_are_worth_the_posterior_and_histories_are_the_levels(level):
    rollout = play(Grounded(HiddenGame(ROAD)), repeated(level), [0.5] * 3, [0.0] * 3, 2)
    for time, (history, _) in enumerate(solve.along(level)):
        assert (rollout.obs[0, time].argmax(axis=-1) == solve.histories(ROAD).index(history)).all()
        for action, worth in enumerate(solve.action_values(ROAD, history)):
            paid = rollout.reward[0, time][rollout.action[0, time] == action]
            assert paid.mean() == pytest.approx(float(worth), abs=0.2 if action == 0 else 0.03)


def test_naive_grounding_pays_and_shows_the_truth_whatever_the_level_says():
    rollout = play(Resampled(HiddenGame(ROAD)), repeated((1, 1)), [1.0, 1.0, 0.0], [0.0] * 3, 2)
    assert rollout.reward[0].sum(axis=0).mean() == pytest.approx(717 / 272, abs=0.12)
    assert (rollout.obs[0, 1, :, 2] == 1).mean() == pytest.approx(1 / 16, abs=0.01)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.tiles[1])
def test_optima_with_and_without_grounding_are_the_exact_ones(game):
    space = TileSpace(game)
    for level in solve.levels(game):
        tiles = jnp.array(level, bool)
        assert float(space.optimum(tiles)) == solve.optimum(game, level)
        best = solve.utility(game, solve.bayes(game))
        assert float(space.resampled_optimum(tiles)) == pytest.approx(float(best))
        assert float(space.grounded_optimum(tiles)) == pytest.approx(float(solve.grounded_optimum(game, level)))


# --- scores and advantages of fictitious transitions

CERTAIN = replace(ROAD, prior=1.0)
"""Truly there is always ice, so that on a dry level every fictitious reward is known, and real ones are others."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Real: 2, 2 along values 1, 5. Fictitious: -9 and on to 20, then -9 and the end. Discount and lambda a half.
        ("td-error", (abs(-9 + 10 - 1) + abs(-9 - 5)) / 2),
        ("gae", (0 - 14 / 4 - 14) / 2),
        ("l1-value-loss", (14 / 4 + 14) / 2),
        ("pvl", 0),
        ("maxmc", (-9 - 4.5) - (1 + 5) / 2),
        ("maxmc-undiscounted", -18 - (1 + 5) / 2),
        ("maxmc-initial", (-9 - 4.5) - 1),
        ("exact-regret", 7 + 18),
    ],
)
def test_scores_read_fictitious_rewards_and_the_values_of_fictitious_successors(name, expected):
    rollout = play(Grounded(HiddenGame(CERTAIN)), repeated((0, 0), 2), [1.0] * 3, [1.0, 5.0, 20.0], 2)
    score = Score(name, 0.5, 0.5)
    view = score.view(rollout)
    best = np.full((1, 2), 7.0, np.float32) if name == "exact-regret" else view.best
    np.testing.assert_allclose(score(rollout, view, best), expected, rtol=1e-6)


def test_pvl_is_positive_where_fictitious_successors_are_worth_more():
    rollout = play(Grounded(HiddenGame(CERTAIN)), repeated((0, 0), 2), [1.0] * 3, [1.0, -15.0, 30.0], 2)
    score = Score("pvl", 0.5, 0.5)
    # -9 + 30 / 2 - 1 = 5, then -9 + 15 = 6, of which a quarter flows back.
    np.testing.assert_allclose(score(rollout, score.view(rollout), score.view(rollout).best), (5 + 1.5 + 6) / 2)


@pytest.mark.parametrize("policy", [(1, 1, 1), (1, 1, 0), (0, 0, 0)])
def test_one_step_pvl_of_grounded_play_is_what_the_theory_says(policy):
    chosen = dict(zip(solve.histories(ROAD), policy, strict=True))
    values = [float(value(ROAD, chosen, history)) for history in solve.histories(ROAD)]
    score = Score("pvl", 1.0, 0.0)
    levels = jnp.concatenate([repeated((0, 1)), repeated((1, 0))])
    rollout = play(Grounded(HiddenGame(ROAD)), levels, list(policy), values, 2)
    view = score.view(rollout)
    found = np.asarray(score(rollout, view, view.best)).reshape(2, MANY).mean(axis=1)
    for mean, level in zip(found, [(0, 1), (1, 0)], strict=True):
        assert mean == pytest.approx(np.mean([float(x) for x in fictitious_pvl(ROAD, chosen, level)]), abs=0.02)


@pytest.mark.parametrize("exact", [True, False])
def test_advantages_of_grounded_play_on_icy_levels_are_what_the_theory_says(exact):
    """All first tiles are icy, lambda is 0.95."""
    half = dict.fromkeys(solve.histories(ROAD), 0.5)
    values = [float(value(ROAD, half, history)) * exact for history in solve.histories(ROAD)]
    play_ = play(Grounded(HiddenGame(ROAD)), repeated((1, 0), 40_000), [0.5] * 3, values, 2)
    found = np.asarray(gae(play_.reward, play_.value, play_.next_value, play_.terminated, play_.cut, 1.0, 0.95))[0, 0]
    by_action = [found[play_.action[0, 0] == action].mean() for action in (0, 1)]
    assert by_action == pytest.approx([0.1875, -0.1875] if exact else [2.0669, 1.6919], abs=0.08)


# --- levels, suites and settings


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.tiles[1])
def test_an_edit_is_always_another_level(game):
    edited = jax.vmap(lambda key: TileSpace(game).edit(key, jnp.zeros(game.number, bool), 5))(jax.random.split(KEY, 64))
    assert {tuple(level) for level in np.asarray(edited).astype(int)} == set(solve.levels(game)) - {(0,) * game.number}


def test_suites_are_the_truth_and_every_level():
    domain = build_domain(override(preset("hidden-games", "dr"), {"env.game": "icy-road"}))
    assert [task.name for task in domain.suites["levels"].tasks] == ["dry-dry", "dry-ice", "ice-dry", "ice-ice"]
    assert [task.name for task in domain.suites["true"].tasks] == ["true"]
    assert domain.viewer is not None
    assert domain.viewer.parse is not None
    assert domain.viewer.parse("dry ice").tolist() == [False, True]
    with pytest.raises(
        UserError, match="'dry' is not a level of this game; give one of 'dry dry', 'dry ice', 'ice dry'"
    ):
        domain.viewer.parse("dry")


def test_levels_are_points_of_a_cube():
    assert TileSpace(ROAD).at(KEY, jnp.array([0.2, 0.9])).tolist() == [False, True]


def test_each_game_has_settings_of_its_own():
    settings = preset("hidden-games", "dr")
    with pytest.raises(UserError, match="env.alpha is not read, because env.game is fruit"):
        override(settings, {"env.alpha": "2"})
    with pytest.raises(UserError, match="env.apple is not read, because env.game is icy-road"):
        override(settings, {"env.game": "icy-road", "env.apple": "0.2"})
    with pytest.raises(UserError, match=r"env.apple is 1.0; give a number between 0 and 1\."):
        HiddenGameSettings(apple=1.0)
    with pytest.raises(UserError, match=r"env.beta is 0; give a number greater than 0\."):
        HiddenGameSettings(game="icy-road", beta=0)


@pytest.mark.parametrize(
    ("changes", "other"),
    [
        ({}, {"env.apple": "0.2"}),
        ({"env.game": "icy-road"}, {"env.alpha": "3"}),
        ({"env.game": "icy-road"}, {"env.beta": "3"}),
    ],
)
def test_every_setting_changes_the_truth(changes, other):
    def games(changes):
        return build_domain(override(preset("hidden-games", "dr"), changes)).env

    assert games(changes) != games(changes | other)
