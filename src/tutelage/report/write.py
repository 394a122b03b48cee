"""Write a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..errors import UserError, require
from ..runs.directory import package_version
from .comparison import comparison
from .page import MARK, Content, title_of, to_html, to_markdown
from .records import Measure, common_suites, on_suite, read


class Files(NamedTuple):
    """What was written."""

    page: Path
    tables: Path


def write_report(
    paths: Sequence[Path | str],
    out: Path | str = "report.html",
    suite: str = "",
    measure: Measure | None = None,
    against: str = "",
    level: float | None = None,
    top: int = 12,
    warn: Callable[[str], None] = print,
) -> Files:
    """Put runs, groups of seeds or whole studies on one page, and its tables beside it as Markdown.

    ``suite``, ``measure``, ``against`` and ``level`` are those of ``compare``. Without a suite, there are tables of
    every suite that all runs were evaluated on. Pictures are of the first seed of each method, with ``top`` levels; 0
    draws none, and then JAX is not needed.
    """
    files = _files(Path(out))
    require(top >= 0, f"{top} levels were asked for; give 0 or more.")
    study = read(paths, suite, warn)
    compared = comparison(study, measure, against, level)
    pictures = {}
    if top:
        from .pictures import run_pictures

        pictures = {method.label: run_pictures(method.runs[0], study.suite, top, warn) for method in study.methods}
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    others = () if suite else tuple(name for name in common_suites(study.runs) if name != study.suite)
    tables = tuple(comparison(on_suite(study, name), measure, against, level) for name in others)
    content = Content(title_of(study), compared, pictures, package_version(), date, tables)
    for path, text in zip(files, (to_html(content), to_markdown(content)), strict=True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise UserError(
                f"{path} could not be written: {problem.strerror or problem}. Choose another with --out."
            ) from problem
    return files


def _files(out: Path) -> Files:
    """Where to write. Refuses, before anything is computed, to write over what is not a report."""
    require(out.suffix in (".html", ".htm"), f"The report {out} is a web page; give it a name that ends with .html.")
    files = Files(out, out.with_suffix(".md"))
    for path in files:
        require(not path.is_dir(), f"{path} is a directory; choose another file with --out.")
        if path.exists() and MARK not in path.read_bytes()[:400].decode(errors="replace"):
            raise UserError(f"{path} exists and is not a report; move it away, or choose another file with --out.")
    return files
