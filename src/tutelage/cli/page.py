"""`tutelage page`."""

from __future__ import annotations

from ..errors import UserError
from ..runs.launch import start_jax
from .parser import MANY, parser_of, whole_number


def run(arguments: list[str]) -> int:
    """Write a page that runs without a server."""
    parser = parser_of("page")
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="directories of maze runs; their students come side by side"
    )
    parser.add_argument("--out", default="demo.html", help="the page (default demo.html)")
    parser.add_argument("--title", default="Students in mazes", help="its heading (default: Students in mazes)")
    parser.add_argument(
        "--suite", default="all", help="the held-out mazes to show, and to check the weights on (default all)"
    )
    parser.add_argument(
        "--top", type=whole_number(MANY), default=12, help="how many of each buffer's best levels to show (default 12)"
    )
    parser.add_argument(
        "--refresh", action="store_true", help="without runs: keep the students in --out, renew its scripts and styles"
    )
    options = parser.parse_args(arguments)
    if options.top < 1:
        raise UserError(f"--top is {options.top}; give at least 1.")
    if options.refresh == bool(options.runs):
        raise UserError("Name the runs whose students come onto the page, or give --refresh to keep those on it.")
    if options.refresh:
        from ..lab.page.write import refresh

        print(f"Renewed {refresh(options.out)}.")
        return 0
    start_jax()
    from ..lab.page.write import write_page

    page = write_page(options.runs, options.out, options.title, options.suite, options.top)
    print(f"Wrote {page}, {page.stat().st_size / 1e6:.2f} MB.")
    return 0
