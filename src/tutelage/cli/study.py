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
    parser.add_argument("--jobs", type=whole_number(MANY), help="runs at once (default: one for each core)")
    add_log(parser)
    options = parser.parse_args(arguments)
    sinks.check(options.log)
    path = Path(options.out or Path("runs") / Path(options.study).stem)
    again = shlex.join(["tutelage", "study", *arguments])
    if options.slurm and options.engine != "slurm":
        raise UserError("--slurm has options for --engine slurm; give that as well, or leave --slurm out.")
    return conduct(options.study, path, options.engine, options.jobs, options.log, again, options.slurm)


def conduct(
    file: Path | str,
    path: Path,
    engine: str = "local",
    jobs: int | None = None,
    log: Sequence[str] = (),
    again: str = "",
    slurm: Sequence[str] = (),
) -> int:
    """Bring a study's runs to their end and report on them; returns the exit code. ``again`` is how to go on, ``slurm``
    are options of that engine.
    """
    from ..runs import engines, grid, study
    from ..runs.overview import Overview
    from ..runs.study import State

    engines.check(engine, jobs)
    chosen = grid.read(file)
    with study.opened(chosen, path) as runs:
        works = engines.engine(engine, jobs, log, path, slurm)
        try:
            with Overview(runs) as view:
                states = study.run_all(path, runs, works, view)
        finally:
            works.close()
        study.finish(path, runs)
        _conclude(path, [str(run.path) for run in runs if run.finished and run.held_out()])
    failed = [run for run in runs if states[run] is State.FAILED]
    for run in failed:
        warn(f"{run.plan.name} failed; its log is {run.log}")
    left = sum(state is not State.FINISHED for state in states.values()) - len(failed)
    if left:
        print(f"{left} of {len(runs)} runs are not finished. Go on with: {again}")
        return 130
    return 1 if failed else 0


def _conclude(study: Path, runs: list[str]) -> None:
    """A study's report, as far as it got. Without pictures: those take longer, and one may want them of some runs."""
    if not runs:
        return
    from ..report.write import write_report

    try:
        files = write_report(runs, study / "report.html", top=0, warn=warn)
    except UserError as problem:
        print(f"There is no report: {problem}")
        return
    print(f"Wrote {files.page} and {files.tables}. With levels and episodes: tutelage report {shlex.quote(str(study))}")
