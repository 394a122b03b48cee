"""Curves over training, and the charts that show them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tutelage.report import svg
from tutelage.report.curves import Panel, complexity, curve
from tutelage.report.records import read

from .made_runs import DR, evaluation, settings, write


def test_a_curve_is_the_mean_over_seeds_where_all_have_a_value():
    found = curve("x", [{0: 0.0, 10: 1.0, 20: 3.0}, {0: 1.0, 10: 2.0}])
    assert found is not None
    assert found.steps.tolist() == [0, 10]
    assert found.mean.tolist() == [0.5, 1.5]
    assert found.error is not None
    assert found.error.tolist() == pytest.approx([0.5, 0.5])
    assert curve("x", [{0: 1.0}, {1: 1.0}]) is None
    assert curve("x", [{}]) is None


def test_a_long_curve_is_averaged_over_neighbours():
    found = curve("x", [{step: float(step) for step in range(150)}])
    assert found is not None
    assert found.steps.tolist() == np.arange(0.5, 150, 2).tolist()
    assert found.mean.tolist() == found.steps.tolist()
    assert found.error is None


def test_sources_that_nobody_has_get_no_panel(tmp_path: Path, runs: list[Path]):
    assert [[panel.title for panel in row] for row in complexity(read(runs[:3]))] == [
        ["generated levels: blocks"],
        ["generated levels: solved"],
    ]
    both = complexity(read(runs))
    assert [panel.title.split()[0] for panel in both[0]] == ["generated", "replayed", "edited"]
    assert [list(panel.curves) for panel in both[0]] == [[0, 1], [1], [1]]
    bare = write(tmp_path / "bare", settings("plr"), [evaluation(DR[0])])
    assert complexity(read([bare])) == []


def numbers_of(chart: str) -> list[float]:
    places = " ".join(re.findall(r' (?:points|x|y|x1|x2|y1|y2|cx|cy|r)="([^"]*)"', chart))
    return [float(number) for number in re.split(r"[ ,]+", places)]


@pytest.mark.parametrize(
    "values",
    [{0: 0.5}, {0: 0.0, 100: 0.0}, {5: -3.0, 10: 1e9}, {1: 1e-9, 2: 2e-9}],
    ids=["one point", "zeros", "large", "small"],
)
def test_charts_have_finite_numbers_inside_their_frame(values: dict[int, float]):
    line = curve("x", [values, {step: value * 0.9 for step, value in values.items()}])
    assert line is not None
    panel = Panel("title", "unit", {0: line, 7: line})
    drawn = svg.chart(panel, svg.last_step([panel]), svg.extent([panel]))
    numbers = numbers_of(drawn)
    assert all(math.isfinite(number) and -20 <= number <= svg.WIDTH + 20 for number in numbers)
    assert "nan" not in drawn.lower()
    assert "inf" not in drawn.lower()


def test_methods_differ_in_more_than_colour():
    signs = [(svg.DASHES[i % len(svg.DASHES)], re.sub(r"--c\d", "", svg.marker(i, 0, 0))) for i in range(40)]
    assert len({dash for dash, _ in signs[:6]}) == len({form for _, form in signs[:6]}) == 6
    assert len(set(signs)) == 40


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 37.2), (-3, 8), (0, 0), (0, 1e-7), (2, 2.1)])
def test_ticks_span_their_range(low: float, high: float):
    found = svg.ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high - 1e-12
    assert 2 <= len(found) <= 8
