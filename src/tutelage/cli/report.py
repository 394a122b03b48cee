"""`tutelage report`."""

from __future__ import annotations

from ..errors import UserError
from ..runs.launch import start_jax
from .parser import MANY, add_comparison, parser_of, whole_number
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Write a page about runs."""
    parser = parser_of("report")
    add_comparison(parser)
    parser.add_argument(
        "--out", default="report.html", help="the page; its tables go beside it, as Markdown (default report.html)"
    )
    parser.add_argument(
        "--top", type=whole_number(MANY), default=12, help="how many of a buffer's best levels to draw (default 12)"
    )
    parser.add_argument(
        "--no-pictures", action="store_true", help="leave out pictures of levels and episodes: fast, and needs no JAX"
    )
    options = parser.parse_args(arguments)
    if options.top < 1:
        raise UserError(f"--top is {options.top}; give at least 1, or --no-pictures for none.")
    if not options.no_pictures:
        start_jax()
    from ..report.write import write_report

    top = 0 if options.no_pictures else options.top
    files = write_report(
        options.runs, options.out, options.suite, options.measure, options.against, options.interval, top, warn
    )
    print(f"Wrote {files.page} and {files.tables}.")
    return 0
