"""Sheets of pictures, and files of them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tutelage.errors import UserError
from tutelage.pictures import PAPER, WIDEST, gif, png, sheet, write

RED, BLUE = np.full((40, 60, 3), (200, 0, 0), np.uint8), np.full((50, 30, 3), (0, 0, 200), np.uint8)
NOISE = np.random.default_rng(0).integers(0, 256, (80, 90, 3), dtype=np.uint8)


def read(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def boxes(picture: np.ndarray, colour: tuple[int, ...]) -> list[int]:
    """Left, top, right and bottom of all that has a colour."""
    rows, columns = np.nonzero((picture == colour).all(-1))
    return [int(value) for value in (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)]


@pytest.mark.parametrize(("columns", "number", "rows"), [(2, 3, 2), (6, 1, 1), (3, 3, 1)])
def test_a_sheet_has_so_many_columns(columns: int, number: int, rows: int) -> None:
    drawn = sheet([RED] * number, [f"picture {i}\nbeneath" for i in range(number)], columns)
    assert drawn.dtype == np.uint8
    assert drawn.shape[1] >= min(columns, number) * 60
    assert (drawn == RED[0, 0]).all(-1).sum() == number * 40 * 60
    starts = (drawn == RED[0, 0]).all(-1).any(1).astype(int)
    assert (np.diff(starts, prepend=0) == 1).sum() == rows


def test_pictures_of_a_row_stand_on_one_line_above_their_captions() -> None:
    drawn = sheet([RED, BLUE], ["", "below"])
    red, blue = boxes(drawn, (200, 0, 0)), boxes(drawn, (0, 0, 200))
    assert red[3] == blue[3]
    assert red[2] < blue[0]
    assert tuple(drawn[0, 0]) == PAPER
    text = (drawn[blue[3] :] < 128).all(-1)
    assert text.any()
    assert not text[:, : red[2]].any()


def test_wide_pictures_are_put_below_each_other_and_long_captions_are_wrapped() -> None:
    wide = np.zeros((20, WIDEST // 2, 3), np.uint8)
    assert sheet([wide] * 3, [""] * 3).shape[1] < WIDEST
    long = ", ".join(f"figure {i}" for i in range(100))
    drawn = sheet([wide], [long])
    assert drawn.shape[1] == sheet([wide], [""]).shape[1]
    assert drawn.shape[0] > sheet([wide], ["one line"]).shape[0]


def test_what_cannot_be_laid_out_is_refused() -> None:
    with pytest.raises(UserError, match="1 pictures and 2 captions"):
        sheet([RED], ["a", "b"])
    with pytest.raises(UserError, match="no pictures"):
        sheet([], [])
    with pytest.raises(UserError, match="columns is 0"):
        sheet([RED], [""], 0)


def test_a_png_is_exact_unless_fewer_colours_are_wished() -> None:
    np.testing.assert_array_equal(read(png(NOISE)), NOISE)
    np.testing.assert_array_equal(read(png(RED, 4)), RED)
    few = read(png(NOISE, 16))
    assert len(np.unique(few.reshape(-1, 3), axis=0)) <= 16
    assert np.abs(few.astype(int) - NOISE).mean() < 64


def test_large_areas_keep_their_colours() -> None:
    both = np.concatenate([NOISE[:40, :60], RED, RED + np.uint8(1)])
    np.testing.assert_array_equal(read(png(both, 16))[40:], both[40:])


def shades(number: int) -> list[np.ndarray]:
    return [np.full((8, 8, 3), 10 * i, np.uint8) for i in range(number)]


def durations(data: bytes) -> list[int]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "GIF"
        found = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            found.append(image.info["duration"])
    return found


def test_the_last_frame_of_a_moving_picture_stays() -> None:
    assert durations(gif(iter(shades(3)), 120)) == [120, 120, 1500]
    assert durations(gif(shades(2), 500)) == [500, 4000]
    assert durations(gif(shades(1), 120))[-1:] in ([1500], [])


def test_a_fast_one_keeps_its_speed_with_fewer_frames_and_its_end() -> None:
    data = gif(shades(6), 20)
    assert durations(data) == [60, 60, 1500]
    with Image.open(io.BytesIO(data)) as image:
        image.seek(2)
        assert image.convert("RGB").getpixel((0, 0)) == (50, 50, 50)


def test_what_cannot_move_is_refused() -> None:
    with pytest.raises(UserError, match="no frames"):
        gif([])
    with pytest.raises(UserError, match=r"\[40, 60, 3\] and \[50, 30, 3\]"):
        gif([RED, BLUE])
    with pytest.raises(UserError, match="pace is 0"):
        gif([RED], 0)


def test_a_file_is_written_or_a_sentence_says_why_not(tmp_path: Path) -> None:
    write(tmp_path / "red.png", png(RED))
    np.testing.assert_array_equal(read((tmp_path / "red.png").read_bytes()), RED)
    with pytest.raises(UserError, match="no/red.png could not be written: No such file or directory"):
        write(tmp_path / "no" / "red.png", png(RED))
