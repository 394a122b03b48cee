"""The terrain of a level, by hand and beside Gymnasium's own generator."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.envs.box2d.bipedal_walker import TERRAIN_HEIGHT, TERRAIN_LENGTH, TERRAIN_STEP, BipedalWalker
from hypothesis import given
from hypothesis import strategies as st

from tutelage.envs.walker.level import PIT_HIGH, PLAIN, STUMP_HIGH, has
from tutelage.envs.walker.terrain import PIT_DEPTH, STAIR_WIDTH, STUMP_WIDTH, lay

SEEDS = st.integers(0, 2**31 - 1)


def flat(pit=(0, 0), stump=(0, 0), stair=(0, 0), steps=1, roughness=0.0):
    return np.array([roughness, *pit, *stump, *stair, steps], np.float32)


def laid(parameters, seed=0, **more):
    return lay(parameters, np.random.default_rng(seed), **more)


def pair(high):
    return st.tuples(st.floats(0, high, width=32), st.floats(0, high, width=32)).map(sorted)


def size(block):
    """Width and height in cells."""
    corners = np.array(block)
    return (corners.max(0) - corners.min(0)) / TERRAIN_STEP


def corners(block):
    return sorted((round(float(x), 4), round(float(y), 4)) for x, y in block)


class Loaded:
    """Dice that show what we want: the lowest of whole numbers unless told, and the upper end of others."""

    def __init__(self, **shown):
        self.shown = shown

    def integers(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        return self.shown.get(f"from_{low}_to_{high}", low)

    def uniform(self, low, high):
        return 0.7 * high if low < 0 else high

    def random(self):
        return self.shown.get("coin", 0.9)


def gymnasium(dice):
    """Hardcore terrain with loaded dice: the ground, and the blocks as corners."""
    env = BipedalWalker()
    env.np_random = dice
    env._generate_terrain(True)
    shapes = [body.fixtures[0].shape for body in reversed(env.terrain)]
    return env.terrain_x, env.terrain_y, [corners(s.vertices) for s in shapes if len(s.vertices) == 4]


@pytest.mark.parametrize("seed", range(20))
def test_plain_ground_is_gymnasiums_to_the_last_bit_and_leaves_the_dice_where_it_does(seed):
    env = BipedalWalker()
    env.np_random = np.random.default_rng(seed)
    env._generate_terrain(False)
    dice = np.random.default_rng(seed)
    ours = lay(np.array(PLAIN, np.float32), dice)
    assert ours.x == env.terrain_x
    assert ours.y == env.terrain_y
    assert not ours.blocks
    assert dice.random() == env.np_random.random()


@pytest.mark.parametrize("wide", [3, 4])
def test_pits_are_gymnasiums_where_the_dice_agree(wide):
    x, y, blocks = gymnasium(Loaded(from_1_to_4=3, from_3_to_5=wide))
    ours = lay(flat(pit=(0, wide - 1), roughness=1), Loaded())
    assert ours.x == pytest.approx(x)
    assert ours.y == pytest.approx(y)
    assert [corners(block) for block in ours.blocks] == blocks
    assert len(blocks) > 10


def test_a_stump_is_gymnasiums_where_the_dice_agree():
    *_, blocks = gymnasium(Loaded(from_1_to_4=1, from_1_to_3=1))
    assert corners(lay(flat(stump=(0, 1), roughness=1), Loaded()).blocks[0]) == blocks[0]


@pytest.mark.parametrize("coin", [0.1, 0.9])
def test_the_steps_of_stairs_are_gymnasiums_where_the_dice_agree(coin):
    *_, blocks = gymnasium(Loaded(from_1_to_4=2, from_3_to_5=4, coin=coin))
    ours = lay(flat(stair=(0, 1), steps=4, roughness=1), Loaded(coin=coin))
    assert [corners(block) for block in ours.blocks[:4]] == blocks[:4]


@given(SEEDS, pair(10), pair(5), pair(5), st.integers(1, 9), st.floats(0, 10, width=32))
def test_every_level_has_a_terrain_that_goes_forward(seed, pit, stump, stair, steps, roughness):
    terrain = laid(flat(pit, stump, stair, steps, roughness), seed)
    assert len(terrain.x) == len(terrain.y) == TERRAIN_LENGTH
    assert (np.diff(terrain.x) > 0).all()
    assert np.isfinite(terrain.y).all()
    assert set(terrain.y[:20]) == {TERRAIN_HEIGHT}
    assert all(min(x for x, _ in block) >= 20 * TERRAIN_STEP - 1e-9 for block in terrain.blocks)


@given(SEEDS, pair(10))
def test_pits_are_as_wide_as_their_range_says(seed, pit):
    blocks = laid(flat(pit=pit), seed).blocks
    assert bool(blocks) == has(flat(pit=pit), PIT_HIGH)
    for left, right in zip(blocks[::2], blocks[1::2], strict=True):
        assert size(left) == pytest.approx((1, PIT_DEPTH))
        gap = (right[0][0] - left[1][0]) / TERRAIN_STEP
        assert pit[0] - 1e-6 <= gap <= pit[1] + 1e-6


def test_a_pit_of_any_width_ends_where_its_right_wall_ends():
    terrain = laid(flat(pit=(2.3, 2.3)))
    (left, _), (right, _) = terrain.blocks[0][0], terrain.blocks[1][1]
    assert right - left == pytest.approx(4.3 * TERRAIN_STEP)
    start = terrain.x.index(pytest.approx(left))
    heights = np.array(terrain.y[start : start + 6]) - TERRAIN_HEIGHT
    assert heights / TERRAIN_STEP == pytest.approx([0, -4, -4, -4, -4, 0])
    assert terrain.x[start + 5] == pytest.approx(right)


@given(SEEDS, pair(5))
def test_stumps_are_as_high_as_their_range_says(seed, stump):
    terrain = laid(flat(stump=stump), seed)
    assert has(flat(stump=stump), STUMP_HIGH) or not terrain.blocks
    for block in terrain.blocks:
        wide, high = size(block)
        assert wide == pytest.approx(STUMP_WIDTH)
        assert stump[0] - 1e-6 <= high <= stump[1] + 1e-6
        assert min(y for _, y in block) == pytest.approx(TERRAIN_HEIGHT)  # none floats
    assert set(terrain.y) == {TERRAIN_HEIGHT}


@given(SEEDS, st.integers(1, 9))
def test_stairs_have_as_many_steps_as_the_level_says(seed, steps):
    terrain = laid(flat(stair=(1.5, 1.5), steps=steps), seed)
    tops = [block[0] for block in terrain.blocks]
    for first in range(0, len(tops), steps):
        flight = np.array(tops[first : first + steps]) / TERRAIN_STEP
        assert len(flight) == steps
        assert np.diff(flight[:, 0]) == pytest.approx(STAIR_WIDTH)
        assert np.abs(np.diff(flight[:, 1])) == pytest.approx(1.5)


def test_stairs_go_up_and_down():
    ends = [laid(flat(stair=(1, 1), steps=3), seed).y[20 + 3 * STAIR_WIDTH] - TERRAIN_HEIGHT for seed in range(40)]
    up, down = (round(float(end) / TERRAIN_STEP) for end in (max(ends), min(ends)))
    assert (up, down) == (2, -3)  # the first step is level with the ground: going up it is none
    assert 8 < sum(end > 0 for end in ends) < 32


def test_the_published_stairs_have_fewer_steps():
    terrain = laid(flat(stair=(1, 1), steps=4), stair_steps="below")
    starts = [x for x, _ in (block[0] for block in terrain.blocks)]
    flights = np.split(starts, np.flatnonzero(np.diff(starts) > STAIR_WIDTH * TERRAIN_STEP * 1.01) + 1)
    assert max(map(len, flights)) <= 3
    assert not laid(flat(stair=(1, 1), steps=1), stair_steps="below").blocks


@pytest.mark.parametrize(("kind", "least"), [("pit", 0.8), ("stump", 0.2), ("stair", 0.2)])
def test_a_kind_that_is_too_small_is_not_there(kind, least):
    assert laid(flat(**{kind: (least, least)}, steps=3)).blocks
    assert not laid(flat(**{kind: (least - 0.01, least - 0.01)}, steps=3)).blocks


def test_all_kinds_of_obstacles_come_equally_often():
    found = [laid(flat((1, 1), (3, 3), (2, 2)), seed).blocks[0] for seed in range(90)]
    heights = [round(size(block)[1]) for block in found]
    assert all(15 < heights.count(kind) < 45 for kind in (4, 3, 2))


def test_roughness_scales_the_ground():
    once, thrice = (np.array(laid(flat(roughness=r), 3).y[:40]) - TERRAIN_HEIGHT for r in (1, 3))
    # The pull back to the middle depends on the sign of the height only.
    assert thrice == pytest.approx(3 * once)
    assert np.ptp(once) > 0.05
    assert set(laid(flat(), 3).y) == {TERRAIN_HEIGHT}
