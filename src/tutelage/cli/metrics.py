"""`tutelage metrics`."""

from __future__ import annotations

from ..errors import UserError
from ..glossary import FIGURES, SOURCES, find
from .parser import parser_of


def run(arguments: list[str]) -> int:
    """Say what logged figures mean."""
    parser = parser_of("metrics")
    parser.add_argument("name", nargs="*", help="figures to explain, as metrics.jsonl calls them (default: all)")
    options = parser.parse_args(arguments)
    chosen = [(name, find(name)) for name in options.name] or [(figure.name, figure) for figure in FIGURES]
    for name, figure in chosen:
        if figure is None:
            raise UserError(
                f"No figure is called '{name}'; `tutelage metrics` lists all. One that a method of your own logs is "
                "explained there."
            )
        unit = f" [{figure.unit}]" if figure.unit else ""
        print(f"{name}{unit}\n    {figure.meaning} ({figure.who})")
    if not options.name:
        print(f"\nBefore the name of a figure of a batch may stand one of {SOURCES}: of levels of that source only.")
    return 0
