"""JAX's rules of fruit against MiniHack: step by step between random events, and how random events are distributed."""

from __future__ import annotations

from contextlib import closing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tutelage.envs.fruit.env import KICK, MOVES, NOTHING_ASKED, REALLY_EAT, WHERE_TO_KICK, YES, Fruit
from tutelage.envs.fruit.level import BROKEN, DOOR, FruitLevel
from tutelage.envs.fruit.space import FruitSpace
from tutelage.envs.minihack.engine import HIT_POINTS, TURN, X, Y
from tutelage.envs.minihack_fruit.simulator import simulator
from tutelage.hosts.play import by_name

from .made_levels import E, N, W, fruit_level

KEY = jax.random.key(0)
STRENGTH, DEXTERITY, CONSTITUTION = 2, 4, 5
OPEN = 2371
"""NetHack's glyph of a broken door."""
DOOR_BESIDE = """
########
#.@+...#
#..#ab.#
########
"""
ENV = Fruit(0.7, "frozen", 250)
STEP = jax.jit(lambda key, state, action, level: ENV.step(key, state, action, ENV.prepare(level)))


def question(asked: bytes) -> int:
    return WHERE_TO_KICK if b"direction" in asked else REALLY_EAT if b"eat" in asked else NOTHING_ASKED


def test_every_step_between_random_events_is_that_of_minihack():
    """Position, hit points, turn, question, reward and end. Of a kick, what the dice have said is taken over."""
    space, random, steps, doors = FruitSpace(13, 3, 6), np.random.default_rng(0), 0, 0
    levels = jax.device_get(jax.jit(jax.vmap(space.sample))(jax.random.split(KEY, 12)))
    with closing(simulator(250)) as original:
        for number in range(12):
            level = jax.tree.map(lambda x, number=number: x[number], levels)
            seen, _ = original.reset(seed=number, options={"level": by_name(level)})
            state, _ = jax.device_get(ENV.reset(KEY, ENV.prepare(level)))
            corner, agility = seen["blstats"][[X, Y]] - level.start, seen["blstats"][DEXTERITY]
            fruit = {tuple(level.apple.tolist()), tuple(level.banana.tolist())}
            for _ in range(150):
                action = int(random.choice(10, p=[0.09] * 8 + [0.2, 0.08]))
                beside = [
                    i for i, move in enumerate(MOVES) if state.tiles[tuple((state.position + move)[::-1])] == DOOR
                ]
                if beside and random.random() < 0.6:  # doors are kicked more often than chance would have it
                    action = beside[0] if state.question == WHERE_TO_KICK else KICK
                target = state.position + MOVES[min(action, 7)]
                if state.question == WHERE_TO_KICK and tuple(target.tolist()) in fruit:
                    action = KICK  # a kicked fruit flies in NetHack, and is no part of ours
                kicked = state.question == WHERE_TO_KICK and action < len(MOVES)
                state = state._replace(legs=np.int32(99 if seen["blstats"][DEXTERITY] < agility else 0))
                before = state
                state, answer = jax.device_get(STEP(KEY, state, np.int32(action), level))
                seen, reward, over, _, _ = original.step(action)
                steps += 1
                if kicked and over:
                    assert before.health <= 5
                    break
                stats = seen["blstats"]
                if kicked:
                    x, y = target + corner
                    door = before.tiles[target[1], target[0]] == DOOR
                    tiles = before.tiles.copy()
                    if door and seen["glyphs"][y, x] == OPEN:
                        tiles[target[1], target[0]] = BROKEN
                        doors += 1
                    lost = before.health - stats[HIT_POINTS]
                    assert -1 <= lost <= 5
                    assert lost <= 0 or state.tiles[target[1], target[0]] not in (DOOR, BROKEN)
                    state = state._replace(tiles=tiles, health=np.int32(stats[HIT_POINTS]))
                elif not over:
                    assert stats[HIT_POINTS] == state.health
                assert bool(answer.transition.terminated) == over or kicked
                if not kicked:
                    assert reward == pytest.approx(float(answer.reward))
                if over:
                    assert before.question == REALLY_EAT
                    assert action == YES
                    break
                np.testing.assert_array_equal(stats[[X, Y]] - corner, state.position)
                assert stats[TURN] == state.turn
                assert question(original.engine.asked) == state.question
    assert steps > 800
    assert doors >= 3


def test_kicks_open_doors_and_hurt_as_often_as_in_minihack():
    """In games whose Luck is 0, which those say whose moon is not full."""
    opened, hurt = np.zeros((2, 2)), np.zeros((2, 6))
    level, bodies = fruit_level(DOOR_BESIDE), []
    with closing(simulator(250)) as game:
        for seed in range(260):
            stats = game.reset(seed=seed, options={"level": level})[0]["blstats"]
            if b"moon" in game.engine.message or b"Friday" in game.engine.message:
                continue
            game.step(KICK)
            game.step(E)
            opened[0, int(b"WHAMM" in game.engine.message)] += 1
            bodies.append((int(stats[[STRENGTH, DEXTERITY, CONSTITUTION]].sum()) // 3, stats[CONSTITUTION] > 15))
            game.step(W)
            game.step(KICK)
            lost = 12 - game.step(N)[0]["blstats"][HIT_POINTS]
            hurt[0, lost] += 1
    ours = FruitLevel(*(jnp.asarray(level[name]) for name in FruitLevel._fields))
    state, _ = ENV.reset(KEY, ENV.prepare(ours))

    def kick(key, body, action):
        asked = state._replace(
            question=jnp.int32(WHERE_TO_KICK), body=state.body._replace(strength=body[0], tough=body[1] > 0)
        )
        return ENV.step(key, asked, action, ours)[0]

    drawn = jnp.asarray(np.tile(np.array(bodies, np.int32), (10, 1)))
    kicks = jax.jit(jax.vmap(kick, (0, 0, None)))
    keys = jax.random.split(KEY, len(drawn))
    east, north = (jax.device_get(kicks(keys, drawn, jnp.int32(action))) for action in (E, N))
    broken = (east.tiles == BROKEN).any((1, 2))
    opened[1] = broken.sum(), (~broken).sum()
    hurt[1] = np.bincount(12 - north.health, minlength=6)
    assert (hurt[:, 0] == 0).all()
    assert len(bodies) > 150
    assert chi2_contingency(opened).pvalue > 1e-3
    assert chi2_contingency(hurt[:, 1:]).pvalue > 1e-3
