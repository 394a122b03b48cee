"""Pictures, which are arrays ``uint8 [H, W, 3]``: many on one sheet, and as the bytes of a file. No JAX here."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .errors import UserError, require

TEXT, PAPER = (40, 40, 40), (255, 255, 255)

WIDEST, CAPTION = 1600, 240
"""Pixels: a sheet is not made wider by another column, nor a column by its caption."""
SMOOTH = 60
"""Milliseconds. Frames that follow each other faster only make a file large."""


def sheet(pictures: Sequence[np.ndarray], captions: Sequence[str], columns: int = 6) -> np.ndarray:
    """Many pictures as one, a caption under each, side by side as far as there is room for up to ``columns``.

    Captions have lines of their own, and more where a line is too long.
    """
    require(len(pictures) > 0, "There are no pictures to lay out; give at least one.")
    require(
        len(pictures) == len(captions),
        f"There are {len(pictures)} pictures and {len(captions)} captions; give as many of both.",
    )
    require(columns >= 1, f"columns is {columns}; give at least 1.")
    font, gap = ImageFont.load_default(size=12), 14
    images = [Image.fromarray(picture) for picture in pictures]
    widest = max(image.width for image in images)
    texts = [_wrapped(caption, font, max(widest, CAPTION)) for caption in captions]
    ruler = ImageDraw.Draw(images[0])
    sizes = [ruler.multiline_textbbox((0, 0), text, font)[2:] for text in texts]
    width = max(widest, *(int(size[0]) for size in sizes))
    columns = max(1, min(columns, len(images), WIDEST // (width + gap)))
    rows = [range(i, min(i + columns, len(images))) for i in range(0, len(images), columns)]
    tops = [max(images[i].height for i in row) + 6 for row in rows]
    heights = [top + int(max(sizes[i][1] for i in row)) + gap for top, row in zip(tops, rows, strict=True)]

    paper = Image.new("RGB", (gap + columns * (width + gap), gap + sum(heights)), PAPER)
    pen = ImageDraw.Draw(paper)
    y = gap
    for row, top, height in zip(rows, tops, heights, strict=True):
        for column, i in enumerate(row):
            middle = gap + column * (width + gap) + width // 2
            paper.paste(images[i], (middle - images[i].width // 2, y + top - 6 - images[i].height))
            pen.multiline_text((middle, y + top), texts[i], TEXT, font, anchor="ma", align="center")
        y += height
    return np.asarray(paper)


def strip(frames: Sequence[np.ndarray], most: int = 12) -> np.ndarray:
    """A moving picture as a still one: frames from its beginning to its end, each with its number."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, most).round().astype(int))
    return sheet([frames[i] for i in chosen], [f"step {i}" for i in chosen], columns=4)


def png(picture: np.ndarray, colours: int | None = None) -> bytes:
    """A picture as a file: exact, or smaller with no more than so many ``colours``."""
    image = Image.fromarray(picture) if colours is None else _indexed([picture], colours)[0]
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def gif(frames: Iterable[np.ndarray], pace: int = 120) -> bytes:
    """A moving picture as a file, each frame for ``pace`` milliseconds, or every second or third for that much longer.

    The last frame stays, so that one sees how it ended.
    """
    require(pace >= 1, f"The pace is {pace}; give at least 1 millisecond a frame.")
    *before, last = _of_one_shape(frames)
    every = max(1, SMOOTH // pace)
    first, *rest = _indexed([*before[::every], last], 64)
    durations = [every * pace] * len(rest) + [max(8 * pace, 1500)]
    stream = io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0)
    return stream.getvalue()


def encoder() -> str:
    """The program that makes videos, on the path or from the package imageio-ffmpeg. Refuses where there is none."""
    found = shutil.which("ffmpeg")
    if found is None and find_spec("imageio_ffmpeg") is not None:
        found = import_module("imageio_ffmpeg").get_ffmpeg_exe()
    if found is None:
        raise UserError(
            "A video needs ffmpeg, which is not installed; install it, or `pip install imageio-ffmpeg`, or write a gif."
        )
    return found


