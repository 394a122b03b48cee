"""What a run writes down: a line of metrics and a line of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.evaluate import Evaluation
from ..figures import StepReport
from ..trainer import Trainer
from ..types import SOURCES


def metrics_record(
    iteration: int, number: int, trainer: Trainer, log: StepReport, seconds: float, learned_before: int
) -> dict[str, Any]:
    """Average the iterations of one dispatch, each figure over those in which it was defined.

    Steps are those of one student; their rate is that of all students of this run, also where other runs were trained
    in the same seconds.
    """
    steps = trainer.steps_per_iteration
    learned, sources = np.asarray(log.learned[:number]), np.asarray(log.sources[:number]).mean(axis=0)
    learned_steps = learned_before + round(float(learned.sum()) * steps)
    record: dict[str, Any] = {
        "iteration": iteration,
        "steps": iteration * steps,
        "learned_steps": learned_steps,
        "steps_per_second": number * steps * trainer.students / seconds,
        "seconds": seconds,
        "learned": float(learned.mean()),
    }
    record |= {f"{name}/share": float(share) for name, share in zip(SOURCES, sources, strict=True) if share > 0}
    return record | _means({name: np.asarray(values) for name, values in log.metrics.items()}, number)


def _means(log: Mapping[str, np.ndarray], number: int) -> dict[str, float]:
    """Means over iterations in which a figure was defined (NaN marks the others); none, no figure."""
    means = {}
    for name, values in log.items():
        defined = values[:number]
        defined = defined[np.isfinite(defined)]
        if defined.size:
            means[name] = float(defined.mean())
    return means


def mean_record(records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What several runs have in common, for who watches all of them."""
    shared = [name for name in records[0] if all(name in record for record in records)]
    if len(records) == 1:
        return records[0]
    return {name: type(records[0][name])(np.mean([record[name] for record in records])) for name in shared}


def evaluation_record(
    iteration: int, trainer: Trainer, result: Evaluation, student: int = 0, greedy: bool = False
) -> dict[str, Any]:
    """A line of ``evaluations.jsonl``."""
    return {
        "iteration": iteration,
        "steps": iteration * trainer.steps_per_iteration,
        "suite": result.suite,
        "seed": result.seed,
        "student": student,
        "greedy": greedy,
        "solved": result.solved_rate,
        "return": result.mean_return,
        "tasks": {
            task.task: {
                "solved": task.solved_rate,
                "solved-error": task.standard_error,
                "return": task.mean_return,
                "return-error": task.return_error,
                "return-min": task.min_return,
                "episodes": len(task.returns),
                **({} if task.normalised_return is None else {"normalised": task.normalised_return}),
            }
            for task in result.tasks
        },
    }
