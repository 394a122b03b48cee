"""Pictures of mazes."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image

from tutelage.envs.maze.level import from_ascii
from tutelage.envs.maze.render import AGENT, FLOOR, GOAL, TRAIL, WALL, animate, draw, gallery
from tutelage.envs.maze.space import MazeSpace
from tutelage.errors import UserError

LEVEL = from_ascii("######\n#>..G#\n#.##.#\n######")


def middle(picture: np.ndarray, x: int, y: int, cell: int) -> tuple[int, ...]:
    """The colour at the centre of an interior cell."""
    return tuple(map(int, picture[(y + 1) * cell + cell // 2, (x + 1) * cell + cell // 2]))


def test_every_cell_has_its_colour() -> None:
    picture = draw(LEVEL, cell=16)
    assert (picture.shape, picture.dtype) == ((4 * 16, 6 * 16, 3), np.uint8)
    seen = {cell: middle(picture, *cell, 16) for cell in ((0, 0), (1, 0), (3, 0), (1, 1), (-1, 0))}
    assert seen == {(0, 0): AGENT, (1, 0): FLOOR, (3, 0): GOAL, (1, 1): WALL, (-1, 0): WALL}


@pytest.mark.parametrize(("direction", "tip"), [*enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)])])
def test_the_agent_points_where_it_looks(direction: int, tip: tuple[int, int]) -> None:
    """The half of the triangle with the tip has less of it."""
    cell = 20
    level = LEVEL._replace(direction=np.asarray(direction, np.int32))
    own = draw(level, cell=cell)[cell : 2 * cell, cell : 2 * cell]
    red = (own[..., 0] > 150) & (own[..., 1] < 120)
    rows, columns = np.nonzero(red)
    leaning = np.array([columns.mean(), rows.mean()]) - (cell - 1) / 2
    assert leaning @ np.array(tip) < -0.5


def test_a_path_is_drawn() -> None:
    assert middle(draw(LEVEL, [(0, 0), (1, 0), (2, 0)], 16), 1, 0, 16) == TRAIL


def test_generated_levels_can_be_drawn() -> None:
    assert draw(MazeSpace(5, 5).sample(jax.random.key(0))).shape == (7 * 12, 7 * 12, 3)


@pytest.mark.parametrize(("columns", "count"), [(2, 3), (6, 1), (3, 3)])
def test_gallery(tmp_path: Path, columns: int, count: int) -> None:
    file = tmp_path / "mazes.png"
    gallery([LEVEL] * count, [f"maze {i}\npath 3" for i in range(count)], file, columns)
    with Image.open(file) as image:
        assert image.format == "PNG"
        assert image.width >= min(columns, count) * 6 * 12
        assert image.height >= -(-count // columns) * 4 * 12


def test_gallery_refuses_what_does_not_match(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1 mazes and 2 captions"):
        gallery([LEVEL], ["a", "b"], tmp_path / "x.png")
    with pytest.raises(UserError, match="no mazes"):
        gallery([], [], tmp_path / "x.png")


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "episode.gif"
    animate(LEVEL, [(0, 0), (1, 0), (1, 0)], [0, 0, 1], file, view=5)
    with Image.open(file) as image:
        assert (image.format, getattr(image, "n_frames", 1)) == ("GIF", 3)
    with pytest.raises(UserError, match="1 positions and 2 directions"):
        animate(LEVEL, [(0, 0)], [0, 1], file)
