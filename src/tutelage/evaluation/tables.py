"""Evaluations as text, for a terminal."""

from __future__ import annotations

from .evaluate import Evaluation
from .robustness import WorstCase


def evaluation(result: Evaluation) -> str:
    """A row for each task, and the mean of all. Returns on a scale have a column of their own."""
    scaled = result.normalised_return is not None
    width = max(len("mean"), *(len(task.task) for task in result.tasks))
    lines = [f"{'':<{width}}  {'solved':<13}  {'return':<15}  {'worst':>7}  steps{'  normalised' * scaled}"]
    for task in result.tasks:
        rate = f"{task.solved_rate:.2f} ± {task.standard_error:.2f}"
        mean = f"{task.mean_return:.3f} ± {task.return_error:.3f}"
        lines.append(
            f"{task.task:<{width}}  {rate:<13}  {mean:<15}  {task.min_return:>7.3f}  {task.lengths.mean():>5.0f}"
            + (f"  {task.normalised_return:>10.3f}" if scaled else "")
        )
    overall = f"{'mean':<{width}}  {result.solved_rate:<13.2f}  {result.mean_return:<15.3f}"
    lines.append(overall + (f"{'':>18}{result.normalised_return:>10.3f}" if scaled else ""))
    episodes = len(result.tasks[0].returns)
    lines.append(
        f"{result.suite}, {episodes} episodes each, seed {result.seed}; ± is the standard error over episodes, "
        "worst the lowest return"
    )
    return "\n".join(lines)


def worst_case(played: WorstCase, suite: str, seed: int) -> str:
    """From all levels to the worst."""
    rows = [("all levels", played.mean())]
    rows += [(f"worst {share:.0%} of levels", played.cvar(share)) for share in (0.2, 0.1, 0.05, 0.01)]
    rows.append((f"worst of {played.episodes} episodes", played.worst_episode()))
    lines = [f"{'':<22}  solved  return"]
    lines += [f"{name:<22}  {figures.solved:>6.2f}  {figures.returns:>6.3f}" for name, figures in rows]
    left_out = f" ({played.unsolvable:,} more cannot be solved and were left out)" if played.unsolvable else ""
    lines.append(
        f"{suite}, {played.levels:,} new levels{left_out}, seed {seed}; the worst levels (CVaR), by either measure, "
        f"were found in {played.episodes} episodes each and scored in {played.episodes} others"
    )
    return "\n".join(lines)
