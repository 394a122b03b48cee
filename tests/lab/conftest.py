"""A lab of two small runs, and its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tutelage
from tutelage.lab.laboratory import Laboratory
from tutelage.lab.opening import directories, opened
from tutelage.runs.directory import RunDirectory

from .made_lab import Served, served_lab, settings


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """ACCEL after some iterations, so that its buffer has families; and DR, of which nothing was trained."""
    place = tmp_path_factory.mktemp("lab")
    tutelage.train(settings("accel"), place / "accel")
    RunDirectory.create(place / "<img src=x onerror=alert(1)>", settings("dr"))
    return place / "accel", place / "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def lab(runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Compiled once for the tests of a file."""
    found = opened(directories([str(run) for run in runs]), pytest.fail)
    lab = Laboratory(found, tmp_path_factory.mktemp("kept") / "mine.txt")
    lab.warm_up()
    return lab


@pytest.fixture(scope="module")
def served(lab: Laboratory) -> Iterator[Served]:
    with served_lab(lab) as served:
        yield served
