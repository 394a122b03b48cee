"""Levels to choose from: what a run's buffer holds, where a level came from, suites, and where methods differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..curricula.base import Kept
from ..errors import UserError, require
from ..plugins import label
from ..runs.directory import EVALUATIONS
from ..runs.levels import kept_levels
from .levels import Levels, plain
from .students import Students

MOST_SHOWN = 60
"""Levels in one answer."""


class Gallery:
    """The levels of runs and suites."""

    def __init__(self, students: Students, levels: Levels) -> None:
        self.students, self.levels = students, levels

    def buffer(self, index: int, student: int, order: str, number: int) -> dict[str, Any]:
        """The levels that a run's curriculum holds: those with the highest scores (``best``), or the last (``newest``)
        ones.
        """
        held = self._held(index, student)
        size = int(held.size)
        by = held.score if order == "best" else held.id
        chosen = np.argsort(-by[:size].astype(np.float64), kind="stable")[: min(number, MOST_SHOWN)]
        return {
            "iteration": self.students.run(index).iteration,
            "size": size,
            "levels": [self._card(held, int(slot)) for slot in chosen],
        }

    def lineage(self, index: int, student: int, number: int) -> dict[str, Any]:
        """A level's family, as far as the buffer still has it: its ancestors, and all that came from them."""
        held = self._held(index, student)
        slots = {int(one): at for at, one in enumerate(held.id[: int(held.size)])}
        require(number in slots, f"The buffer has no level {number} any more; reload its levels.")
        children: defaultdict[int, list[int]] = defaultdict(list)
        for one, slot in slots.items():
            children[int(held.parent[slot])].append(one)
        chain = [number]
        while (parent := int(held.parent[slots[chain[-1]]])) in slots and parent not in chain:
            chain.append(parent)
        # Those nearest to the level first: a large family is shown in part.
        shown, waiting = list(chain), list(chain)
        while waiting and len(shown) < MOST_SHOWN:
            near = waiting.pop(0)
            new = [child for child in sorted(children[near]) if child not in shown]
            shown += new[: MOST_SHOWN - len(shown)]
            waiting += new
        family = self._family(children, chain[-1])
        return {
            "root": chain[-1],
            "level": number,
            "missing": int(held.generation[slots[chain[-1]]]),
            "left_out": family - len(shown),
            "nodes": [self._card(held, slots[one]) for one in shown],
        }

    def _family(self, children: Mapping[int, Sequence[int]], root: int) -> int:
        count, waiting, seen = 0, [root], set[int]()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                count += 1
                waiting += children.get(one, ())
        return count

    def _held(self, index: int, student: int) -> Kept:
        run = self.students.newest(index)
        try:
            held = kept_levels(run, student)
        except UserError as problem:
            if not str(problem).startswith("The method"):
                raise
            raise UserError(f"The method {label(run.settings.method)} keeps no levels to look at.") from problem
        require(int(held.size) > 0, "The run has kept no levels yet; train it further.")
        return held

    def _card(self, held: Kept, slot: int) -> dict[str, Any]:
        level = jax.tree.map(lambda x: x[slot], held.levels)
        return {
            "id": int(held.id[slot]),
            "parent": int(held.parent[slot]),
            "generation": int(held.generation[slot]),
            "score": plain(held.score[slot]),
            "text": self.levels.text_of(level),
            "picture": self.levels.picture(level),
        }

    def suite(self, name: Any) -> dict[str, Any]:
        """The tasks of a suite. Their levels are asked for one by one: some are dear to draw."""
        suites = self.levels.domain.suites
        require(isinstance(name, str) and name in tuple(suites), "There is no such suite.")
        return {"tasks": [task.name for task in suites[name].tasks[:MOST_SHOWN]]}

    def differences(self) -> dict[str, Any]:
        """The tasks on which the methods of the runs differ most, by the last evaluation of each run."""
        solved: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for named in self.students.runs:
            method = label(named.run.settings.method)
            last: dict[str, Any] = {}
            for record in named.run.directory.read(EVALUATIONS):
                if record.get("student", 0) == 0 and isinstance(record.get("tasks"), dict):
                    last[str(record.get("suite"))] = record["tasks"]
            for suite, tasks in last.items():
                for task, scores in tasks.items():
                    if isinstance(scores, dict) and isinstance(scores.get("solved"), int | float):
                        solved[suite, task][method].append(float(scores["solved"]))
        rows = []
        for (suite, task), methods in solved.items():
            means = {method: float(np.mean(rates)) for method, rates in methods.items()}
            if len(means) > 1:
                difference = max(means.values()) - min(means.values())
                rows.append({"suite": suite, "task": task, "solved": means, "difference": difference})
        rows.sort(key=lambda row: (-row["difference"], row["task"]))
        return {"tasks": rows[:24]}