def mp4(frames: Iterable[np.ndarray], pace: int = 120) -> bytes:
    """A video as a file (H.264), each frame for ``pace`` milliseconds, the last for a second."""
    require(pace >= 1, f"The pace is {pace}; give at least 1 millisecond a frame.")
    shown = _of_one_shape(frames)
    shown += [shown[-1]] * max(1, 1000 // pace)
    height, width = shown[0].shape[:2]
    edge = ((0, height % 2), (0, width % 2), (0, 0))  # the sides of a video are even
    size = f"{width + width % 2}x{height + height % 2}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "video.mp4"
        given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{1000 / pace:.4f}", "-i", "-"]
        wanted = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(out)]
        done = subprocess.run(
            [encoder(), "-loglevel", "error", "-y", *given, *wanted],
            input=b"".join(np.pad(frame, edge, "edge").tobytes() for frame in shown),
            capture_output=True,
            check=False,
        )
        require(done.returncode == 0, f"ffmpeg could not make the video: {done.stderr.decode(errors='replace')[:500]}")
        return out.read_bytes()


def write(path: str | Path, data: bytes) -> None:
    """Write a file."""
    try:
        Path(path).write_bytes(data)
    except OSError as problem:
        raise UserError(
            f"The picture {path} could not be written: {problem.strerror or problem}. Choose another file."
        ) from problem


def _of_one_shape(frames: Iterable[np.ndarray]) -> list[np.ndarray]:
    listed = list(frames)
    require(len(listed) > 0, "There are no frames to show; give at least one.")
    for frame in listed:
        require(
            frame.shape == listed[0].shape,
            f"The frames have the shapes {list(listed[0].shape)} and {list(frame.shape)}; give all the same.",
        )
    return listed


def _wrapped(text: str, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, width: int) -> str:
    """With line breaks after commas, so that lines are no wider than ``width`` where they can be."""
    lines: list[str] = []
    for line in text.split("\n"):
        first, *others = line.split(", ")
        lines.append(first)
        for word in others:
            longer = f"{lines[-1]}, {word}"
            if font.getlength(longer) <= width:
                lines[-1] = longer
            else:
                lines[-1] += ","
                lines.append(word)
    return "\n".join(lines)


def _indexed(pictures: Sequence[np.ndarray], colours: int) -> list[Image.Image]:
    """Pictures with one palette for all, so that nothing flickers.

    The most frequent colours stay what they are: these are the large areas. All others, mostly edges, share the rest.
    """
    counts: Counter[int] = Counter()
    for picture in pictures:
        numbers, times = np.unique(_numbers(picture), return_counts=True)
        counts.update(dict(zip(numbers.tolist(), times.tolist(), strict=True)))
    by_count = np.array([number for number, _ in counts.most_common()])
    palette = found = np.stack([by_count >> 16, by_count >> 8 & 255, by_count & 255], -1).astype(np.uint8)
    if len(found) > colours:
        exact = max(1, colours // 4)
        others = Image.fromarray(found[None, exact:]).quantize(colours - exact).getpalette()
        assert others is not None
        palette = np.concatenate([found[:exact], np.array(others, np.uint8).reshape(-1, 3)[: colours - exact]])
    # Found here: Pillow looks only for a colour that is about the nearest, and misses those that are there.
    table = np.zeros(1 << 24, np.uint8)
    for colour, number in zip(found.astype(int), by_count, strict=True):
        table[number] = np.square(palette - colour).sum(-1).argmin()
    images = []
    for picture in pictures:
        image = Image.fromarray(table[_numbers(picture)])
        image.putpalette(palette.tobytes())
        images.append(image)
    return images


def _numbers(picture: np.ndarray) -> np.ndarray:
    """Each colour as one number."""
    red, green, blue = np.moveaxis(picture.astype(np.uint32), -1, 0)
    return red << 16 | green << 8 | blue
