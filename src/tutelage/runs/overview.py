"""How a study is doing: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..visible import one_line, visible
from .study import State, StudyRun


class Overview:
    """Watches a study. A row is a method with all its seeds; what needs a look is said in lines of its own."""

    def __init__(self, runs: Sequence[StudyRun], console: Console | None = None, pause: float = 60.0) -> None:
        self.console = console or Console(stderr=True)
        self.pause = pause if not self.console.is_terminal else 1.0
        self._runs = runs
        self._looked = 0.0
        self._live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None

    def __enter__(self) -> Overview:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def changed(self, run: StudyRun, state: State, note: str = "") -> None:
        if self._live is None or state is State.FAILED:
            self._say(f"{run.plan.name} {'started' if state is State.RUNNING else state}{f', {note}' if note else ''}")
        self._looked = 0.0 if self._live else self._looked

    def tick(self, states: Mapping[StudyRun, State]) -> None:
        now = time.monotonic()
        if now - self._looked < self.pause:
            return
        first, self._looked = self._looked == 0.0, now
        if self._live:
            self._live.update(self._table(states), refresh=True)
        elif not first:
            self._say(self._summary(states))

    def _say(self, message: str) -> None:
        self.console.print(visible(message), soft_wrap=True, highlight=False, markup=False)

    def _summary(self, states: Mapping[StudyRun, State]) -> str:
        parts = [f"{share(list(states)):.1%} of all steps"]
        parts += [f"{count(states.values(), state)} {state}" for state in State if count(states.values(), state)]
        return ", ".join(parts)

    def _table(self, states: Mapping[StudyRun, State]) -> Table:
        table = Table(title=self._summary(states), title_justify="left")
        table.add_column("method")
        for name in ("steps", *State):
            table.add_column(name, justify="right")
        for group in dict.fromkeys(run.plan.group for run in self._runs):
            mine = {run: state for run, state in states.items() if run.plan.group == group}
            numbers = [str(count(mine.values(), state) or "") for state in State]
            table.add_row(Text(one_line(group)), f"{share(list(mine)):.1%}", *numbers)
        return table


def count(states: Iterable[State], state: State) -> int:
    """How many are in a state."""
    return sum(other is state for other in states)


def share(runs: Sequence[StudyRun]) -> float:
    """How much of the environment steps of some runs is done."""
    steps = [run.plan.settings.train.steps for run in runs]
    done = [steps * run.iteration / run.plan.iterations for run, steps in zip(runs, steps, strict=True)]
    return sum(done) / sum(steps)
