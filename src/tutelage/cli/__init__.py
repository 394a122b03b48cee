"""The command line. JAX is imported only by commands that compute, so that help answers at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError, unknown
from ..streams import guarded
from ..trusted import Untrusted, trust
from .commands import COMMANDS
from .parser import TRUST
from .terminal import agreed, end_quietly, one_interrupt, warn

FAILED, REFUSED, STOPPED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    with guarded() as results, one_interrupt():
        code = _guarded(list(sys.argv[1:] if arguments is None else arguments))
        results.flush()
        # The reader of our output may have gone, as head does; what cannot be written for another reason is lost.
        if results.failure is not None and not isinstance(results.failure, BrokenPipeError):
            warn(f"The output could not be written: {results.failure.strerror or results.failure}.")
            return code or FAILED
        return code


def program() -> int:
    """``main`` as a program of its own, which ends with it."""
    end_quietly()
    try:
        code = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be stopped but the interpreter
    except KeyboardInterrupt:  # at the very end of it
        return STOPPED
    return code


def _guarded(arguments: list[str]) -> int:
    """What goes wrong around us is said in a sentence; what is wrong with us is not hidden."""
    try:
        return _run(arguments)
    except UserError as problem:
        warn(str(problem))
        return REFUSED
    except OSError as problem:  # of a file that nobody could foresee: a name too long, a disk that has gone
        where = f"{problem.filename}: " if problem.filename else ""
        warn(f"{where}{problem.strerror or problem}.")
        return REFUSED
    except MemoryError as problem:
        warn(f"There is not enough memory for this ({problem or 'an allocation failed'}); make something smaller.")
        return REFUSED
    except KeyboardInterrupt:
        return STOPPED


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        print("usage: tutelage COMMAND ...\n\nTrain robust agents by designing what they train on.\n")
        print("\n".join(f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()))
        print("\n`tutelage COMMAND --help` says more. A first run: tutelage train maze accel --preset small")
        print(f"docs, examples and studies are in {Path(__file__).parent.parent}.")
        return 0
    if arguments[0] == "--version":
        from ..runs.directory import package_version

        print(f"tutelage {package_version()}")
        return 0
    for word in arguments:
        if "\0" in word:
            raise UserError("An argument contains a zero byte, which no name can; leave it out.")
    if arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)
    while True:
        try:
            return COMMANDS[arguments[0]].run(arguments[1:])
        except Untrusted as problem:  # before anything was done, so that it can be done again
            if TRUST not in arguments and not agreed(f"{problem} Run it now?"):
                raise
            trust(problem.file)
