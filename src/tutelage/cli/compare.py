"""`tutelage compare`."""

from __future__ import annotations

from .parser import add_comparison, parser_of


def run(arguments: list[str]) -> int:
    """Print methods side by side."""
    parser = parser_of("compare")
    add_comparison(parser)
    options = parser.parse_args(arguments)
    from ..report.comparison import compare

    print(compare(options.runs, options.suite, options.measure, options.against, options.interval).text())
    return 0
