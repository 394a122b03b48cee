"""Write a page that runs without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

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
    text = bundle("demo.html", content([load(path, say) for path in paths], title, suite, top, say))
    head, tag, rest = text.partition("<html")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{head}{MARK}\n{tag}{rest}", encoding="utf-8")
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
