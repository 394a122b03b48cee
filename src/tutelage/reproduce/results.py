"""What was run, as small files: the last evaluation of every run of a study, and its curve. No JAX here.

Evaluations are what a claim rests on, and they are small; checkpoints are neither needed nor kept. The files that come
with Tutelage lie in ``results/``; ``docs/results/`` shows them as pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..errors import UserError, require
from ..report.records import Measure, RunRecord, read
from ..runs.directory import RunDirectory
from ..runs.files import write_atomically
from ..runs.grid import PlannedRun
from ..runs.study import StudyRun
from .catalogue import PACKAGE, Exhibit, Source

FOLDER = "results"
CURVE_POINTS = 60


@dataclass(frozen=True)
class RunResult:
    """One finished run."""

    group: str
    seed: int
    steps: int
    episodes: int
    """On each task."""
    tasks: Mapping[str, tuple[float, float]]
    """By task: the solved rate and the mean return."""
    curve: tuple[tuple[int, float, float], ...]
    """While training, on the suite that was watched: steps, solved rate, mean return."""

    def value(self, task: str, measure: Measure) -> float:
        return self.tasks[task][measure != "solved"]


@dataclass(frozen=True)
class StudyResult:
    """A study that was run for an exhibit, as far as it got."""

    exhibit: str
    study: str
    suite: str
    watched: str
    """The suite of the curves."""
    version: str
    began: str
    """The day of the first run."""
    ended: str
    planned: int
    """Runs that the study asks for."""
    runs: tuple[RunResult, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.group for run in self.runs))

    def of(self, group: str) -> tuple[RunResult, ...]:
        """The runs of a method or variant, by seed."""
        return tuple(run for run in self.runs if run.group == group)

    def scores(self, group: str, tasks: Sequence[str], measure: Measure) -> np.ndarray:
        """``[runs, tasks]``."""
        return np.array([[run.value(task, measure) for task in tasks] for run in self.of(group)])

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(self.runs[0].tasks) if self.runs else ()


def collect(chosen: Exhibit, source: Source, runs: Sequence[StudyRun], episodes: int) -> StudyResult:
    """What a study's finished runs came to on the exhibit's suite."""
    sides = students(runs)
    finished = [run for side in sides.values() if all(run.finished for run in side) for run in side]
    require(bool(finished), f"No run of the study {source.study} is finished; there is nothing to show yet.")
    abouts = [RunDirectory(run.path).about() for run in finished]
    last = max((run.path / "evaluations.jsonl").stat().st_mtime for run in finished)
    return StudyResult(
        exhibit=chosen.name,
        study=source.study,
        suite=source.suite,
        watched=finished[0].plan.settings.train.suite,
        version=abouts[0].get("version", "unknown"),
        began=min((about["created"] for about in abouts if "created" in about), default=_day(last))[:10],
        ended=_day(last),
        planned=len(sides),
        runs=tuple(
            _joined([_result(run, read([run.path]).runs[0], source.suite, episodes) for run in side])
            for side in students(finished).values()
        ),
    )


def students(runs: Sequence[StudyRun]) -> Mapping[tuple[str, int], Sequence[StudyRun]]:
    """Runs by group and seed. Those that differ only in their game are one: a student for each row of a table."""
    sides: dict[tuple[str, int], list[StudyRun]] = {}
    for run in runs:
        sides.setdefault((group(run.plan), run.plan.seed), []).append(run)
    return sides


def group(plan: PlannedRun) -> str:
    """The method and variant of a planned run. A study over games ends them with the game, as a list's value."""
    game = getattr(plan.settings.env, "game", "")
    return plan.group.replace(f"-game-{game}", "")


def _joined(results: Sequence[RunResult]) -> RunResult:
    """Students of several games as one run, whose curve is their mean."""
    curves = zip(*(result.curve for result in results), strict=False)
    return replace(
        results[0],
        episodes=min(result.episodes for result in results),
        tasks={task: scores for result in results for task, scores in result.tasks.items()},
        curve=tuple(
            (points[0][0], *(round(float(np.mean([point[i] for point in points])), 4) for i in (1, 2)))
            for points in curves
        ),
    )


def _result(run: StudyRun, record: RunRecord, suite: str, episodes: int) -> RunResult:
    last = record.on(suite).get(max((each.steps for each in record.evaluations), default=0))
    if last is None or last.episodes < episodes:
        raise UserError(
            f"{run.path} has no evaluation of its last student on {suite} with {episodes} episodes; make it with "
            f"`tutelage eval {run.path} --suite {suite} --episodes {episodes}`."
        )
    watched = list(record.on(run.plan.settings.train.suite).values())
    every = -(-len(watched) // CURVE_POINTS)
    points = watched[::-1][::every][::-1] if watched else []
    return RunResult(
        group=group(run.plan),
        seed=run.plan.seed,
        steps=last.steps,
        episodes=last.episodes,
        tasks={name: (round(task.solved, 4), round(task.mean_return, 4)) for name, task in last.tasks.items()},
        curve=tuple((each.steps, round(each.mean("solved"), 4), round(each.mean("return"), 4)) for each in points),
    )


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def merge(old: StudyResult, new: StudyResult) -> StudyResult:
    """A study that went on elsewhere: runs that are in both are the newer's."""
    require(
        (old.exhibit, old.study, old.suite) == (new.exhibit, new.study, new.suite),
        f"Results of {old.study} for {old.exhibit} and of {new.study} for {new.exhibit} cannot be put together.",
    )
    kept = {(run.group, run.seed): run for run in (*old.runs, *new.runs)}
    order = dict.fromkeys(run.group for run in (*new.runs, *old.runs))
    runs = sorted(kept.values(), key=lambda run: (list(order).index(run.group), run.seed))
    return replace(
        new,
        began=min(old.began, new.began),
        ended=max(old.ended, new.ended),
        planned=max(old.planned, new.planned),
        runs=tuple(runs),
    )


def write(path: Path, result: StudyResult) -> None:
    """One run a line, so that a difference between two versions can be read."""
    head = {key: value for key, value in asdict(result).items() if key != "runs"}
    lines = [json.dumps(asdict(run)) for run in result.runs]
    text = json.dumps(head, indent=1)[:-2] + ',\n "runs": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    write_atomically(path, text.encode())


def parse(text: str) -> StudyResult:
    """What ``write`` has written."""
    document = json.loads(text)
    runs = tuple(
        RunResult(
            **{
                **run,
                "tasks": {task: (solved, returned) for task, (solved, returned) in run["tasks"].items()},
                "curve": tuple((steps, solved, returned) for steps, solved, returned in run["curve"]),
            }
        )
        for run in document["runs"]
    )
    return StudyResult(**{**document, "runs": runs})


@cache
def shipped() -> tuple[StudyResult, ...]:
    """What was run and comes with Tutelage."""
    folder = files(PACKAGE).joinpath(FOLDER)
    if not folder.is_dir():
        return ()
    texts = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".json")
    }
    return tuple(parse(texts[name]) for name in sorted(texts))


def shipped_for(exhibit: str) -> tuple[StudyResult, ...]:
    """Of these, those for an exhibit."""
    return tuple(result for result in shipped() if result.exhibit == exhibit)


def file_name(result: StudyResult) -> str:
    return f"{result.exhibit}.{result.study}.json"
