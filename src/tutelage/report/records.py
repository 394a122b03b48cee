"""Runs as plain records, and runs that differ in the seed only as one method. Needs neither a lock nor JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import UserError, require, unknown
from ..plugins import label
from ..regular import read_regular
from ..runs.directory import CONFIG, EVALUATIONS, METRICS, RunDirectory
from ..runs.group import RunGroup, is_group
from ..runs.outline import Outline
from ..runs.schema import Wrong, document
from ..runs.study import COPY as STUDY
from ..runs.study import STATUS

Measure = Literal["solved", "return"]
MEASURES: tuple[Measure, ...] = ("solved", "return")
Warn = Callable[[str], None]

_NOT_THE_METHOD = {
    f"train.{name}"
    for name in (
        "seed",
        "shared_seed",
        "devices",
        "log_every",
        "evaluate_every",
        "checkpoint_every",
        "suite",
        "episodes",
    )
}
"""Settings that do not change what a method is: runs that differ in these only are seeds of one method."""


class TaskScore(NamedTuple):
    """One task of an evaluation."""

    solved: float
    mean_return: float
    episodes: int
    normalised: float | None = None
    """The mean return on the task's scale, where it has one."""

    def value(self, measure: Measure) -> float:
        return self.solved if measure == "solved" else self.mean_return


class EvaluationRecord(NamedTuple):
    """A line of ``evaluations.jsonl``."""

    steps: int
    suite: str
    tasks: dict[str, TaskScore]

    def mean(self, measure: Measure) -> float:
        """Over tasks, each counting once."""
        return sum(task.value(measure) for task in self.tasks.values()) / len(self.tasks)

    @property
    def episodes(self) -> int:
        """On each task."""
        return min(task.episodes for task in self.tasks.values())


@dataclass(frozen=True)
class RunRecord:
    """What a run has written down."""

    path: Path
    settings: Outline
    metrics: tuple[dict[str, Any], ...]
    evaluations: tuple[EvaluationRecord, ...]
    """Of its product (the first student), acting as it was trained to. Never none."""
    group: str = ""
    """What its study calls the method and the variant; empty outside of a study."""

    @property
    def seed(self) -> int:
        return self.settings.train.seed

    @property
    def suites(self) -> tuple[str, ...]:
        """That it was evaluated on, its own first."""
        names = dict.fromkeys(record.suite for record in self.evaluations)
        return tuple(sorted(names, key=lambda name: name != self.settings.train.suite))

    def on(self, suite: str) -> dict[int, EvaluationRecord]:
        """Evaluations on a suite by steps, in their order. Of several at one time, the last with most episodes."""
        chosen: dict[int, EvaluationRecord] = {}
        for record in self.evaluations:
            if record.suite == suite:
                before = chosen.get(record.steps)
                if before is None or record.episodes >= before.episodes:
                    chosen[record.steps] = record
        return dict(sorted(chosen.items()))

    def last(self, suite: str) -> EvaluationRecord:
        """The newest evaluation on a suite that the run was evaluated on."""
        return list(self.on(suite).values())[-1]


@dataclass(frozen=True)
class Method:
    """Runs with equal settings, a seed each."""

    label: str
    """The method's name, and what tells it from others of that name."""
    runs: tuple[RunRecord, ...]

    @property
    def name(self) -> str:
        return label(self.runs[0].settings.method)

    @property
    def n(self) -> int:
        return len(self.runs)

    @property
    def titled(self) -> str:
        return f"{self.label} (n = {self.n})"


@dataclass(frozen=True)
class Study:
    """Methods that can be set beside each other: of one environment, on one suite."""

    environment: str
    suite: str
    tasks: tuple[str, ...]
    methods: tuple[Method, ...]

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        return tuple(run for method in self.methods for run in method.runs)


