"""Stochastic Fruit Choice: rules against plain Python, dice, sight, what is hidden, levels, suites and presets."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

import tutelage
from tutelage.envs.fruit.domain import build
from tutelage.envs.fruit.env import EAT, KICK, NO, STRENGTH_SHARES, STRENGTHS, YES, Fruit, in_sight
from tutelage.envs.fruit.level import AGENT, APPLE, BANANA, BROKEN, DOOR, FLOOR, STONE, UP, WALL, from_text, to_text
from tutelage.envs.fruit.settings import FruitSettings
from tutelage.envs.fruit.space import FruitSpace, SomeRooms, rooms_of
from tutelage.envs.wrappers import Grounded, Resampled
from tutelage.errors import UserError

from .plain import Game

KEY = jax.random.key(0)
N, E, S, W = range(4)
TEXT = "\n".join(
    [
        "_____________",
        "_###########_",
        "_#....#....#_",
        "_#.<..+.A..#_",
        "_#....#..b.#_",
        "_###########_",
        *["_____________"] * 7,
    ]
)
ENV = Fruit(0.7, max_steps=60)
STEP, RESET = jax.jit(ENV.step), jax.jit(ENV.reset)


def level() -> Any:
    return from_text(TEXT, 13)


def start(**changes: Any) -> Any:
    """A state at the start of an episode, with something changed."""
    state, _ = RESET(KEY, ENV.prepare(level()))
    return state._replace(**{name: jnp.asarray(value, getattr(state, name).dtype) for name, value in changes.items()})


def play(state: Any, actions: Any, key: Any = KEY) -> tuple[Any, list[Any]]:
    prepared, answers = ENV.prepare(level()), []
    for i, action in enumerate(actions):
        state, answer = STEP(jax.random.fold_in(key, i), state, jnp.int32(action), prepared)
        answers.append(answer)
    return state, answers


# --- rules


def test_episodes_are_those_of_plain_python():
    """Random play that is fond of kicks and of fruit, on levels of one to four rooms, with the same dice."""
    space = FruitSpace(13, 4, 6)
    batch = jax.device_get(jax.jit(jax.vmap(space.sample))(jax.random.split(KEY, 40)))
    rng, ends, doors, wounded = np.random.default_rng(0), set(), 0, 0
    for i in range(40):
        one = jax.tree.map(lambda x, i=i: x[i], batch)
        prepared = ENV.prepare(one)
        state, _ = RESET(jax.random.key(i), prepared)
        body = state.body
        game = Game(one, int(body.strength), bool(body.tough), bool(body.agile), ENV.max_steps, penalty=True)
        over = False
        while not over:
            target = [game.apple, game.banana, None][i % 3]
            action = towards(game, target, rng)
            key = jax.random.key(int(rng.integers(2**31)))
            dice = np.asarray(jax.random.uniform(key, (4,)), np.float64)
            state, answer = STEP(key, state, jnp.int32(action), prepared)
            reward, terminated, truncated = game.step(action, dice)
            assert tuple(np.asarray(state.position)) == game.at
            np.testing.assert_array_equal(state.tiles, game.tiles)
            assert (int(state.health), int(state.legs), int(state.turn)) == (game.hp, game.legs, game.turn)
            assert int(state.question) == ["", "kick", "eat"].index(game.asked)
            assert float(answer.reward) == pytest.approx(reward, abs=1e-6)
            assert (bool(answer.transition.terminated), bool(answer.transition.truncated)) == (terminated, truncated)
            over = terminated or truncated
            wounded += game.legs > 0
        doors += int((game.tiles == BROKEN).sum())
        ends.add((terminated, reward > 0, game.hp > 0))
    assert {(True, True, True), (True, False, True), (True, False, False), (False, False, True)} <= ends
    assert doors > 10
    assert wounded > 10


def towards(game: Game, target: Any, rng: Any) -> int:
    """A kick where there is something to kick, a bite where there is something to eat, else mostly any move."""
    if game.asked == "kick":
        near = [a for a in range(8) if game.tiles[game._beside(a)[1], game._beside(a)[0]] == DOOR]
        return int(near[0]) if near and rng.random() < 0.8 else int(rng.integers(10))
    if game.asked == "eat":
        return int(rng.choice([YES, YES, NO, 1, 8]))
    if game.at == target and rng.random() < 0.5:
        return EAT
    if rng.random() < 0.35:
        return KICK
    return int(rng.integers(10))


def test_a_kick_takes_two_steps_of_which_the_first_is_not_seen():
    quiet = start(position=[5, 3])
    asking, (answer,) = play(quiet, [KICK])
    assert int(asking.question) == 1
    assert float(answer.reward) == pytest.approx(-0.01)
    before = ENV._observe(quiet, ENV.prepare(level()))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), answer.obs, before)
    after, _ = play(asking, [E])
    assert (int(after.question), int(after.turn)) == (0, 2)
    for strange in (KICK, EAT):  # a strange direction: nothing happens
        refused, (answer,) = play(asking, [strange])
        assert (int(refused.question), int(refused.turn)) == (0, 1)
        assert float(answer.reward) == pytest.approx(-0.01)


def test_wounded_legs_do_not_kick():
    state, (answer,) = play(start(legs=3), [KICK])
    assert int(state.question) == 0
    assert float(answer.obs.stats[5]) == 1.0
    state, _ = play(state, [E, W, E])
    assert int(state.legs) == 0
    assert int(play(state, [KICK])[0].question) == 1


def test_eating_is_confirmed_with_north_west():
    on_apple = start(position=[8, 3])
    state, answers = play(on_apple, [EAT, E, KICK, EAT])
    assert int(state.question) == 2
    assert [float(answer.reward) for answer in answers] == pytest.approx([-0.01] * 4)
    assert tuple(np.asarray(state.position)) == (8, 3)
    _, (answer,) = play(state, [YES])
    assert (float(answer.reward), bool(answer.transition.terminated)) == (3.0, True)
    declined, (answer,) = play(state, [NO])
    assert int(declined.question) == 0
    assert not bool(answer.done)
    _, (answer,) = play(state._replace(apple_pays=jnp.bool_(False)), [YES])
    assert (float(answer.reward), bool(answer.transition.terminated)) == (0.0, True)
    wrong = start(position=[9, 4], apple_pays=False)
    assert float(play(wrong, [EAT, YES])[1][-1].reward) == 10.0


def test_the_script_of_the_games_own_episode():
    """Played in MiniHack: two moves, a bump, kicks until the door is open, and the apple; the same turns."""
    state = start(position=[3, 3])
    state, answers = play(state, [E, E, E])
    assert int(state.turn) == 3
    assert [float(answer.reward) for answer in answers] == pytest.approx([0, 0, -0.01])
    kicks = 0
    while int(state.tiles[3, 6]) == DOOR:
        kicks += 1
        state, _ = play(state, [KICK, E], jax.random.key(kicks))
    state, answers = play(state, [E, E, E, EAT, YES])
    assert int(state.turn) == 3 + kicks + 4
    assert float(answers[-1].reward) == 3.0


# --- dice


def many(state: Any, action: int, count: int = 4000) -> Any:
    prepared = ENV.prepare(level())
    keys = jax.random.split(jax.random.key(7), count)
    states, _ = jax.jit(jax.vmap(lambda key: ENV.step(key, state, jnp.int32(action), prepared)))(keys)
    return jax.device_get(states)


def test_doors_give_way_with_a_thirty_fifth_of_strength():
    for strength in (12, 17):
        asking = start(position=[5, 3], question=1)
        asking = asking._replace(body=asking.body._replace(strength=jnp.int32(strength)))
        opened = (many(asking, E).tiles[:, 3, 6] == BROKEN).sum()
        assert chisquare([opened, 4000 - opened], [4000 * strength / 35, 4000 * (1 - strength / 35)]).pvalue > 1e-3


@pytest.mark.parametrize(("tough", "most"), [(False, 5), (True, 3)])
def test_walls_hurt_and_wound_legs_one_time_in_three(tough, most):
    asking = start(position=[2, 2], question=1)
    asking = asking._replace(body=asking.body._replace(tough=jnp.bool_(tough)))
    after = many(asking, N)
    damage = np.bincount(12 - after.health, minlength=most + 1)
    assert damage[0] == 0
    assert len(damage) == most + 1
    assert chisquare(damage[1:]).pvalue > 1e-3
    wounded = (after.legs > 0).sum()
    assert chisquare([wounded, 4000 - wounded], [4000 / 3, 8000 / 3]).pvalue > 1e-3
    assert set(after.legs) == {0, 5, 6, 7, 8, 9}  # 6 to 10, of which the turn of the kick is the first
    assert (after.question == 0).all()


def test_kicks_into_the_air_harm_only_the_clumsy():
    asking = start(position=[3, 3], question=1)
    for agile in (True, False):
        state = asking._replace(body=asking.body._replace(agile=jnp.bool_(agile)))
        after = many(state, N, 300)
        assert (after.health == 12).all()
        assert (after.legs > 0).any() != agile


def test_bodies_are_those_of_rogues():
    states, _ = jax.jit(jax.vmap(lambda key: ENV.reset(key, ENV.prepare(level()))))(jax.random.split(KEY, 6000))
    counts = [(np.asarray(states.body.strength) == strength).sum() for strength in STRENGTHS]
    expected = STRENGTH_SHARES.astype(np.float64) / STRENGTH_SHARES.astype(np.float64).sum() * 6000
    assert chisquare(counts, expected).pvalue > 1e-3
    assert np.asarray(states.body.tough).mean() == pytest.approx(0.225, abs=0.02)
    assert np.asarray(states.body.agile).mean() == pytest.approx(0.941, abs=0.01)


def test_hit_points_come_back_and_death_is_the_end():
    state, _ = play(start(position=[3, 3], health=5, turn=14), [E])
    assert int(state.health) == 6
    state, _ = play(start(position=[3, 3], health=12, turn=14), [E])
    assert int(state.health) == 12
    state, (answer,) = play(start(position=[2, 2], health=1, turn=14, question=1), [N])
    assert int(state.health) <= 0
    assert (float(answer.reward), bool(answer.transition.terminated)) == (0.0, True)


# --- sight


def test_rooms_are_seen_from_inside_and_from_their_doorways_and_remembered():
    state = start(position=[5, 3])
    seen = np.asarray(in_sight(state.tiles, state.position))
    assert seen[1:6, 1:7].all()
    assert seen.sum() == 5 * 6
    obs = play(state, [E])[1][0].obs
    assert not np.isin(np.asarray(obs.glyphs), (APPLE, BANANA)).any()
    assert int(obs.glyphs[3, 6]) == DOOR
    broken = state._replace(tiles=state.tiles.at[3, 6].set(BROKEN))
    after, (answer,) = play(broken, [E])
    glyphs = np.asarray(answer.obs.glyphs)
    assert (glyphs == APPLE).sum() == (glyphs == BANANA).sum() == 1
    assert np.asarray(after.seen)[1:6, 1:12].all()
    assert int(glyphs[3, 6]) == AGENT
    assert int(glyphs[3, 3]) == UP
    further, (answer,) = play(after, [E])
    np.testing.assert_array_equal(further.seen, after.seen)  # and the first room stays
    assert (np.asarray(answer.obs.glyphs)[0] == STONE).all()


# --- what is hidden


def test_which_fruit_pays_is_hidden_and_drawn_as_the_truth_has_it():
    prepared = ENV.prepare(level())
    state = start()
    other = ENV.impose(state, jnp.bool_(False))
    jax.tree.map(np.testing.assert_array_equal, ENV._observe(state, prepared), ENV._observe(other, prepared))
    keys = jax.random.split(KEY, 4000)
    for draw in (lambda key: ENV.prior(key, prepared), lambda key: ENV.posterior(key, state, prepared)):
        assert np.asarray(jax.jit(jax.vmap(draw))(keys)).mean() == pytest.approx(0.7, abs=0.03)
    resampled, _ = jax.jit(jax.vmap(lambda key: Resampled(ENV).reset(key, prepared)))(keys)
    assert np.asarray(resampled.apple_pays).mean() == pytest.approx(0.7, abs=0.03)


def test_grounded_bites_are_paid_by_the_truth_whatever_the_level_says():
    prepared, grounded = ENV.prepare(level()), Grounded(ENV)
    about_to_bite = start(position=[8, 3], question=2, apple_pays=False)
    keys = jax.random.split(KEY, 4000)
    _, answers = jax.jit(jax.vmap(lambda key: grounded.step(key, about_to_bite, jnp.int32(YES), prepared)))(keys)
    assert np.asarray(answers.reward).mean() == pytest.approx(3 * 0.7, abs=0.08)
    assert np.asarray(answers.done).all()


# --- levels and suites


def test_levels_are_chains_of_walled_rooms():
    space = FruitSpace()
    batch = jax.device_get(jax.jit(jax.vmap(space.sample))(jax.random.split(KEY, 400)))
    rooms = jax.device_get(jax.vmap(rooms_of)(batch))
    assert set(rooms) == set(range(1, 9))
    assert chisquare(np.bincount(rooms)[1:]).pvalue > 1e-3
    assert batch.apple_pays.mean() == pytest.approx(0.7, abs=0.07)
    for i in range(60):
        one = jax.tree.map(lambda x, i=i: x[i], batch)
        places = {tuple(place) for place in (one.start, one.apple, one.banana)}
        assert len(places) == 3
        assert all(one.tiles[y, x] == FLOOR for x, y in places)
        assert reached(one, through_doors=True) >= places
        inside = reached(one, through_doors=False)
        assert (tuple(one.apple) in inside) == (rooms[i] == 1)
        for y, x in np.argwhere((one.tiles == FLOOR) | (one.tiles == DOOR)):
            assert (one.tiles[y - 1 : y + 2, x - 1 : x + 2] != STONE).all()
        jax.tree.map(np.testing.assert_array_equal, from_text(to_text(one), 21), one)
    with pytest.raises(UserError, match=r"'<' of the level is at \(3, -1\), outside of its 21 columns and 21 rows"):
        to_text(one._replace(start=np.array([3, -1])))


def reached(one: Any, through_doors: bool) -> set[tuple[int, int]]:
    open_tiles = (FLOOR, DOOR) if through_doors else (FLOOR,)
    found, waiting = {tuple(one.start)}, [tuple(one.start)]
    while waiting:
        x, y = waiting.pop()
        for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if one.tiles[cell[1], cell[0]] in open_tiles and cell not in found:
                found.add(cell)
                waiting.append(cell)
    return found


@pytest.mark.parametrize(("size", "rooms"), [(13, 4), (21, 8), (21, 7), (25, 8)])
def test_the_last_resort_is_a_chain_that_could_have_been_drawn(size, rooms):
    chain = FruitSpace(size, rooms).chain
    assert chain.fits
    found = jax.device_get(chain.last_resort())
    assert len(found.corner) == rooms
    for i in range(rooms):
        assert (found.corner[i] + found.size[i] <= [size, size - 1]).all()
        for j in range(i - 1):
            before, after = (
                found.corner[i] + found.size[i] < found.corner[j],
                found.corner[j] + found.size[j] <= found.corner[i],
            )
            assert (before | after).any()
        if i > 0:
            for room in (i - 1, i):  # the door is in a wall of both, and no corner
                inner = (found.door[i] > found.corner[room]) & (
                    found.door[i] < found.corner[room] + found.size[room] - 1
                )
                edge = (found.door[i] == found.corner[room]) | (
                    found.door[i] == found.corner[room] + found.size[room] - 1
                )
                assert sorted(inner.tolist()) == [False, True]
                assert (inner | edge).all()


def test_chains_of_eight_succeed_often_enough():
    _, complete = jax.jit(jax.vmap(FruitSpace().chain.tries))(jax.random.split(KEY, 400))
    assert np.asarray(complete)[..., 7].mean() == pytest.approx(0.22, abs=0.04)


def test_suites_are_the_truth_every_number_of_rooms_and_each_fruit():
    domain = build(FruitSettings())
    assert [task.name for task in domain.suites["rooms"].tasks] == [f"Rooms-{i}" for i in range(1, 9)]
    apple, banana = domain.suites["choices"].tasks
    assert bool(apple.sample(KEY).apple_pays)
    assert not bool(banana.sample(KEY).apple_pays)
    np.testing.assert_array_equal(apple.sample(KEY).tiles, banana.sample(KEY).tiles)
    assert domain.suites["Rooms-3"].tasks[0].sample == SomeRooms(FruitSpace(), 3)
    assert int(rooms_of(domain.suites["Rooms-3"].tasks[0].sample(KEY))) == 3


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("A", "a", "The level has to say which fruit pays, and only one does"),
        ("b", "B", "The level has to say which fruit pays, and only one does"),
        ("<", ".", "The level has 0 of start; it needs exactly one"),
        ("b", "A", "The level has 2 of apple; it needs exactly one"),
        ("+", "?", "Row 4, column 7 of the level is '\\?'"),
        ("_###########_\n_#....#....#_", ".###########_\n_#....#....#_", "rooms are walled in"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(old, new, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(TEXT.replace(old, new, 1), 13)
    assert (np.asarray(level().tiles) == WALL).sum() == 30


# --- settings and presets


def test_every_setting_changes_levels_or_episodes():
    base = FruitSettings(rooms=3, size=13, longest=5, max_steps=9)

    def episode(settings: FruitSettings) -> Any:
        domain = build(settings)
        env = domain.env
        assert isinstance(env, Fruit)
        prepared = env.prepare(domain.levels.sample(jax.random.key(3)))
        state, obs = env.reset(KEY, prepared)
        return prepared, obs, env.step(KEY, state, jnp.int32(KICK), prepared)[1], env.prior(jax.random.key(5), prepared)

    changes = {"apple": 0.0, "rooms": 4, "size": 14, "longest": 6, "penalty": "none", "max_steps": 1}
    assert set(changes) == {field.name for field in fields(FruitSettings)}
    first = jax.tree.leaves(jax.jit(lambda: episode(base))())
    for name, value in changes.items():
        other = jax.tree.leaves(jax.jit(lambda name=name, value=value: episode(replace(base, **{name: value})))())
        assert any(a.shape != b.shape or (a != b).any() for a, b in zip(first, other, strict=True)), name


def test_settings_that_make_no_sense_are_refused():
    for changes, sentence in [
        ({"apple": 1.5}, "env.apple is 1.5; it is a probability"),
        ({"rooms": 9, "size": 40}, "there are at most 8"),
        ({"size": 20}, "up to 8 need 21"),
        ({"longest": 3}, "env.longest is 3; give 4 to 10"),
        ({"max_steps": 300}, "env.max_steps is 300; give 1 to 299"),
    ]:
        with pytest.raises(UserError, match=sentence):
            FruitSettings(**changes)


@pytest.mark.parametrize("preset", ["thesis-fruit", "fast"])
def test_methods_that_draw_levels_build_a_trainer_and_can_be_grounded(preset):
    for method, grounding in [("dr", "none"), ("robust-plr", "none"), ("robust-plr", "naive"), ("samplr", "samplr")]:
        settings = tutelage.override(tutelage.preset("fruit", method, preset), {"train.grounding": grounding})
        env = tutelage.build(settings).domain.env
        assert type(env) is {"none": Fruit, "naive": Resampled, "samplr": Grounded}[grounding]
    with pytest.raises(UserError, match="This environment has no "):
        tutelage.build(tutelage.preset("fruit", "accel", preset))


def test_the_preset_has_the_values_of_the_table():
    settings = tutelage.preset("fruit", "samplr")
    ppo, train, replay = settings.ppo, settings.train, settings.curriculum.replay
    assert (ppo.discount, ppo.gae_lambda, ppo.epochs, ppo.minibatches) == (0.995, 0.95, 5, 1)
    assert (ppo.clip, ppo.learning_rate, ppo.adam_epsilon, ppo.max_grad_norm) == (0.2, 1e-4, 1e-5, 0.5)
    assert (ppo.value_clip, ppo.normalise_returns, ppo.value_coef, ppo.entropy_coef) == (True, False, 0.5, 0.0)
    assert (train.levels, train.rollout, train.steps) == (32, 256, 200_000_000)
    assert (replay.rate, replay.capacity, replay.score, replay.prioritisation) == (0.95, 4000, "pvl", "rank")
    assert (replay.temperature, replay.staleness) == (0.3, 0.3)
