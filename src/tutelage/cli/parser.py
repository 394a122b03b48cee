"""Arguments of commands, and the options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import UserError
from ..runs.launch import AUTO, DeviceRequest, Policy
from ..runs.processes import Group
from .commands import COMMANDS


class Parser(argparse.ArgumentParser):
    """Speaks in sentences and leaves the exit to ``main``."""

    def error(self, message: str) -> Any:
        raise UserError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


def parser_of(command: str) -> Parser:
    """A parser without arguments yet."""
    return Parser(prog=f"tutelage {command}", description=COMMANDS[command].summary, allow_abbrev=False)


def add_log(parser: argparse.ArgumentParser) -> None:
    """Sinks that are given a copy of the records."""
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="SINK",
        help="copy the figures to tensorboard or wandb as well; can be given twice",
    )


def add_devices(parser: argparse.ArgumentParser, default: str) -> None:
    """Devices, and the processes that share them; ``device_request`` reads what was given."""
    parser.add_argument(
        "--devices",
        help=f"devices that share the levels of a batch (default: {default}), or {AUTO} for as many as there are and "
        "fit; a CPU can be several",
    )
    parser.add_argument("--coordinator", default="", help="for several processes: host:port of the first of them")
    parser.add_argument("--processes", type=int, default=1, help="how many processes train this run (default 1)")
    parser.add_argument("--process-id", type=int, default=0, help="which of them this is, from 0 (default 0)")


def device_request(options: argparse.Namespace, otherwise: Policy) -> DeviceRequest:
    """What was said about devices; ``otherwise`` is what counts where no number was given."""
    group = Group(options.coordinator, options.process_id, options.processes)
    if options.devices is None:
        return DeviceRequest(otherwise, group)
    if options.devices == AUTO:
        return DeviceRequest(Policy.ALL, group)
    if not options.devices.isdecimal():
        raise UserError(f"--devices is '{options.devices}'; give a whole number, or {AUTO} for as many as there are.")
    return DeviceRequest(int(options.devices), group)


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """Runs, and what to compare them by."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directories of runs, of several seeds or of a study")
    parser.add_argument("--suite", default="", help="the suite to compare on (default: the one watched in training)")
    parser.add_argument(
        "--measure",
        choices=("solved", "return"),
        help="of each task (default: solved; return while nothing was solved)",
    )
    parser.add_argument(
        "--against", default="", metavar="METHOD", help="the method others are held against (the first)"
    )
    parser.add_argument(
        "--interval", type=float, metavar="LEVEL", help="insist on intervals of this level, such as 0.95"
    )