def read(paths: Sequence[Path | str], suite: str = "", warn: Warn = lambda sentence: None) -> Study:
    """Read runs, groups of seeds, studies or directories of runs, and sort them into methods in the order given.

    Without a suite, it is the one that the runs watched in training, or else the first that all were evaluated on.
    ``warn`` hears of lines that are wrong, which are left out.
    """
    runs = read_runs(paths, warn)
    first = runs[0]
    for run in runs:
        require(
            run.settings.environment == first.settings.environment,
            f"Runs of different environments cannot be compared: {first.path} is of {first.settings.environment} and "
            f"{run.path} of {run.settings.environment}; give runs of one environment.",
        )
    suite = _common_suite(runs, suite)
    return Study(first.settings.environment, suite, _common_tasks(runs, suite), methods_of(runs))


def on_suite(study: Study, suite: str) -> Study:
    """The same runs on another suite that all were evaluated on."""
    return replace(study, suite=suite, tasks=_common_tasks(study.runs, suite))


def _common_tasks(runs: Sequence[RunRecord], suite: str) -> tuple[str, ...]:
    first = runs[0]
    tasks = tuple(first.last(suite).tasks)
    for run in runs:
        require(
            set(run.last(suite).tasks) == set(tasks),
            f"{first.path} and {run.path} were evaluated on different tasks, both called {suite}; "
            f"evaluate them with one version: tutelage eval {run.path} --suite {suite}.",
        )
    return tasks


def read_runs(paths: Sequence[Path | str], warn: Warn = lambda sentence: None) -> list[RunRecord]:
    """All runs at some paths, each once."""
    require(len(paths) > 0, "No runs were given; name the directory of at least one.")
    runs = [run for path in paths for run in _at(Path(path), warn)]
    _require_different(runs)
    return runs


def _at(path: Path, warn: Warn) -> list[RunRecord]:
    if is_group(path):
        return [_record(directory, warn) for directory in RunGroup.open(path).runs()]
    inside = [] if (path / CONFIG).is_file() else runs_below(path)
    if not inside:
        return [_record(RunDirectory.open(path), warn)]
    # A study may be on its way: what was not evaluated yet has nothing to say.
    started = [run for run in inside if (run / EVALUATIONS).is_file()]
    require(bool(started), f"None of the {len(inside)} runs in {path} has been evaluated yet; train them further.")
    return [_record(RunDirectory.open(run), warn) for run in started]


def runs_below(path: Path) -> list[Path]:
    """The runs in a directory, such as a study's or one method's of it: a study's in the order of its file, others in
    that of their names; then by seed.
    """
    found = [file.parent for pattern in (f"*/{CONFIG}", f"*/*/{CONFIG}") for file in path.glob(pattern)]
    place = {name: i for i, name in enumerate(_methods_in_order(path))}
    return sorted(found, key=lambda run: (place.get(run.parent.name, len(place)), run.parent, len(run.name), run.name))


def _methods_in_order(study: Path) -> list[str]:
    """A study's methods as its file has them, which is how its status lists runs. It is not worth an error."""
    try:
        runs = document(read_regular(study / STATUS))
    except (OSError, Wrong):
        return []
    return list(dict.fromkeys(name.partition("/")[0] for name in runs)) if isinstance(runs, dict) else []


def _record(directory: RunDirectory, warn: Warn) -> RunRecord:
    evaluations = tuple(
        _evaluation(record)
        for record in directory.read(EVALUATIONS, warn)
        if record["student"] == 0 and not record["greedy"]
    )
    require(
        len(evaluations) > 0,
        f"The run {directory.path} has no evaluations; train it further, or make one: tutelage eval {directory.path}.",
    )
    method = directory.path.resolve().parent
    group = method.name if (method.parent / STUDY).is_file() else ""
    metrics = tuple(directory.read(METRICS, warn))
    return RunRecord(directory.path, directory.outline(), metrics, evaluations, group)


