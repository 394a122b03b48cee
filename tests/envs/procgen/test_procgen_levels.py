"""Levels of Procgen beside the original: the first picture and every step are those of an environment that knows no
other level; what happens at an end, and what states say of themselves.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tutelage.envs.procgen.games import GAMES, NO_OP
from tutelage.envs.procgen.images import averaged
from tutelage.envs.procgen.level import LEVELS
from tutelage.envs.procgen.simulator import Procgen
from tutelage.envs.procgen.states import NEVER, LevelStates, build, check, make, read_header
from tutelage.errors import UserError
from tutelage.hosts.simulator import Slots

SEEDS = (0, 7, 199, 5, 31_337, 123_456, 1_999_999_999, LEVELS - 1)


def slots_of(seeds: Any, side: int = 64) -> Slots:
    number = len(seeds)

    def pictures() -> dict[str, np.ndarray]:
        return {"": np.zeros((number, side, side, 3), np.uint8)}

    return Slots(
        level={"seed": np.array(seeds, np.int32)},
        seed=np.zeros(number, np.int64),
        action=np.zeros(number, np.int32),
        obs=pictures(),
        final=pictures(),
        reward=np.zeros(number, np.float32),
        terminated=np.zeros(number, bool),
        truncated=np.zeros(number, bool),
        busy=lambda slot: None,
    )


def picture(env: Any) -> np.ndarray:
    return env.observe()[1]["rgb"][0]


@pytest.mark.parametrize("game", GAMES)
def test_a_batch_plays_what_a_lone_environment_of_each_seed_plays(game):
    """60 steps on 8 easy levels, of which some end; after an end the level is played again from its start."""
    slots = slots_of(SEEDS)
    everyone = list(range(len(SEEDS)))
    simulator = Procgen(len(SEEDS), game, "easy", GAMES[game].limit, resolution=64, cache=100)
    simulator.reset(slots, everyone)
    alone = [make(game, "easy", seed=seed) for seed in SEEDS]
    first = slots.obs[""].copy()
    assert all(np.array_equal(picture(env), seen) for env, seen in zip(alone, first, strict=True))
    rng = np.random.default_rng(0)
    for _ in range(60):
        slots.action[:] = rng.integers(0, 15, len(SEEDS))
        simulator.step(slots, everyone)
        for slot, env in enumerate(alone):
            env.act(slots.action[slot : slot + 1])
            reward, seen, ended = env.observe()
            assert (reward[0], ended[0]) == (slots.reward[slot], slots.terminated[slot])
            # The original shows the new episode already. Here it is what was seen last of the old one.
            expected = slots.obs[""][slot] if ended[0] else seen["rgb"][0]
            np.testing.assert_array_equal(slots.final[""][slot], expected)
        assert not slots.truncated.any()
        slots.obs[""][:] = slots.final[""]
        if over := np.flatnonzero(slots.terminated).tolist():
            simulator.reset(slots, over)
            np.testing.assert_array_equal(slots.obs[""][over], first[over])
            for slot in over:  # a new one: dodgeball takes something along into its next episode
                alone[slot] = make(game, "easy", seed=SEEDS[slot])


def test_hard_levels_and_levels_that_come_again_after_others():
    """A slot changes its level, and plays the old one again as if nothing had been."""
    slots = slots_of((3, 4))
    simulator = Procgen(2, "coinrun", "hard", 1000, resolution=64, cache=1)
    actions = np.random.default_rng(1).integers(0, 15, (20, 2))

    def played() -> list[bytes]:
        simulator.reset(slots, [0, 1])
        seen = [slots.obs[""].tobytes()]
        for action in actions:
            slots.action[:] = action
            simulator.step(slots, [0, 1])
            seen.append(slots.final[""].tobytes() + slots.reward.tobytes())
        return seen

    before = played()
    slots.level["seed"][:] = (4, 9)
    assert played() != before
    slots.level["seed"][:] = (3, 4)
    assert played() == before
    env = make("coinrun", "hard", seed=4)
    np.testing.assert_array_equal(np.frombuffer(before[0], np.uint8).reshape(2, 64, 64, 3)[1], picture(env))


@pytest.mark.parametrize("side", [32, 16])
def test_smaller_images_are_the_means_of_blocks(side):
    """At the start, after every step and at an end, of which leaper has some at once."""
    large, small = slots_of(SEEDS), slots_of(SEEDS, side)
    everyone, block = list(range(len(SEEDS))), 64 // side
    full, reduced = (Procgen(len(SEEDS), "leaper", "easy", 500, resolution=x, cache=100) for x in (64, side))

    def means(images: np.ndarray) -> np.ndarray:
        return np.floor(images.reshape(-1, side, block, side, block, 3).mean((2, 4)) + 0.5)

    for simulator, slots in ((full, large), (reduced, small)):
        simulator.reset(slots, everyone)
    np.testing.assert_array_equal(small.obs[""], means(large.obs[""]))
    ends = 0
    for action in np.random.default_rng(0).integers(0, 15, (40, len(SEEDS))):
        for simulator, slots in ((full, large), (reduced, small)):
            slots.action[:] = action
            simulator.step(slots, everyone)
            slots.obs[""][:] = slots.final[""]
        ends += int(large.terminated.sum())
        np.testing.assert_array_equal(small.final[""], means(large.final[""]))
        np.testing.assert_array_equal(small.reward, large.reward)
        for simulator, slots in ((full, large), (reduced, small)):
            if over := np.flatnonzero(slots.terminated).tolist():
                simulator.reset(slots, over)
    assert ends > 0
    assert averaged(large.obs[""], 64) is large.obs[""]


def test_others_of_the_batch_are_left_alone():
    slots = slots_of((1, 2))
    simulator = Procgen(2, "maze", "easy", 500, resolution=64, cache=10)
    simulator.reset(slots, [1])
    assert not slots.obs[""][0].any()
    slots.action[:] = 5
    simulator.step(slots, [1])
    assert not slots.final[""][0].any()
    assert slots.final[""][1].any()


def test_a_time_limit_cuts_off_with_the_picture_that_the_action_led_to():
    """The game itself ends at its limit and shows a new episode; cut off one step before, the pictures agree."""
    limit = GAMES["maze"].limit
    for at in (limit - 1, limit):
        slots = slots_of((3,))
        simulator, env = Procgen(1, "maze", "easy", at, resolution=64, cache=1), make("maze", "easy", seed=3)
        simulator.reset(slots, [0])
        for t in range(at):
            assert not slots.truncated[0]
            action = NO_OP if t < at - 1 else 7
            slots.action[:] = action
            simulator.step(slots, [0])
            env.act(np.array([action], np.int32))
        assert slots.truncated[0]
        assert not slots.terminated[0]
        assert env.observe()[2][0] == (at == limit)
        assert np.array_equal(picture(env), slots.final[""][0]) == (at < limit)


# --- states


@pytest.fixture(scope="module")
def state() -> bytes:
    return build("maze", "easy", 3)


def test_a_state_knows_its_level_and_has_no_time_limit(state):
    header = read_header(state)
    assert (header.version, header.game, header.mode, header.seed) == (0, "maze", 0, 3)
    assert header.seeds == range(3, 4)
    assert header.limit == NEVER
    check(state, "maze", "easy", 3)


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_the_limit_that_is_said(game):
    (state,) = make(game, "hard", seed=0).get_state()
    assert read_header(state).limit == GAMES[game].limit


@pytest.mark.parametrize("damage", ["version", "cut", "limit"])
def test_states_of_another_release_are_refused(state, damage):
    at = read_header(state).limit_at
    other = {
        "version": struct.pack("<i", 1) + state[4:],
        "cut": state[:50],
        "limit": state[:at] + struct.pack("<i", 77) + state[at + 4 :],
    }[damage]
    with pytest.raises(UserError, match=r"another release of Procgen than 0\.10\.7\. Install"):
        check(other, "maze", "easy", 3)


@pytest.mark.parametrize("wanted", [("maze", "hard", 3), ("heist", "easy", 3), ("maze", "easy", 4)])
def test_states_of_another_game_mode_or_level_are_refused(state, wanted):
    game = wanted[0]
    if game != "maze":  # whose limit differs as well, which would be said first
        at = read_header(state).limit_at
        state = state[:at] + struct.pack("<i", GAMES[game].limit) + state[at + 4 :]
    with pytest.raises(UserError, match=r"is of maze, mode 0, level 3, and not of .*build it"):
        check(state, *wanted)


def test_the_cache_forgets_what_was_not_used_for_longest(monkeypatch):
    built = []
    monkeypatch.setattr("tutelage.envs.procgen.states.build", lambda game, mode, seed: built.append(seed) or b"state")
    states = LevelStates("maze", "easy", capacity=2)
    for seed in (1, 2, 1, 3, 1, 2):
        assert states.of(seed) == b"state"
        assert len(states) <= 2
    assert built == [1, 2, 3, 2]
