"""`tutelage envs`."""

from __future__ import annotations

from ..envs.registry import environment, names
from ..errors import UserError
from .parser import parser_of


def run(arguments: list[str]) -> int:
    """List the environments."""
    parser_of("envs").parse_args(arguments)
    for name in names():
        try:
            _show(name)
        except UserError as problem:  # one that needs what is not installed, or of a package that is broken
            print(f"  {problem}")
    return 0


def _show(name: str) -> None:
    entry = environment(name)
    print(f"{name}: {entry.summary}")
    for preset, chosen in entry.presets.items():
        mark = " (default)" if preset == entry.default_preset else ""
        print(f"  preset {preset}{mark}: {chosen.summary}")
    default = entry.presets[entry.default_preset]
    print(f"  suites: {', '.join(entry.build(default.env).suites)}")
