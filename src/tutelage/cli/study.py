"""`tutelage study`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..runs import sinks
from .parser import MANY, add_log, parser_of, whole_number
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Train what a study still lacks, and report on it."""
    parser = parser_of("study")
    parser.add_argument("study", help="a TOML file that names methods, seeds and settings (docs/studies.md)")
    parser.add_argument("--out", help="directory for all runs, new or of this study (default runs/NAME of the file)")
    parser.add_argument("--engine", default="local", help="local (default) for this machine, ray or slurm")
    parser.add_argument(
        "--slurm", action="append", default=[], metavar="NAME=VALUE", help="an option of SLURM, such as partition=gpu"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="RUN", help="train only such runs, as accel/s0 or 'accel/*'"
    )
    parser.add_argument("--jobs", type=whole_number(MANY), help="runs at once (default: one for each core)")
    add_log(parser)
    options = parser.parse_args(arguments)
    sinks.check(options.log)
    path = Path(options.out or Path("runs") / Path(options.study).stem)
    again = shlex.join(["tutelage", "study", *arguments])
    if options.slurm and options.engine != "slurm":
        raise UserError("--slurm has options for --engine slurm; give that as well, or leave --slurm out.")
    return conduct(options.study, path, options.engine, options.jobs, options.log, again, options.slurm, options.only)


def conduct(
    file: Path | str,
    path: Path,
    engine: str = "local",
    jobs: int | None = None,
    log: Sequence[str] = (),
    again: str = "",
    slurm: Sequence[str] = (),
    only: Sequence[str] = (),
) -> int:
    """Bring a study's runs to their end and report on them; returns the exit code. ``again`` is how to go on, ``slurm``
    are options of that engine, and ``only`` names the runs, if not all.
    """
    from ..report.conduct import study
    from ..runs.study import State

    states = list(study(file, path, engine, jobs, log, slurm, warn, only).values())
    failed = states.count(State.FAILED)
    left = len(states) - states.count(State.FINISHED) - failed
    if left:
        print(f"{left} of {len(states)} runs are not finished. Go on with: {again}")
        return 130
    return 1 if failed else 0
