"""Pictures of a walker's levels."""

from __future__ import annotations

import numpy as np
import pytest

from tutelage.envs.walker.level import PLAIN, make
from tutelage.envs.walker.render import (
    FAR,
    LINE,
    NEAR,
    PACE,
    SKY,
    SOIL,
    STONE,
    felt,
    frames,
    picture,
    rose,
    seen,
)
from tutelage.envs.walker.simulator import Walker, pose_of
from tutelage.errors import UserError

STUMPS = make((0, 0, 0, 3, 3, 0, 0, 1), 0)


def has(image, colour):
    """More of it than edges and letters may have by chance."""
    return int((np.abs(image.astype(int) - colour).max(-1) < 16).sum()) > 20


def still(number):
    """States of an episode of so many steps in which nothing is done."""
    return {"action": np.zeros((number + 1, 4), np.float32)}


def test_a_picture_shows_ground_and_obstacles():
    plain, stumps = picture(make(), unit=6), picture(STUMPS, unit=6)
    assert all(has(stumps, colour) for colour in (SKY, SOIL, STONE))
    assert not has(plain, STONE)
    assert plain.shape[1] == stumps.shape[1]


def test_pictures_have_the_stairs_of_the_simulator():
    stairs = make((0, 0, 0, 0, 0, 1, 1, 9), 0)
    exact, below = (picture(stairs, unit=4, stair_steps=how) for how in ("exact", "below"))
    assert exact.shape != below.shape or (exact != below).any()
    for how in ("exact", "below"):
        assert len(list(frames(stairs, still(1), unit=8, stair_steps=how))) == 2


def test_a_rose_has_a_panel_for_every_group():
    panels = rose({"few": [STUMPS], "none": [], "many": [STUMPS] * 30}, size=240)
    assert [has(panel, LINE) for panel in np.split(panels, 3, axis=1)] == [True, False, True]
    assert not np.array_equal(rose({"few": [STUMPS]}, stairs=False, size=240), panels[:, :240])


def test_frames_are_as_many_as_steps_and_run_as_fast():
    drawn = list(frames(make(PLAIN, 1), still(20), unit=8))
    assert [frame.shape for frame in drawn] == [(72, 120, 3)] * 21
    assert PACE == 20


def test_what_the_student_feels_is_the_body_that_it_has():
    walker, dice = Walker(), np.random.default_rng(0)
    walker.reset(options={"level": STUMPS})
    for _ in range(25):
        obs, *_ = walker.step(dice.uniform(-1, 1, 4).astype(np.float32))
        parts = np.array(pose_of(walker))
        parts[:, :2] -= parts[0, :2]
        np.testing.assert_allclose(felt(obs), parts, atol=0.2)  # Box2D's joints give a little


def test_a_picture_of_what_the_student_is_told():
    obs = np.zeros(24, np.float32)
    obs[[6, 11]], obs[14:] = 1.0, 1.0  # straight legs, and nothing in the way
    far, near = seen(obs), seen(np.concatenate([obs[:14], np.full(10, 0.5, np.float32)]))
    assert far.shape == near.shape
    assert far.dtype == np.uint8
    half = far.shape[0] // 2
    # Rays that meet the ground end there, with a dot.
    assert has(far[-half:, half:], LINE)
    assert not has(near[-half // 3 :, half:], LINE)
    for number, change in ((2, 0.8), (5, -1.0), (13, 1.0), (9, 0.5), (0, 0.3)):  # speed, a hip, a foot, a hip, hull
        other = obs.copy()
        other[number] += change
        assert (seen(other) != far).any()
    assert has(far, NEAR)
    bent = obs.copy()
    bent[4] = 1.0  # the leg behind comes out from behind the other one
    assert has(seen(bent), FAR)


def test_actions_are_cut_off_as_the_simulator_does_it():
    actions = np.random.default_rng(0).normal(scale=3.0, size=(11, 4)).astype(np.float32)
    drawn, cut = (list(frames(make(), {"action": given}, unit=8)) for given in (actions, actions.clip(-1, 1)))
    np.testing.assert_array_equal(drawn, cut)


def test_what_cannot_be_drawn_is_refused_with_a_sentence():
    with pytest.raises(UserError, match="no levels"):
        rose({})
    with pytest.raises(UserError, match="shape \\[4\\]"):
        next(frames(make(), {"action": np.zeros(4)}))
