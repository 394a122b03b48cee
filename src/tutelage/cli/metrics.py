"""`tutelage metrics`."""

from __future__ import annotations

from ..glossary import FIGURES, SOURCES, metrics
from .parser import parser_of


def run(arguments: list[str]) -> int:
    """Say what logged figures mean."""
    parser = parser_of("metrics")
    parser.add_argument("name", nargs="*", help="figures to explain, as metrics.jsonl calls them (default: all)")
    options = parser.parse_args(arguments)
    for name, figure in zip(options.name or [figure.name for figure in FIGURES], metrics(*options.name), strict=True):
        unit = f" [{figure.unit}]" if figure.unit else ""
        print(f"{name}{unit}\n    {figure.meaning} ({figure.who})")
    if not options.name:
        print(f"\nBefore the name of a figure of a batch may stand one of {SOURCES}: of levels of that source only.")
    return 0
