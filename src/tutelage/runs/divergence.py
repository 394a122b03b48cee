"""A run that has become useless is stopped at once, and said to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UserError
from ..figures import Finite
from ..settings import Settings
from .directory import CONFIG, RunDirectory


class Diverged(UserError):
    """Something that a run cannot go on with is not finite."""


def require_finite(
    finite: Finite, before: int, after: int, directories: Sequence[RunDirectory], each: Sequence[Settings]
) -> None:
    """Refuse to go on from iterations after which something is not finite. Nothing of them is kept: the newest
    checkpoint is of a state that was.
    """
    number = after - before
    # [seeds, iterations]; a run by itself has no axis of seeds.
    flags = {name: np.asarray(x).reshape(len(directories), -1)[:, :number] for name, x in finite._asdict().items()}
    if all((x == 1).all() for x in flags.values()):
        return
    everything = np.stack(list(flags.values()))  # [kinds, seeds, iterations]
    at = int(np.argmax((everything != 1).any(axis=(0, 1))))
    # What comes first in an iteration is the cause of the rest.
    kind = list(flags)[int(np.argmax((everything[:, :, at] != 1).any(axis=1)))]
    seed = int(np.argmax(flags[kind][:, at] != 1))
    raise Diverged(_sentence(kind, before + at + 1, directories[seed], each[seed]))


def _sentence(kind: str, iteration: int, directory: RunDirectory, settings: Settings) -> str:
    ppo, kept = settings.ppo, directory.checkpoints()
    what, change = {
        "rewards": (
            "the environment paid a reward that is not finite",
            "Mend the environment; `tutelage check FILE` plays one of your own",
        ),
        "students": (
            "the student has diverged: its weights are no longer finite",
            f"Lower ppo.learning_rate (it is {ppo.learning_rate:g}) or ppo.max_grad_norm ({ppo.max_grad_norm:g}) in "
            f"{directory.path / CONFIG}; where rewards are large, set ppo.normalise_returns",
        ),
        "teachers": (
            "the teacher has diverged: its weights are no longer finite",
            f"Lower teacher.learning_rate in {directory.path / CONFIG}",
        ),
    }[kind]
    where = f"In iteration {iteration} of {directory.path} {what}."
    if not kept:
        return f"{where} There is no checkpoint before it. {change}, and start again."
    return (
        f"{where} The checkpoint of iteration {int(kept[-1].stem)} is from before and is kept. {change}, and go on "
        f"with `tutelage resume {directory.path}`: unchanged, it would do the same again."
    )
