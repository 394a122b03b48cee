"""What is printed while a run trains: a line now and then, and at the end one with the last evaluation."""

from __future__ import annotations

import io
import re

import numpy as np
from rich.console import Console

from tutelage import ProgressLine
from tutelage.evaluation.evaluate import Evaluation, TaskResult


def evaluation(solved: float, total: float = 1.0) -> Evaluation:
    done = np.arange(100) < 100 * solved
    return Evaluation("fresh", 0, (TaskResult("Fresh", np.full(100, total), np.full(100, 5), done),))


def record(iteration: int) -> dict[str, float]:
    return {
        "iteration": iteration,
        "steps": 1000 * iteration,
        "steps_per_second": 500.0,
        "seconds": 2.0,
        "solved": 0.5,
    }


def printed(pause: float, terminal: bool = False) -> list[str]:
    file = io.StringIO()
    with ProgressLine(Console(file=file, force_terminal=terminal, width=120), pause) as progress:
        progress.started(0, 4, 1000)
        progress.evaluated(0, evaluation(0.0, 0.25))
        for iteration in (1, 2, 3, 4):
            progress.advanced(record(iteration))
            if iteration in (2, 4):
                progress.evaluated(iteration, evaluation(iteration / 5))
    return file.getvalue().splitlines()


def test_the_last_line_has_the_last_evaluation():
    lines = printed(pause=1e9)
    assert len(lines) == 1, "a line at the end, and none before it within the pause"
    assert lines[0] == "100.0%  4k steps, 500 steps/s, 0 s left, training solved 0.50, fresh solved 0.80"


def test_lines_in_between_have_the_evaluation_before_them():
    lines = [re.sub(r", \d+ s left", "", line) for line in printed(pause=0.0)]
    assert lines == [
        " 25.0%  1k steps, training solved 0.50, fresh solved 0.00 (return 0.25)",
        " 50.0%  2k steps, 500 steps/s, training solved 0.50, fresh solved 0.00 (return 0.25)",
        " 75.0%  3k steps, 500 steps/s, training solved 0.50, fresh solved 0.40",
        "100.0%  4k steps, 500 steps/s, training solved 0.50, fresh solved 0.80",
    ]


def test_a_terminal_ends_with_the_last_evaluation_as_well():
    drawn = [line for line in printed(pause=0.0, terminal=True) if "4k steps" in line]
    assert "fresh solved 0.80" in drawn[-1]
