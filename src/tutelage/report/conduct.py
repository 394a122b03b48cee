"""Bring a study to its end, and report on it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import UserError
from ..runs import engines, grid
from ..runs import study as studies
from ..runs.overview import Overview
from ..runs.study import State
from .write import write_report


def study(
    file: Path | str,
    out: Path | str = "",
    engine: str = "local",
    jobs: int | None = None,
    log: Sequence[str] = (),
    slurm: Sequence[str] = (),
    warn: Callable[[str], None] = print,
    only: Sequence[str] = (),
) -> dict[Path, State]:
    """Train what a study still lacks, print its table, and write its report. Returns how each run's directory ended.

    ``out`` is the directory for all runs, ``runs/NAME`` of the file if it is left out; ``engine`` is ``local``, ``ray``
    or ``slurm``; ``slurm`` are options of that engine, such as ``"partition=gpu"``. ``only`` are names of runs, such as
    ``"accel/s0"`` or ``"accel/*"``; without any, all of them are trained.
    """
    path = Path(out) if out else Path("runs") / Path(file).stem
    engines.check(engine, jobs)
    chosen = grid.read(file)
    names = {plan.name for plan in grid.select(chosen, only)}
    with studies.opened(chosen, path) as runs:
        wanted = [run for run in runs if run.plan.name in names]
        works = engines.engine(engine, jobs, log, path, slurm)
        try:
            with Overview(wanted) as view:
                states = studies.run_all(path, wanted, works, view)
        finally:
            works.close()
        studies.finish(path, runs)
        _conclude(path, [str(run.path) for run in runs if run.finished and run.held_out()], warn)
    for run, state in states.items():
        if state is State.FAILED:
            warn(f"{run.plan.name} failed; its log is {run.log}")
    return {run.path: state for run, state in states.items()}


def _conclude(path: Path, runs: list[str], warn: Callable[[str], None]) -> None:
    """A study's report, as far as it got. Without pictures: those take longer, and one may want them of some runs."""
    if not runs:
        return
    try:
        files = write_report(runs, path / "report.html", top=0, warn=warn)
    except UserError as problem:
        print(f"There is no report: {problem}")
        return
    print(f"Wrote {files.page} and {files.tables}. With levels and episodes: tutelage report {shlex.quote(str(path))}")
