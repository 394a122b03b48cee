"""`tutelage compare`."""

from __future__ import annotations

from .parser import add_comparison, parser_of
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Print methods side by side."""
    parser = parser_of("compare")
    add_comparison(parser)
    parser.add_argument("--over-games", action="store_true", help="runs of several games: the tables of chapter 3")
    options = parser.parse_args(arguments)
    if options.over_games:
        from ..report.over_games import over_games

        print(over_games(options.runs, options.suite, options.against, warn).text())
        return 0
    from ..report.comparison import compare
    from ..report.records import common_suites

    compared = compare(options.runs, options.suite, options.measure, options.against, options.interval, warn)
    print(compared.text())
    others = [name for name in common_suites(compared.study.runs) if name != compared.study.suite]
    if others:
        print(f"All of them were also evaluated on {', '.join(others)}: --suite shows one, `tutelage report` all.")
    return 0
