"""Write a page that runs without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import UserError, require
from ...runs.session import load
from .bundle import bundle
from .content import content

MARK = "<!-- made by tutelage page -->"


def write_page(
    paths: Sequence[Path | str],
    out: Path | str = "demo.html",
    title: str = "Students in mazes",
    suite: str = "all",
    top: int = 12,
    say: Callable[[str], None] = print,
) -> Path:
    """Put the students of runs in the maze, with an editor and mazes to choose from, into one file.

    It has the mazes of ``suite`` and, of each run that keeps levels, the ``top`` ones. ``say`` is told what was chosen
    for the weights of each student: 16 bits where that changes no greedy action on the suite, otherwise 32.
    """
    out = Path(out)
    _check(out)
    require(len(paths) >= 1, "No runs were given; a page needs the student of at least one.")
    require(top >= 1, f"{top} levels of each buffer were asked for; give at least 1.")
    return _write(out, page_of(content([load(path, say) for path in paths], title, suite, top, say)))


def page_of(content: Any) -> str:
    """The whole page of some content."""
    head, tag, rest = bundle("demo.html", content).partition("<html")
    return f"{head}{MARK}\n{tag}{rest}"


def content_of(page: Path | str) -> Any:
    """What a page holds: its students, mazes and best levels."""
    page = Path(page)
    require(page.is_file(), f"There is no page {page}.")
    _check(page)
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page.read_text(encoding="utf-8"))
    require(found is not None, f"{page} has no students in it; make it anew with `tutelage page`.")
    assert found is not None
    return json.loads(found[1])


def refresh(page: Path | str) -> Path:
    """Write a page again, with its own students and mazes and this version's scripts and styles."""
    return _write(Path(page), page_of(content_of(page)))


def _write(out: Path, text: str) -> Path:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UserError(
            f"{out} could not be written: {problem.strerror or problem}. Choose another with --out."
        ) from problem
    return out


def _check(out: Path) -> None:
    """Refuse, before anything is computed, to write over what is not a page of ours."""
    require(out.suffix in (".html", ".htm"), f"{out} is to be a web page; give it a name that ends with .html.")
    require(not out.is_dir(), f"{out} is a directory; choose another file with --out.")
    if out.exists() and MARK not in out.read_bytes()[:400].decode(errors="replace"):
        raise UserError(
            f"{out} exists and was not made by `tutelage page`; move it away, or choose another with --out."
        )
