"""The command line. JAX is imported only by commands that compute, so that help answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..errors import UserError, unknown
from .commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except UserError as problem:
        print(f"tutelage: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 0


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        print("usage: tutelage COMMAND ...\n\nTrain robust agents by designing what they train on.\n")
        print("\n".join(f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()))
        print("\n`tutelage COMMAND --help` says more. A first run: tutelage train maze accel --preset small")
        return 0
    if arguments[0] == "--version":
        from ..runs.directory import package_version

        print(f"tutelage {package_version()}")
        return 0
    if arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)
    return COMMANDS[arguments[0]].run(arguments[1:])
