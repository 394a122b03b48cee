"""`tutelage check`."""

from __future__ import annotations

from .parser import parser_of


def run(arguments: list[str]) -> int:
    """Look at an environment or a method of the user's."""
    parser = parser_of("check")
    parser.add_argument("file", help="a Python file that defines 'environment', 'method' or both")
    options = parser.parse_args(arguments)
    from ..runs.launch import start_jax

    start_jax()
    from ..checking import check

    for holds in check(options.file):
        print(f"ok: {holds}")
    return 0
