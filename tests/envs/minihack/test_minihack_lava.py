"""JAX's rules of lava against MiniHack, step by step."""

from __future__ import annotations

from contextlib import closing

import jax
import numpy as np
import pytest

from tutelage.envs.lava.env import Lava
from tutelage.envs.lava.level import AGENT, DOWN, FLOOR, LAVA, STONE, UP, WALL
from tutelage.envs.lava.space import LavaSpace
from tutelage.envs.lava.suites import LavaCrossing
from tutelage.envs.minihack.engine import X, Y
from tutelage.envs.minihack_lava.simulator import simulator
from tutelage.hosts.play import by_name

KEY = jax.random.key(0)
GLYPHS = {
    STONE: {2359},
    FLOOR: {2378},
    LAVA: {2393},
    DOWN: {2383},
    UP: {2382},
    AGENT: {337},
    WALL: set(range(2360, 2371)),
}
"""NetHack's for each of ours: walls have one for each way they run."""


def levels():
    """Random ones of all numbers of tiles, and walled ones with a river."""
    for draw, number in ((LavaSpace().sample, 140), (LavaCrossing(), 20)):
        drawn = jax.device_get(jax.jit(jax.vmap(draw))(jax.random.split(KEY, number)))
        yield from (jax.tree.map(lambda x, i=i: x[i], drawn) for i in range(number))


@pytest.mark.parametrize("penalty", ["bumps", "steps"])
def test_every_step_is_that_of_minihack(penalty):
    """Position, map, reward and end, with random moves: 1,000 steps and more."""
    env = Lava(penalty, max_steps=60)
    reset = jax.jit(lambda level: env.reset(KEY, env.prepare(level)))
    step = jax.jit(lambda state, action, level: env.step(KEY, state, action, env.prepare(level)))
    random, steps, ends = np.random.default_rng(0), 0, {"goal": 0, "lava": 0, "limit": 0}
    with closing(simulator(60, penalty)) as original:
        for number, level in enumerate(levels()):
            named = by_name(level)
            seen, _ = original.reset(seed=number, options={"level": named})
            state, obs = reset(level)
            corner = seen["blstats"][[X, Y]] - named["start"]
            for _ in range(60):
                assert_seen(seen, obs, corner)
                action = random.integers(8)
                state, answer = step(state, action, level)
                seen, reward, terminated, truncated, _ = original.step(action)
                assert reward == pytest.approx(float(answer.reward), abs=1e-6)
                assert (terminated, truncated) == (
                    bool(answer.transition.terminated),
                    bool(answer.transition.truncated),
                )
                obs, steps = answer.obs, steps + 1
                if answer.done:
                    ends["goal" if reward > 0.5 else "lava" if terminated else "limit"] += 1
                    break
    assert steps >= 1000
    assert min(ends.values()) >= 1


def assert_seen(seen, obs, corner):
    """The same place, and the same map: outside of it there is nothing."""
    np.testing.assert_array_equal(seen["blstats"][[X, Y]] - corner, obs.position)
    ours = np.asarray(obs.glyphs)
    height, width = ours.shape
    rows, columns = (slice(start, start + side) for start, side in zip(corner[::-1], (height, width), strict=True))
    theirs = seen["glyphs"][rows, columns]
    for kind, glyphs in GLYPHS.items():
        assert set(theirs[ours == kind].tolist()) <= glyphs, kind
    assert (seen["glyphs"] != 2359).sum() == (theirs != 2359).sum()
