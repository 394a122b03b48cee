"""Pictures of a walker's levels."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tutelage.envs.walker.level import PLAIN, make
from tutelage.envs.walker.render import LINE, SKY, SOIL, STONE, animate, gallery, rose
from tutelage.errors import UserError

STUMPS = make((0, 0, 0, 3, 3, 0, 0, 1), 0)


def pixels(path):
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def has(image, colour):
    """More of it than edges and letters may have by chance."""
    return int((np.abs(image - colour).max(-1) < 16).sum()) > 20


def test_a_gallery_shows_ground_and_obstacles_of_every_level(tmp_path):
    gallery([make(), STUMPS], ["plain", "two\nlines"], tmp_path / "levels.png", unit=6)
    gallery([make()], ["plain"], tmp_path / "one.png", unit=6)
    both, one = pixels(tmp_path / "levels.png"), pixels(tmp_path / "one.png")
    assert all(has(both, colour) for colour in (SKY, SOIL, STONE))
    assert not has(one, STONE)
    assert one.shape[1] == both.shape[1]
    assert one.shape[0] < both.shape[0]


def test_pictures_have_the_stairs_of_the_simulator(tmp_path):
    stairs = make((0, 0, 0, 0, 0, 1, 1, 9), 0)
    for how in ("exact", "below"):
        gallery([stairs], [""], tmp_path / f"{how}.png", unit=4, stair_steps=how)
        animate(stairs, np.zeros((1, 4)), tmp_path / f"{how}.gif", unit=8, stair_steps=how)
    exact, below = pixels(tmp_path / "exact.png"), pixels(tmp_path / "below.png")
    assert exact.shape != below.shape or (exact != below).any()


def test_a_rose_has_a_panel_for_every_group(tmp_path):
    rose({"few": [STUMPS], "none": [], "many": [STUMPS] * 30}, tmp_path / "rose.png", size=240)
    picture = pixels(tmp_path / "rose.png")
    assert [has(panel, LINE) for panel in np.split(picture, 3, axis=1)] == [True, False, True]
    rose({"few": [STUMPS]}, tmp_path / "five.png", stairs=False, size=240)
    assert not np.array_equal(pixels(tmp_path / "five.png"), picture[:, :240])


def test_an_animation_runs_as_fast_as_the_episode(tmp_path):
    animate(make(PLAIN, 1), np.zeros((20, 4)), tmp_path / "walk.gif", unit=8, every=5)
    with Image.open(tmp_path / "walk.gif") as picture:
        assert picture.n_frames == 5
        assert picture.info["duration"] == 100


def test_what_cannot_be_drawn_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(UserError, match="1 levels and 0 captions"):
        gallery([make()], [], tmp_path / "none.png")
    with pytest.raises(UserError, match="no levels"):
        gallery([], [], tmp_path / "none.png")
    with pytest.raises(UserError, match="no levels"):
        rose({}, tmp_path / "none.png")
    with pytest.raises(UserError, match="shape \\[4\\]"):
        animate(make(), np.zeros(4), tmp_path / "walk.gif")
