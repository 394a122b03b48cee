"""`tutelage methods`."""

from __future__ import annotations

from ..errors import UserError
from ..methods.registry import find, names
from .parser import parser_of


def run(arguments: list[str]) -> int:
    """List the methods."""
    parser_of("methods").parse_args(arguments)
    width = max(map(len, names()))
    for name in names():
        print(f"{name:<{width}}  {_summary(name)}")
    return 0


def _summary(name: str) -> str:
    try:
        return find(name).summary
    except UserError as problem:  # of an installed package that is broken
        return str(problem)
