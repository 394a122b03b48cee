"""NetHack as we drive it is NetHack as MiniHack drives it; levels, dice and the calendar."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.util import find_spec

import numpy as np
import pytest

from tutelage.envs.minihack import install
from tutelage.envs.minihack.compiler import compiled
from tutelage.envs.minihack.engine import EAT as EAT_KEY
from tutelage.envs.minihack.engine import KICK as KICK_KEY
from tutelage.envs.minihack.engine import MOVES, Engine
from tutelage.envs.minihack.install import minihack_base
from tutelage.envs.minihack_fruit.simulator import FruitTask, simulator
from tutelage.errors import UserError

from .made_levels import ONE_ROOM, fruit_level

LEVELS = [fruit_level(), fruit_level(ONE_ROOM)]


def described(level) -> str:
    return FruitTask(0.7, "none", "level").describe(level)


def test_every_step_is_that_of_minihacks_own_class():
    """What is seen, the message, the penalty and death; meals end an episode here and not there."""
    minihack_base()
    from minihack import MiniHackNavigation
    from nle.nethack import Command, CompassDirection

    actions = (*CompassDirection, Command.KICK, Command.EAT)
    assert tuple(map(int, actions)) == (*MOVES, KICK_KEY, EAT_KEY)
    random, steps, meals, deaths = np.random.default_rng(0), 0, 0, 0
    for level in LEVELS:
        original = MiniHackNavigation(
            des_file=described(level),
            actions=actions,
            autopickup=False,
            max_episode_steps=250,
            observation_keys=("glyphs", "blstats", "message"),
            fix_moon_phase=True,
        )
        with closing(original), closing(simulator(250)) as ours:
            for seed in range(9):
                original.unwrapped.seed(seed, seed, reseed=False)
                theirs, _ = original.reset()
                seen, _ = ours.reset(seed=seed, options={"level": level})
                for _ in range(250):
                    np.testing.assert_array_equal(seen["glyphs"], theirs["glyphs"])
                    np.testing.assert_array_equal(seen["blstats"], theirs["blstats"])
                    assert ours.engine.message == bytes(theirs["message"]).split(b"\0")[0]
                    action = random.choice(10, p=[0.1] * 8 + [0.17, 0.03])
                    asked = ours.engine.asked
                    seen, reward, terminated, truncated, _ = ours.step(action)
                    theirs, their_reward, over, _, info = original.step(action)
                    steps += 1
                    if terminated and b"eat" in asked:
                        meals += 1
                        break
                    assert reward == pytest.approx(their_reward)
                    assert (terminated or truncated) == over
                    if over:
                        assert terminated == (info["end_status"] == 1)
                        deaths += terminated
                        break
    assert steps > 1000
    assert meals >= 2
    assert deaths >= 1


def test_levels_are_compiled_once_and_never_mixed_up():
    compiled.cache_clear()
    with closing(simulator()) as game:
        seen = [game.reset(seed=i, options={"level": LEVELS[i % 2]})[0]["glyphs"].copy() for i in range(6)]
    assert compiled.cache_info().misses == 2
    walls = [(screen == 2360).sum() for screen in seen]  # upright ones: of the first level one room is seen
    assert walls == [walls[0], walls[1]] * 3
    assert walls[0] != walls[1]


def test_an_episode_depends_on_its_seed_and_level_alone():
    actions = np.random.default_rng(1).integers(10, size=60)

    def play(game, seed):
        first, _ = game.reset(seed=seed, options={"level": LEVELS[0]})
        seen = [first["blstats"]]
        for action in actions:
            obs, reward, terminated, _, _ = game.step(action)
            seen.append(np.append(obs["blstats"], reward))
            if terminated:
                break
        return np.concatenate(seen)

    with closing(simulator()) as one, closing(simulator()) as other:
        played = [play(one, seed) for seed in (3, 4, 3)]
        other.reset(seed=9, options={"level": LEVELS[1]})
        again = play(other, 3)
    np.testing.assert_array_equal(played[0], played[2])
    np.testing.assert_array_equal(played[0], again)
    assert played[0].shape != played[1].shape or (played[0] != played[1]).any()


@pytest.mark.parametrize("calendar", ["seed", "clock"])
def test_luck_follows_the_calendar(calendar):
    """The game says so when the moon is full. By the clock all games of a day are alike; by their seeds one in eight
    has a full moon, whatever the day.
    """
    engine, lines = Engine(calendar), []
    with closing(engine):
        for seed in range(100):
            engine.start(described(LEVELS[1]), seed)
            lines.append(engine.message)
    full = sum(b"Full moon" in line for line in lines)
    assert 3 <= full <= 27 if calendar == "seed" else full in (0, 100)


def test_a_description_that_does_not_compile_is_shown():
    with pytest.raises(UserError, match="(?s)refused a level.*NO SUCH LINE"):
        compiled(described(LEVELS[0]) + "NO SUCH LINE\n")


def test_the_stand_in_for_pkg_resources_is_gone_when_minihack_is_there():
    minihack_base()
    assert "minihack" in sys.modules
    if find_spec("pkg_resources") is None:
        assert "pkg_resources" not in sys.modules


def test_without_the_extra_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"tutelage\[minihack\]"):
        minihack_base()
