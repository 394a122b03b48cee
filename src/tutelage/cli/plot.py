"""`tutelage plot`."""

from __future__ import annotations

from .parser import add_comparison, parser_of
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Draw figures for a paper."""
    parser = parser_of("plot")
    add_comparison(parser, intervals=False)
    parser.add_argument("--out", default="plots", help="the directory for the figures (default plots)")
    parser.add_argument(
        "--figure",
        action="append",
        default=[],
        help="curves, intervals, profiles, improvement or roses; can be given again (default: all that can be drawn)",
    )
    parser.add_argument("--width", default="column", help="column (3.25 inches, default), text (6.75) or slide (10)")
    kind = parser.add_mutually_exclusive_group()
    for name in ("pdf", "svg", "png"):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=f"write {name} files")
    options = parser.parse_args(arguments)
    from ..report.plot import plot

    files = plot(
        options.runs,
        options.out,
        options.figure,
        options.suite,
        options.measure,
        options.against,
        options.width,
        options.kind or "pdf",
        warn,
    )
    print(f"Wrote {', '.join(map(str, files))}." if files else "Nothing could be drawn.")
    return 0 if files else 2
