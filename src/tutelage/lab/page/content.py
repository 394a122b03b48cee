"""What a page shows: students, held-out mazes, the best levels of buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import jax

from ...envs.base import Suite, Task
from ...envs.maze.settings import MazeSettings
from ...errors import UserError, require
from ...plugins import label as plain_name
from ...runs.directory import package_version
from ...runs.levels import top_levels
from ...runs.session import Run
from .weights import Choice, choose

LARGEST = 51
"""Cells a side, the border counted, of the largest maze that a page shows."""


def content(runs: Sequence[Run], title: str, suite: str, top: int, say: Callable[[str], None]) -> dict[str, Any]:
    """All data of a page. ``say`` is told what was chosen for each student's weights, and what that costs."""
    for run in runs:
        check(run)
    shown = runs[0].domain.suites[suite]
    check_suite(shown)
    labels = labels_of(runs)
    students, choices = [], []
    for run, label in zip(runs, labels, strict=True):
        tasks = run.domain.suites[suite].tasks
        choice = choose(run.agent, run.student(), tasks)
        say(f"{label}: {choice.sentence}.")
        students.append(_student(run, label, tasks, choice))
        choices.append(choice)
    env: MazeSettings = runs[0].settings.env
    return {
        "title": title,
        "about": _about(choices),
        "students": students,
        "mazes": _mazes(runs[0], shown, choices[0]),
        "suites": _suites(runs[0], shown),
        "buffers": [shelf for run, label in zip(runs, labels, strict=True) if (shelf := _buffer(run, label, top))],
        "training": {
            "size": env.size,
            "blocks": env.blocks,
            "uniform": env.block_count == "uniform",
            "maxSteps": env.max_steps,
            "seeThrough": env.see_through_walls,
            "reward": env.reward,
        },
    }


def check(run: Run) -> None:
    """Refuse what the page's own rules and networks cannot do."""
    path, settings = run.directory.path, run.settings
    require(
        isinstance(settings.env, MazeSettings),
        f"The run {path} is one of {plain_name(settings.environment)}, and a page has the rules of the maze only; "
        "give runs of maze. For other environments there is `tutelage report`.",
    )
    require(
        not settings.ppo.normalise_observations,
        f"The student of {path} sees normalised observations (ppo.normalise_observations), which a page does not; "
        "give a run without them.",
    )


def check_suite(suite: Suite) -> None:
    """Refuse mazes that would be too small to see."""
    for task in suite.tasks:
        trial: Any = jax.eval_shape(task.sample, jax.random.key(0))
        side = max(trial.level.walls.shape) + 2
        require(
            side <= LARGEST,
            f"The suite {suite.name} has mazes of {side}x{side} cells, and a page shows up to {LARGEST}x{LARGEST}; "
            "choose another with --suite.",
        )


def labels_of(runs: Sequence[Run]) -> list[str]:
    """Short and all different: the method and the seed, and where these are shared, steps and then directories too."""
    names = [f"{plain_name(run.settings.method)}, seed {run.settings.train.seed}" for run in runs]
    for more in (lambda run: f"{_steps(run)} steps", lambda run: run.directory.path.name):
        times = Counter(names)
        names = [f"{name}, {more(run)}" if times[name] > 1 else name for name, run in zip(names, runs, strict=True)]
    return names


def _steps(run: Run) -> str:
    steps = run.iteration * run.trainer.steps_per_iteration
    return f"{steps / 1e6:.0f}M" if steps >= 1e7 else f"{steps / 1e6:.1f}M" if steps >= 1e5 else f"{steps:,}"


def _student(run: Run, label: str, tasks: Sequence[Task], choice: Choice) -> dict[str, Any]:
    network, env = run.settings.network, run.settings.env
    played = dict(zip((task.name for task in tasks), choice.episodes, strict=True))
    return {
        "label": label,
        "detail": f"{_steps(run)} steps",
        "reward": env.reward,
        "network": {
            "core": network.core,
            "width": network.width,
            "layers": network.layers,
            "activation": network.activation,
            "view": env.view,
            "unit": float(run.agent.unit(run.student())),
        },
        "weights": choice.packed.as_json(),
        # What the page must do itself, by its own rules and sums: one digit for each step.
        "actions": {task: "".join(map(str, episode.actions.tolist())) for task, episode in played.items()},
    }


def _mazes(run: Run, suite: Suite, choice: Choice) -> list[dict[str, Any]]:
    """The first episode's level of every task, with the rules of the test."""
    viewer = run.domain.viewer
    assert viewer is not None
    mazes = []
    for task, episode in zip(suite.tasks, choice.episodes, strict=True):
        text = viewer.text(episode.level)
        trial: Any = episode.level
        limits = {"maxSteps": int(trial.max_steps), "seeThrough": bool(trial.see_through_walls)}
        mazes.append({"name": task.name, "text": text, **limits})
    return mazes


def _suites(run: Run, shown: Suite) -> dict[str, list[str]]:
    """The suite itself, and every other that is part of it."""
    here = [task.name for task in shown.tasks]
    found = {shown.name: here}
    for name in run.domain.suites:
        names = [task.name for task in run.domain.suites[name].tasks]
        if len(names) > 1 and set(names) < set(here):
            found[name] = names
    return found


def _buffer(run: Run, label: str, top: int) -> dict[str, Any] | None:
    """The levels that a run's buffer values most; none, if its method keeps none."""
    viewer, env = run.domain.viewer, run.settings.env
    assert viewer is not None
    try:
        cards = top_levels(run, top)
    except UserError:
        return None
    limits = {"maxSteps": env.max_steps, "seeThrough": env.see_through_walls}
    return {
        "label": label,
        "levels": [
            {
                "name": f"#{rank}",
                "text": viewer.text(card.level),
                "caption": ", ".join([card.title.partition("  ")[2], *_figures(card.metrics)]),
                **limits,
            }
            for rank, card in enumerate(cards, start=1)
        ],
    }


def _figures(metrics: dict[str, float]) -> list[str]:
    return [f"{name} {value:g}" for name, value in metrics.items() if name != "solvable"]


def _about(choices: Sequence[Choice]) -> str:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    bits = sorted({choice.packed.bits for choice in choices})
    weights = " and ".join(f"{number}-bit" for number in bits)
    return (
        f"Made by Tutelage {package_version()} on {date}. Rules and networks run in this page; nothing is loaded from "
        f"anywhere. Weights are {weights} numbers."
    )
