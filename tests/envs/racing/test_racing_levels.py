"""Racing levels: drawn, edited, designed, measured, written and read."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Brief
from tutelage.envs.racing.design import GRID, RacingDesign
from tutelage.envs.racing.domain import build
from tutelage.envs.racing.env import TRAINING_MAP, Racing, TrainingTracks
from tutelage.envs.racing.level import APART, POINTS, REACH, TILES, check, from_text, icy_tiles, make, packed, to_text
from tutelage.envs.racing.settings import RacingSettings
from tutelage.envs.racing.space import RacingSpace, crossings
from tutelage.envs.racing.track import bezier
from tutelage.envs.racing.view import View
from tutelage.errors import UserError

MANY = 64
KEYS = jax.random.split(jax.random.key(0), MANY)
DRY, ICY = RacingSpace(), RacingSpace(ice=True)


@pytest.fixture(scope="module")
def drawn():
    return jax.jit(jax.vmap(ICY.sample))(KEYS)


def one(levels, i):
    return jax.tree.map(lambda x: x[i], levels)


def test_random_levels_are_well_formed(drawn):
    for i in range(MANY):
        check(one(drawn, i))
    steps = np.roll(drawn.points, -1, axis=1) - drawn.points
    assert np.hypot(steps[..., 0], steps[..., 1]).min() >= 0.7 / 12 * 2 * REACH - 1e-3
    assert np.abs(drawn.points).max() > 0.95 * REACH  # the whole square


def test_ice_has_the_mean_and_the_spread_of_the_true_distribution():
    """Shares of ice follow Beta(1, 15), whose mean is 1/16; with one q for all they would hardly differ."""
    levels = jax.jit(jax.vmap(ICY.sample))(jax.random.split(jax.random.key(1), 1000))
    share = np.asarray(jax.vmap(icy_tiles)(levels.ice)).mean(axis=1)
    assert share.mean() == pytest.approx(1 / 16, abs=0.008)
    assert share.std() == pytest.approx(np.sqrt(15 / (16**2 * 17)), rel=0.15)
    assert not np.asarray(DRY.sample(KEYS[0]).ice).any()


def test_bits_are_tiles(drawn):
    flags = jax.vmap(icy_tiles)(drawn.ice)
    assert flags.shape == (MANY, TILES)
    np.testing.assert_array_equal(jax.vmap(packed)(flags), drawn.ice)


def test_an_edit_changes_a_level_and_leaves_it_well_formed(drawn):
    for space in (DRY, ICY):
        edited = jax.jit(jax.vmap(lambda key, level, space=space: space.edit(key, level, 1)))(KEYS, drawn)
        moved = (np.asarray(edited.points) != np.asarray(drawn.points)).any(axis=(1, 2))
        frozen = (np.asarray(edited.ice) != np.asarray(drawn.ice)).any(axis=1)
        assert (moved ^ frozen).all()
        assert frozen.any() == space.ice
        for i in range(MANY):
            check(one(edited, i))


def test_easy_tracks_are_round_and_dry():
    for i in range(3):
        level = ICY.easy(KEYS[i])
        check(level)
        figures = ICY.metrics(level)
        assert figures["curvature"] * figures["length"] == pytest.approx(2 * np.pi, rel=0.06)  # it only ever turns left
        assert figures["crossings"] == figures["ice"] == 0


def test_metrics_of_a_track_that_is_known():
    square = np.array(
        [(x, y) for x in (-100, -33, 33, 100) for y in (-100, -33, 33, 100) if max(abs(x), abs(y)) == 100]
    )
    level = make(square, icy=range(TILES // 2))
    figures = jax.jit(ICY.metrics)(level)
    assert 720 < figures["length"] < 810  # a square with round corners would have 800
    assert figures["ice"] == 0.5
    eight = np.array([(0, 0), (2, 2), (2, 0), (0, 2)], np.float32)
    assert crossings(eight) == 1
    assert crossings(np.array([(0, 0), (2, 0), (2, 2), (0, 2)], np.float32)) == 0


def test_tracks_are_clockwise_closed_and_start_where_they_are_told(drawn):
    for east in (True, False):
        line = jax.jit(jax.vmap(lambda points, east=east: bezier(points, east)))(drawn.points)
        place = np.asarray(line.place)
        assert place.shape == (MANY, TILES, 2)
        np.testing.assert_allclose(place.min(axis=1) + place.max(axis=1), 0, atol=1e-3)
        following = np.roll(place, -1, axis=1)
        area = (place[..., 0] * following[..., 1] - place[..., 1] * following[..., 0]).sum(axis=1)
        assert (area < 0).all()
        start = np.degrees(np.arctan2(place[:, 0, 1], place[:, 0, 0]))
        assert (np.abs(start) < 5).all() if east else np.median(start) == pytest.approx(-113, abs=20)


def test_a_map_has_room_for_every_track(drawn):
    """Also for the longest: from corner to middle and back."""
    angle = 2 * np.pi * (np.arange(POINTS) + 0.5) / POINTS
    far = np.where(
        np.arange(POINTS) % 2, 20.0, REACH / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle))) * 0.999
    )
    star = make(far[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    env = Racing(View(), TrainingTracks())
    levels = jax.tree.map(lambda a, b: jnp.concatenate([a[:8], b[None]]), drawn, star)
    road = jax.jit(jax.vmap(env.prepare))(levels).road
    assert np.asarray(road.square).max() < TRAINING_MAP.squares
    line = jax.vmap(lambda points: bezier(points, east=True))(levels.points)
    assert np.abs(line.place).max() + 8 < TRAINING_MAP.half


def test_a_design_is_twelve_different_cells():
    task = RacingDesign(ice=True)
    brief = Brief(jax.random.key_data(jax.random.key(0)), ())

    def play(actions):
        def step(state, action):
            state, answer = task.step(None, state, action, brief)
            return state, answer.obs

        state, seen = jax.lax.scan(step, task.reset(None, brief)[0], actions)
        return task.level(state), seen

    play = jax.jit(play)
    level, seen = play(jnp.array([7] * 6 + [99] * 6))  # the same cells again and again, the last one of the grid too
    check(level)
    np.testing.assert_array_equal(np.asarray(seen.sketch).sum(axis=(1, 2)), np.arange(1, POINTS + 1))
    cells = {tuple(np.floor((point + REACH) / (2 * REACH / GRID)).astype(int)) for point in np.asarray(level.points)}
    assert cells == {(x, 0) for x in (7, 8, 9, 0, 1, 2, 3, 4)} | {(x, 1) for x in (0, 1, 2)} | {(9, 9)}
    assert len(np.unique(np.asarray(seen.noise), axis=0)) == POINTS


# --- text


def test_text_keeps_every_bit_and_points_may_come_in_any_order(drawn):
    level = one(drawn, 3)
    again = from_text(to_text(level))
    jax.tree.map(np.testing.assert_array_equal, again, level)
    words = to_text(level).splitlines()[0].removeprefix("points: ").split()
    other = from_text(f"points: {' '.join(reversed(words))}\nice: 3 7-12")
    np.testing.assert_array_equal(other.points, level.points)
    assert np.flatnonzero(icy_tiles(other.ice)).tolist() == [3, *range(7, 13)]
    frozen = from_text(f"points: {' '.join(words)}\nice: q=0.4 seed=1")
    assert icy_tiles(frozen.ice).mean() == pytest.approx(0.4, abs=0.1)


ROUND = [(100 * np.cos(0.5 * k), 100 * np.sin(0.5 * k)) for k in range(POINTS)]


def written(points=ROUND, ice: str = "none") -> str:
    return f"points: {' '.join(f'{x},{y}' for x, y in points)}\nice: {ice}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (written(ROUND[:2]), r"The track has 2 control points, and it needs 12\."),
        (written([*ROUND[:11], ROUND[10]]), rf"are 0 apart; at least {APART:g} are needed, so move one of them\.$"),
        (
            written([*ROUND[:11], (float("nan"), 0)]),
            r"Control point \d+ is at nan,0.0; each number has to be from -166",
        ),
        (written([*ROUND[:11], (0, 170)]), r"is at 0.0,170.0; each number has to be from -166.67 to 166.67\.$"),
        (written(ice="q=1.2"), r"The share of ice q is 1.2; it is a probability, so give a number from 0 to 1\.$"),
        (written(ice="q=nan"), r"The share of ice q is nan; it is a probability"),
        (written(ice="q=much"), r"The share of ice q is much; it is a probability"),
        (written(ice="460-470"), r"The icy tiles 460-470 are not on the track; tiles have numbers from 0 to 467\.$"),
        (written(ice="some"), r"'some' is neither a tile nor a range of tiles\."),
        ("points: 1;2", r"'1;2' is not a control point; give two numbers as x,y\."),
        ("place: 1,2", r"The text has lines called place\. Write a line"),
    ],
)
def test_what_cannot_be_a_level_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(text)


def test_points_of_another_shape_are_refused():
    with pytest.raises(UserError, match=r"The track has control points of shape \[3, 2\]; give 12 of them"):
        make(ROUND[:3])
    with pytest.raises(UserError, match=r"give \[12, 2\] and \[15\]\.$"):
        check(make(ROUND)._replace(ice=jnp.zeros(3, jnp.uint32)))
    assert replace(DRY, ice=True) == ICY


def test_a_track_that_crosses_itself_is_allowed_and_said():
    viewer = build(RacingSettings()).viewer
    assert viewer is not None
    assert viewer.parse is not None
    levels = jax.jit(jax.vmap(DRY.sample))(KEYS)
    times = np.asarray(jax.jit(jax.vmap(lambda level: crossings(bezier(level.points, False).place)))(levels))
    crossed, simple = one(levels, int(np.argmax(times))), one(levels, int(np.argmin(times)))
    assert times.max() >= 1 > times.min()
    check(crossed)
    assert "note: crosses itself" in viewer.text(crossed)
    jax.tree.map(np.testing.assert_array_equal, viewer.parse(viewer.text(crossed)), crossed)
    assert "note" not in viewer.text(simple)