def _evaluation(record: Mapping[str, Any]) -> EvaluationRecord:
    tasks = {
        name: TaskScore(task["solved"], task["return"], task["episodes"], task.get("normalised"))
        for name, task in record["tasks"].items()
    }
    return EvaluationRecord(record["steps"], record["suite"], tasks)


def _require_different(runs: Sequence[RunRecord]) -> None:
    """Refuse to count one run twice: it would pass for a second seed."""
    seen: dict[Any, RunRecord] = {}
    for run in runs:
        for sign in (run.path.resolve(), (run.seed, tuple(sorted(_identity(run).items())))):
            if sign in seen:
                raise UserError(
                    f"{seen[sign].path} and {run.path} are the same run, or have the same settings and seed; "
                    "give each once."
                )
            seen[sign] = run


def _common_suite(runs: Sequence[RunRecord], asked: str) -> str:
    common = common_suites(runs)
    if asked:
        for run in runs:
            if asked not in run.suites:
                raise UserError(
                    f"{run.path} was not evaluated on {asked} (but on {', '.join(run.suites)}); "
                    f"make that evaluation: tutelage eval {run.path} --suite {asked}."
                )
        return asked
    if not common:
        wanted = runs[0].suites[0]
        other = next(run for run in runs if wanted not in run.suites)
        raise UserError(
            f"There is no suite that all runs were evaluated on: {runs[0].path} has {', '.join(runs[0].suites)} and "
            f"{other.path} has {', '.join(other.suites)}; evaluate it there: "
            f"tutelage eval {other.path} --suite {wanted}."
        )
    return common[0]


def _identity(run: RunRecord, apart: str = "") -> dict[str, str]:
    """Settings that make the method, as text."""
    ignored = {*_NOT_THE_METHOD, apart}
    return {name: value for name, value in run.settings.values.items() if name not in ignored}


def methods_of(runs: Sequence[RunRecord], apart: str = "") -> tuple[Method, ...]:
    """One for each group of settings, apart perhaps from one, called as its study calls it. Where a name has several
    and no study tells them apart, the label says in which settings they differ.
    """
    groups: dict[tuple[tuple[str, str], ...], list[RunRecord]] = {}
    for run in runs:
        groups.setdefault(tuple(_identity(run, apart).items()), []).append(run)
    methods = []
    called = [{run.group for run in members} for members in groups.values()]
    for identity, members in groups.items():
        ordered = tuple(sorted(members, key=lambda run: run.seed))
        group = members[0].group
        if group and called.count({group}) == 1 and sum(group in names for names in called) == 1:
            methods.append(Method(group, ordered))
            continue
        name = label(members[0].settings.method)
        namesakes = [dict(other) for other in groups if label(dict(other)["method"]) == name]
        differing = [key for key, value in identity if any(other.get(key) != value for other in namesakes)]
        own = dict(identity)
        details = ", ".join(f"{key.removeprefix('curriculum.')} {own[key]}" for key in differing)
        methods.append(Method(f"{name} [{details}]" if details else name, ordered))
    return tuple(methods)


def method_called(study: Study, label: str) -> Method:
    """A method of a study by its label, or by its name where only one has it."""
    matching = [method for method in study.methods if label in (method.label, method.name)]
    exact = [method for method in matching if method.label == label]
    if len(exact or matching) != 1:
        raise unknown("method in these runs", label, [method.label for method in study.methods])
    return (exact or matching)[0]


def common_suites(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Suites that all of some runs were evaluated on, the one that they watched first."""
    return tuple(name for name in runs[0].suites if all(name in run.suites for run in runs))


def settings_that_differ(study: Study) -> dict[str, tuple[str, ...]]:
    """Settings that all methods have, but not with one value: what else than the method may explain a difference."""
    each = [_identity(method.runs[0]) for method in study.methods]
    shared = [name for name in each[0] if all(name in other for other in each)]
    return {
        name: tuple(other[name] for other in each)
        for name in shared
        if name != "method" and len({other[name] for other in each}) > 1
    }
