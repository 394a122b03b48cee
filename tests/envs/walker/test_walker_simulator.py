"""The walker beside Gymnasium's, and what its levels decide."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.envs.box2d.bipedal_walker import BipedalWalker, BipedalWalkerHeuristics

from tutelage.envs.walker.level import PLAIN, make
from tutelage.envs.walker.simulator import Walker, replay, terrain
from tutelage.errors import UserError

HARD = (3.0, 0.5, 4.0, 0.3, 2.0, 0.2, 1.0, 4.0)
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (200, 4)).astype(np.float32)


def play(env, actions=ACTIONS, **start):
    """All that an episode says, up to its end."""
    obs, _ = env.reset(**start)
    seen, rewards = [obs], []
    for action in actions:
        obs, reward, terminated, truncated, _ = env.step(action)
        seen.append(obs)
        rewards.append(reward)
        if terminated or truncated:
            break
    return np.array(seen), np.array(rewards), terminated, truncated


def gait(level, steps=300):
    """Actions of a walker that gets somewhere: what it touches there comes in an order that Box2D chooses."""
    env, heuristics, actions = Walker(), BipedalWalkerHeuristics(), []
    obs, _ = env.reset(**on(level))
    for _ in range(steps):
        actions.append(heuristics.step_heuristic(obs).copy())  # it changes its array in place
        obs, *_ = env.step(actions[-1])
    return actions


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def on(level):
    return {"options": {"level": level}}


@pytest.mark.parametrize("hardcore", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_plain_and_hardcore_levels_are_gymnasiums_bit_for_bit(seed, hardcore):
    theirs, ours = BipedalWalker(hardcore=hardcore), Walker()
    level = make(PLAIN, seed, hardcore)
    actions = gait(level)
    expected = play(theirs, actions, seed=seed)
    assert same(play(ours, actions, seed=99, **on(level)), expected)
    assert ours.terrain_x == theirs.terrain_x
    assert ours.terrain_y == theirs.terrain_y
    assert len(ours.terrain) == len(theirs.terrain)
    assert len(expected[1]) > 150


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_on_obstacles_a_step_is_gymnasiums_bit_for_bit(seed, dtype):
    """Whoever looks gets Gymnasium's own step, and whoever does not the fast one: on any level they are equal."""
    level = make((2.0, 0.5, 2.0, 0.2, 1.0, 0.2, 1.0, 3), seed)
    actions = np.random.default_rng(seed).normal(size=(300, 4)).astype(dtype)  # some are beyond the bounds
    seen, unseen = Walker(render_mode="rgb_array"), Walker()
    expected = play(seen, actions, **on(level))
    assert same(play(unseen, actions, **on(level)), expected)
    image = seen.render()
    assert image.std() > 0
    assert unseen.terrain_x == seen.terrain_x
    assert len(seen.cloud_poly) == 10
    seen.close()


def test_a_reset_without_a_level_is_gymnasiums():
    assert same(play(Walker(), seed=5), play(BipedalWalker(), seed=5))


def test_an_episode_is_the_same_after_any_history():
    used = Walker()
    for seed in range(3):
        play(used, gait(make(seed=seed), 150), **on(make(HARD, seed, hardcore=seed == 2)))
    used.reset(seed=3)
    # Gymnasium itself, which uses a world again, plays two of these otherwise after three others.
    for level in (make(seed=1, hardcore=True), make(seed=5, hardcore=True), make(HARD, 11), make(HARD, 12)):
        actions = gait(level)
        fresh = play(Walker(), actions, **on(level))
        assert len(fresh[0]) > 100
        assert same(play(used, actions, **on(level)), fresh)


def test_a_level_is_given_as_one_or_as_a_mapping_and_the_resets_seed_plays_no_part():
    level = make(HARD, 11)
    expected = play(Walker(), seed=1, **on(level))
    assert same(play(Walker(), seed=2, **on(level._asdict())), expected)
    bare = {"parameters": level.parameters, "seed": 11}
    assert same(play(Walker(), **on(bare)), expected)


