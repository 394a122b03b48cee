"""The students that can be watched: of every run, at each of its checkpoints, one or several."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax

from ..curricula.base import Keeps
from ..errors import UserError, require
from ..rl.agent import Agent, AgentState
from ..runs import checkpoint
from ..runs.session import Run, check_student
from .opening import NamedRun

MOST_KEPT = 48
"""Students in memory."""


class Who(NamedTuple):
    """A student: of which run, after how many iterations, and which of them."""

    run: int
    iteration: int
    student: int

    @property
    def id(self) -> str:
        return f"{self.run}.{self.iteration}.{self.student}"


def who(text: Any) -> Who:
    """Read a student's id."""
    found = re.fullmatch(r"(\d{1,4})\.(\d{1,12})\.(\d{1,4})", text, re.ASCII) if isinstance(text, str) else None
    require(found is not None, "That is no student; give an id such as 0.1200.0: run, iteration, student.")
    assert found is not None
    return Who(*map(int, found.groups()))


@dataclass
class Students:
    """Runs, and those of their students that somebody has asked for."""

    runs: list[NamedRun]
    _kept: OrderedDict[Who, AgentState] = field(default_factory=OrderedDict)

    def run(self, index: Any) -> Run:
        """One of the runs that were named when the lab was started."""
        known = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(self.runs)
        require(known, f"There is no such run; the lab has {len(self.runs)}, counted from 0.")
        return self.runs[index].run

    def newest(self, index: int) -> Run:
        """A run at its newest checkpoint: one that is being trained writes new ones."""
        run = self.run(index)
        there = [int(path.stem) for path in run.directory.checkpoints()]
        if there and there[-1] > run.iteration:
            latest = run.directory.load_latest(run.state, lambda message: None)
            if latest is not None and latest[2] > run.iteration:
                run = replace(run, state=latest[0], iteration=latest[2])
                self.runs[index] = replace(self.runs[index], run=run)
        return run

    def get(self, who: Who) -> tuple[Run, Agent, AgentState]:
        """A student and its run."""
        run = self.run(who.run)
        check_student(who.student, run.trainer.students)
        if who not in self._kept:
            self._kept[who] = self._load(run, who)
        self._kept.move_to_end(who)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return run, run.agent, self._kept[who]

    def _load(self, run: Run, who: Who) -> AgentState:
        if who.iteration == run.iteration:
            return run.student(who.student)
        for path in run.directory.checkpoints():
            if int(path.stem) == who.iteration:
                state, _ = checkpoint.load(path, run.state)
                return jax.tree.map(lambda x: x[who.student], state.students.product)
        raise UserError(
            f"The run has no checkpoint of iteration {who.iteration} any more; choose another, or reload the page."
        )

    def listed(self) -> list[dict[str, Any]]:
        """What there is to choose from."""
        return [self._entry(index, named) for index, named in enumerate(self.runs)]

    def _entry(self, index: int, named: NamedRun) -> dict[str, Any]:
        run = named.run
        iterations = {run.iteration, *(int(path.stem) for path in run.directory.checkpoints())}
        steps = run.trainer.steps_per_iteration
        return {
            "name": named.name,
            "directory": run.directory.path.name,
            "method": run.settings.method,
            "seed": run.settings.train.seed,
            "iteration": run.iteration,
            "iterations": run.trainer.iterations,
            "keeps": isinstance(run.trainer.curriculum, Keeps),
            "steps_per_iteration": steps,
            "students": [
                {
                    "id": Who(index, iteration, student).id,
                    "name": _name(named.name, iteration, student, run, iterations),
                    "steps": iteration * steps,
                    "newest": iteration == max(iterations),
                    "product": student == 0,
                }
                for iteration in sorted(iterations, reverse=True)
                for student in range(run.trainer.students)
            ],
        }


def _name(name: str, iteration: int, student: int, run: Run, iterations: Sequence[int] | set[int]) -> str:
    who = f", student {student}" if run.trainer.students > 1 else ""
    when = "" if iteration == max(iterations) else f" after {_short(iteration * run.trainer.steps_per_iteration)} steps"
    return f"{name}{who}{when}"


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
