"""From the directories that were named to runs that can be watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import config
from ..errors import UserError, require
from ..plugins import is_file, label
from ..runs.directory import CONFIG, RunDirectory
from ..runs.group import RunGroup, is_group
from ..runs.session import Run, load

MOST_RUNS = 24


@dataclass(frozen=True)
class NamedRun:
    """A run, and what the page calls it."""

    name: str
    run: Run


def directories(paths: Sequence[str]) -> list[RunDirectory]:
    """The runs in some directories: a run, those of several seeds, or those of a study. Nothing of them is run yet."""
    found = [run for path in paths for run in _at(Path(path))]
    require(len(found) <= MOST_RUNS, f"{len(found)} runs were named; the page has room for {MOST_RUNS}, so name fewer.")
    places = [run.path.resolve() for run in found]
    for run in found:
        require(places.count(run.path.resolve()) == 1, f"The run {run.path} was named twice; give each once.")
    return found


def _at(path: Path) -> list[RunDirectory]:
    if is_group(path):
        return RunGroup.open(path).runs()
    if path.is_dir() and not (path / CONFIG).is_file():
        inside = sorted(config.parent for config in path.glob(f"*/{CONFIG}"))
        if inside:
            return [RunDirectory(inner) for inner in inside]
    return [RunDirectory.open(path)]


def python_files(runs: Sequence[RunDirectory]) -> list[str]:
    """The Python files that opening some runs would run: environments and methods that somebody wrote."""
    files = []
    for run in runs:
        try:
            text = (run.path / CONFIG).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"The config file {run.path / CONFIG} could not be read: {problem}.") from problem
        files += [name for name in config.names(text, str(run.path / CONFIG)) if is_file(name)]
    return list(dict.fromkeys(files))


def opened(runs: Sequence[RunDirectory], warn: Callable[[str], None]) -> list[NamedRun]:
    """Load runs, all of one environment. Runs their Python files, if they have any."""
    loaded = [load(run.path, warn) for run in runs]
    first = loaded[0].settings.environment
    for run in loaded:
        require(
            run.settings.environment == first,
            f"{loaded[0].directory.path} is of {first} and {run.directory.path} of {run.settings.environment}; a lab "
            "has levels of one environment, so name runs of one.",
        )
    return [NamedRun(name, run) for name, run in zip(names(loaded), loaded, strict=True)]


def names(runs: Sequence[Run]) -> list[str]:
    """The method, and as much more as tells runs apart: the seed, then the directory."""
    methods = [label(run.settings.method) for run in runs]
    seeded = [f"{name}, seed {run.settings.train.seed}" for name, run in zip(methods, runs, strict=True)]
    placed = [f"{name} ({run.directory.path.name})" for name, run in zip(seeded, runs, strict=True)]
    numbered = [f"{name}, {number}" for number, name in enumerate(placed, start=1)]
    for candidate in (methods, seeded, placed):
        if len(set(candidate)) == len(runs):
            return candidate
    return numbered
