"""A line that says how a run is doing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..evaluation.evaluate import Evaluation
from ..visible import one_line, visible


class ProgressLine:
    """Shows progress on a terminal; elsewhere, such as in a log file, prints a line now and then.

    The rate is that of the last intervals, measured after the device has finished. The time left is what remains at
    the rate since this process started, evaluations and checkpoints included; compiling is left out of both. The last
    line is that of the last evaluation.
    """

    def __init__(self, console: Console | None = None, pause: float = 30.0) -> None:
        self.console = console or Console(stderr=True)
        self.pause = pause
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>5.1f}%  {task.fields[text]}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=False,
        )
        self._task = self._bar.add_task("compiling", total=1.0, text="")
        self._recent: deque[tuple[int, float]] = deque(maxlen=8)
        self._text, self._held_out = "", ""
        self._printed = 0.0
        self._steps = 0
        self._iterations = 1
        self._anchor: tuple[int, float] | None = None

    def __enter__(self) -> ProgressLine:
        self._bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._bar.stop()

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None:
        self._iterations, self._steps = iterations, steps_per_iteration
        self._bar.update(self._task, total=iterations, completed=iteration)

    def advanced(self, record: Mapping[str, Any]) -> None:
        now, iteration = time.monotonic(), record["iteration"]
        if self._anchor is None:
            self._anchor = (iteration, now)  # the first interval holds the compilation
        else:
            self._recent.append((record["steps_per_second"] * record["seconds"], record["seconds"]))
        text = f"{_count(record['steps'])} steps"
        if self._recent:
            steps, seconds = map(sum, zip(*self._recent, strict=True))
            text += f", {_count(steps / seconds)} steps/s"
        first, since = self._anchor
        if iteration > first:
            text += f", {_time((self._iterations - iteration) * (now - since) / (iteration - first))} left"
        if "solved" in record:
            text += f", training solved {record['solved']:.2f}"
        self._text = text
        self._show(iteration, now, due=now - self._printed >= self.pause and iteration < self._iterations)

    def _show(self, iteration: int, now: float, due: bool) -> None:
        text = self._text + self._held_out
        self._bar.update(self._task, completed=iteration, description="training", text=text)
        if due and not self.console.is_terminal:
            self._printed = now
            self._print(f"{100 * iteration / self._iterations:5.1f}%  {text}")

    def evaluated(self, iteration: int, evaluation: Evaluation) -> None:
        self._held_out = f", {one_line(evaluation.suite)} solved {evaluation.solved_rate:.2f}"
        if evaluation.solved_rate == 0:  # for hours on the walker; the return tells more
            self._held_out += f" (return {evaluation.mean_return:.3g})"
        if self._text:  # before the first iteration there is nothing to go with it
            self._show(iteration, time.monotonic(), due=iteration >= self._iterations)

    def said(self, message: str) -> None:
        self._print(message)

    def _print(self, message: str) -> None:
        self.console.print(visible(message), soft_wrap=True, markup=False, highlight=False)


def _count(number: float) -> str:
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