def test_the_seed_and_the_parameters_make_the_terrain():
    base = terrain(make(HARD, 1))
    assert base == terrain(make(HARD, 1))
    assert base.y != terrain(make(HARD, 2)).y
    assert base.y != terrain(make((4.0, *HARD[1:]), 1)).y


def test_the_blocks_of_a_level_can_be_touched():
    # A wall in front of the walker, who falls onto the ground or stays there; either way it does not get past.
    walker = Walker()
    walker.reset(**on(make((0, 0, 0, 5, 5, 0, 0, 1), 0)))
    wall = min(x for block in terrain(make((0, 0, 0, 5, 5, 0, 0, 1), 0)).blocks for x, _ in block)
    walker.hull.position = (wall - 2.0, walker.hull.position[1])
    for leg in walker.legs:
        leg.position = (leg.position[0] + walker.hull.position[0] - 4.66, leg.position[1])
    walker.hull.linearVelocity = (20.0, 2.0)
    for _ in range(60):
        walker.step(np.zeros(4))
        assert walker.hull.position[0] < wall


def test_the_time_limit_truncates_and_does_not_terminate():
    seen, _, terminated, truncated = play(Walker(max_steps=7), np.zeros((20, 4)), **on(make()))
    assert len(seen) == 8
    assert truncated
    assert not terminated
    env = Walker(max_steps=7)
    for _ in range(2):
        assert len(play(env, np.zeros((20, 4)), **on(make()))[0]) == 8


def test_falling_terminates_and_does_not_truncate():
    *_, terminated, truncated = play(Walker(), np.ones((200, 4)), **on(make()))
    assert terminated
    assert not truncated


def test_a_copy_has_the_same_settings():
    again = copy.deepcopy(Walker(12, "below"))
    assert (again.max_steps, again.stair_steps) == (12, "below")


def test_a_replay_shows_where_the_body_was():
    level = make(HARD, 4)
    walker = Walker()
    walker.reset(**on(level))
    for action in ACTIONS[:10]:
        walker.step(action)
    poses = replay(level, ACTIONS[:10])
    assert poses.shape == (11, 5, 3)
    assert poses[-1, 0].tolist() == [*walker.hull.position, walker.hull.angle]
    fallen = replay(make(), np.ones((200, 4)))
    assert len(fallen) < 200


@pytest.mark.parametrize(
    ("level", "sentence"),
    [
        (None, "give a mapping with 'parameters'"),
        ({"parameters": PLAIN}, "has no seed"),
        ({"parameters": PLAIN, "seed": 0, "speed": 1}, "unknown fields .*'speed'"),
        ({"parameters": PLAIN[:5], "seed": 0}, "shape \\[5\\]; give 8 numbers: roughness, pit-gap-low"),
        ({"parameters": (11.0, *PLAIN[1:]), "seed": 0}, "roughness is 11; give 0 to 10"),
        ({"parameters": (float("nan"), *PLAIN[1:]), "seed": 0}, "roughness is nan; give 0 to 10"),
        ({"parameters": (1, 5, 3, 0, 0, 0, 0, 1), "seed": 0}, "pit-gap-low is 5 .* smaller number first"),
        ({"parameters": (1, 0, 0, 0, 0, 0, 0, 2.5), "seed": 0}, "stair-steps is 2.5; give a whole number"),
        ({"parameters": PLAIN, "seed": -1}, "seed is -1; give a whole number from 0"),
        ({"parameters": PLAIN, "seed": 0.5}, "seed is 0.5"),
        ({"parameters": PLAIN, "seed": 0, "hardcore": 2}, "hardcore is 2; give true or false"),
    ],
)
def test_what_is_no_level_is_refused_with_a_sentence(level, sentence):
    with pytest.raises(ValueError, match=sentence):
        Walker().reset(options={"level": level})


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(UserError, match="give a 'level'"):
        Walker().reset(options={"track": 1})
    with pytest.raises(UserError, match="max_steps is 0"):
        Walker(max_steps=0)
    with pytest.raises(UserError, match="stair_steps is 'few'"):
        Walker(stair_steps="few")  # pyright: ignore[reportArgumentType]


def test_a_worker_does_not_import_jax():
    code = "import sys, tutelage.envs.walker.simulator; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
