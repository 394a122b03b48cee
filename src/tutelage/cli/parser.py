"""Arguments of commands, and the options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from .. import config
from ..errors import UserError
from ..runs.launch import AUTO, DeviceRequest, Policy
from ..runs.processes import Group
from .commands import COMMANDS

MANY = 10_000
"""Of things that each take a process, a directory or a picture."""


TRUSTING = ("train", "resume", "study", "eval", "play", "export", "levels", "report")
"""Commands that run Python files which a run, a config or a study names."""
TRUST = "--trust"


class Parser(argparse.ArgumentParser):
    """Speaks in sentences and leaves the exit to ``main``."""

    def error(self, message: str) -> Any:
        raise UserError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")

    def options(self) -> list[str]:
        """Names of options, without dashes."""
        return sorted(name[2:] for name in self._option_string_actions if name.startswith("--"))


def whole_number(most: int) -> Callable[[str], int]:
    """For an argument that is a whole number of at most so much, written as settings are."""

    def read(text: str) -> int:
        try:
            number = config.whole(text)
        except (ValueError, ArithmeticError):
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number, such as 20 or 2k") from None
        if abs(number) > most:
            raise argparse.ArgumentTypeError(f"{number:,} is too large: give at most {most:,}")
        return number

    return read


def parser_of(command: str) -> Parser:
    """A parser without arguments yet."""
    parser = Parser(prog=f"tutelage {command}", description=COMMANDS[command].summary, allow_abbrev=False)
    if command in TRUSTING:
        add_trust(parser)
    return parser


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Read by ``main``, which runs a command again once a file is trusted."""
    parser.add_argument(
        TRUST, action="store_true", help="allow the Python files that the run names to be executed, and remember them"
    )


def add_log(parser: argparse.ArgumentParser) -> None:
    """Sinks that are given a copy of the records."""
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="SINK",
        help="also log to tensorboard or wandb; can be given twice",
    )


def add_devices(parser: argparse.ArgumentParser, default: str) -> None:
    """Devices, and the processes that share them; ``device_request`` reads what was given."""
    parser.add_argument(
        "--devices",
        help=f"devices that share the levels of a batch (default: {default}), or {AUTO} for as many as there are and "
        "fit; a CPU can be several",
    )
    parser.add_argument("--coordinator", default="", help="for several processes: host:port of the first of them")
    parser.add_argument(
        "--processes", type=whole_number(MANY), default=1, help="how many processes train this run (default 1)"
    )
    parser.add_argument(
        "--process-id", type=whole_number(MANY), default=0, help="which of them this is, from 0 (default 0)"
    )


def device_request(options: argparse.Namespace, otherwise: Policy) -> DeviceRequest:
    """What was said about devices; ``otherwise`` is what counts where no number was given."""
    group = Group(options.coordinator, options.process_id, options.processes)
    if options.devices is None:
        return DeviceRequest(otherwise, group)
    if options.devices == AUTO:
        return DeviceRequest(Policy.ALL, group)
    if not (options.devices.isdecimal() and options.devices.isascii() and len(options.devices) < 10):
        raise UserError(f"--devices is '{options.devices}'; give a whole number, or {AUTO} for as many as there are.")
    return DeviceRequest(int(options.devices), group)


def add_comparison(parser: argparse.ArgumentParser, intervals: bool = True) -> None:
    """Runs, and what to compare them by."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directories of runs, of several seeds or of a study")
    parser.add_argument("--suite", default="", help="the suite to compare on (default: the one watched in training)")
    parser.add_argument(
        "--measure",
        choices=("solved", "return"),
        help="of each task (default: solved; return while nothing was solved)",
    )
    parser.add_argument("--against", default="", metavar="METHOD", help="the reference method (default: the first)")
    if not intervals:
        return
    parser.add_argument(
        "--interval",
        type=float,
        metavar="LEVEL",
        help="confidence level of intervals, such as 0.95; refused below three seeds",
    )
