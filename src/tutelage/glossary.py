"""What every logged figure means, its unit, and who logs it. No JAX here.

A name is a path. Its last part says what the figure is, and the parts before it whose: ``replayed/level/blocks`` is the
mean number of blocks of the replayed levels of a batch.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import require


class Figure(NamedTuple):
    """A figure, or several whose names follow a pattern."""

    name: str
    """``*`` stands for one part of a path or more."""
    meaning: str
    unit: str = ""
    """Empty where it is the environment's own, or a number of the level's."""
    who: str = "every run"


SOURCES = "generated, replayed, edited"
PREFIXES = re.compile(r"^(generated|replayed|edited)/")
"""A figure of a batch may be of its levels of one source only: ``replayed/return``."""

BUFFER, TEACHERS = "methods with a buffer", "minimax, PAIRED, REPAIRED, a learned editor"


def _ppo(prefix: str, whose: str, who: str) -> tuple[Figure, ...]:
    return (
        Figure(f"{prefix}/policy_loss", f"clipped surrogate loss of {whose}", "", who),
        Figure(f"{prefix}/value_loss", f"value loss of {whose}, in the network's unit", "", who),
        Figure(f"{prefix}/entropy", f"of the policy of {whose}", "nats", who),
        Figure(f"{prefix}/kl", "divergence of the new policy from the one that acted, estimated", "nats", who),
        Figure(f"{prefix}/clipped", "steps whose probability ratio left the clip range", "share of steps", who),
        Figure(f"{prefix}/grad_norm", "of the gradient over all weights", "before clipping", who),
    )


FIGURES = (
    Figure("iteration", "iterations done; each proposes and plays a batch of levels, and may learn from it"),
    Figure("steps", "environment steps so far, on all levels of a batch", "environment steps of one student"),
    Figure("learned_steps", "environment steps that students learned from", "environment steps of one student"),
    Figure(
        "steps_per_second", "throughput since the last line of metrics", "environment steps of all students a second"
    ),
    Figure("seconds", "time since the last line of metrics, excluding evaluations and checkpoints", "s"),
    Figure("learned", "how much of the batch the students learned from", "share of the batch"),
    Figure("share", f"levels of a batch by where they came from: {SOURCES}", "share of levels"),
    Figure("episodes", "complete episodes in the rollouts", "episodes an iteration"),
    Figure("return", "mean return of complete episodes; for levels without one, the return so far"),
    Figure("solved", "complete episodes whose return exceeds the environment's success threshold", "share of episodes"),
    Figure("regret", "the best possible return minus the return", "", "environments that know the optimum"),
    Figure("level/*", "a property of the levels played, such as the shortest path", "", "environments"),
    Figure("solved-level/*", "the same, of levels that were solved at least once", "", "environments"),
    Figure("action-complexity", "how little the actions on a level repeat", "LZW codes a level", "discrete actions"),
    Figure("student-*/return", "the return of one of several students", "", "PAIRED and its variants"),
    Figure(
        "student-*/solved", "the solved rate of one of several students", "share of episodes", "PAIRED and its variants"
    ),
    Figure("score", "what the levels of the batch scored", "", BUFFER),
    Figure("kept", "levels of the batch that are now in the buffer", "share of levels", BUFFER),
    Figure("generation", "edits since a level was generated", "edits", BUFFER),
    Figure("buffer/fill", "slots that hold a level", "share of slots", BUFFER),
    Figure("buffer/score", "mean score of the levels held", "", BUFFER),
    Figure("buffer/score-*", "quantiles of the score of the levels in the buffer", "", BUFFER),
    Figure("buffer/staleness", "mean time since a level held was played", "levels drawn since", BUFFER),
    Figure("buffer/staleness-*", "quantiles of the same", "levels drawn since", BUFFER),
    Figure("buffer/oldest", "the longest such time", "levels drawn since", BUFFER),
    Figure("buffer/generation", "mean edits since the levels held were generated", "edits", BUFFER),
    Figure("buffer/turnover", "slots whose level changed", "share of slots an iteration", BUFFER),
    Figure("coverage", "levels of the training set that were played", "share of levels", "TSCL"),
    Figure("progress", "mean absolute slope of returns (TSCL) or change of returns (ALP-GMM)", "", "TSCL, ALP-GMM"),
    Figure("mixture/gaussians", "Gaussians in the mixture over levels", "Gaussians", "ALP-GMM"),
    Figure("scan/score", "mean score of the best levels that the current scan has found so far", "", "SFL"),
    Figure("teacher/reward", "the teacher's reward for its levels", "", TEACHERS),
    *(_ppo("teacher", "the teacher", TEACHERS)),
    *(_ppo("ppo", "the students", "every run")),
    Figure("ppo/changed_policy_loss", "how differently the student acts on augmented images", "nats", "DrAC, UCB-DrAC"),
    Figure("ppo/changed_value_loss", "how differently it values them", "", "DrAC, UCB-DrAC"),
    Figure("ppo/pulled/*", "whether the bandit chose this augmentation", "share of updates", "UCB-DrAC"),
    Figure("ppo/worth/*", "the bandit's estimate of an augmentation's value", "", "UCB-DrAC"),
    Figure("held-out/*", "solved rate and return of a held-out suite and of its tasks", "", "TensorBoard, W&B"),
)


def find(name: str) -> Figure | None:
    """The entry of a logged figure; None if it has none."""
    bare = PREFIXES.sub("", name)
    for figure in FIGURES:
        pattern = re.escape(figure.name).replace(r"\*", ".+")
        if re.fullmatch(pattern, bare):
            return figure
    return None


def metrics(*names: str) -> tuple[Figure, ...]:
    """What logged figures mean, by the names that ``metrics.jsonl`` has for them; without names, all of them."""
    found = {name: find(name) for name in names}
    for name, figure in found.items():
        require(
            figure is not None,
            f"No figure is called '{name}'; `tutelage metrics` lists all. One that a method of your own logs is "
            "explained there.",
        )
    return tuple(figure for figure in found.values() if figure is not None) if names else FIGURES


def unit(name: str) -> str:
    """The unit of a logged figure; empty where it is the environment's own, or a number of the level's."""
    figure = find(name)
    return figure.unit if figure else ""
