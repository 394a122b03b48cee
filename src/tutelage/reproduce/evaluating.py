"""The last student of every run of a study, played on the suite of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..report.records import read
from ..runs.directory import EVALUATIONS
from ..runs.launch import start_jax
from ..runs.study import StudyRun


def complete(runs: Sequence[StudyRun], suite: str, episodes: int, warn: Callable[[str], None] = print) -> None:
    """Make the evaluations that are missing, and keep them with the runs."""
    missing = [run for run in runs if run.finished and not _evaluated(run, suite, episodes)]
    if not missing:
        return
    start_jax()
    from ..runs.records import evaluation_record
    from ..runs.session import load

    for run in missing:
        loaded = load(run.path, warn)
        result = loaded.evaluate(suite, episodes)
        record = evaluation_record(loaded.iteration, loaded.trainer, result)
        loaded.directory.append_unless_trained(EVALUATIONS, [record])


def _evaluated(run: StudyRun, suite: str, episodes: int) -> bool:
    record = read([run.path]).runs[0]
    last = max(each.steps for each in record.evaluations)
    found = record.on(suite).get(last)
    return found is not None and found.episodes >= episodes
