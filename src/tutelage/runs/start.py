"""Where a run starts from, if not from nothing: another run's student and buffer. And how a run gets longer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .. import config
from ..compose import iterations
from ..errors import UserError, require
from ..rl.agent import AgentState
from ..rl.learner import Average
from ..settings import Settings
from ..trainer import Trainer, TrainState
from . import checkpoint
from .directory import ABOUT, CONFIG, RunDirectory
from .files import write_atomically

FROM, EXTENDED = "from", "extended"
"""What ``run.json`` says of a run that started from another, and of one that got longer."""


@dataclass(frozen=True)
class Start:
    """Another run that a new one starts from."""

    path: Path
    """Of the other run."""
    student: AgentState
    """Its product, without the student axis."""
    curriculum: Any
    """The state of its curriculum, with its buffer; None to start with a new one."""
    iteration: int


def like_the_student(settings: Settings, other: Settings) -> Settings:
    """Settings whose students have the network of another run's, so that they can start from it."""
    require(
        type(settings.encoder) is type(other.encoder),
        f"A student of {other.environment} sees with {type(other.encoder).__name__}, and one of "
        f"{settings.environment} with {type(settings.encoder).__name__}; start from a run of the same environment.",
    )
    flags = {name: getattr(other.ppo, name) for name in ("normalise_returns", "normalise_observations")}
    return replace(settings, encoder=other.encoder, network=other.network, ppo=replace(settings.ppo, **flags))


def transplanted(trainer: Trainer, state: TrainState, start: Start) -> TrainState:
    """The first state of a run, with the weights of another run's student for every student, and perhaps its buffer.

    What the optimiser remembers is new. Refuses what does not fit.
    """
    students = state.students
    given = jax.tree.map(lambda own, new: _fitted(own, new, start.path), students.agent, _same_tree(students, start))
    average = students.average
    if isinstance(average, Average):
        average = average._replace(params=jax.tree.map(jnp.copy, given.params))
    state = state._replace(students=students._replace(agent=given, average=average))
    if start.curriculum is None:
        return state
    both = state.curriculum, start.curriculum
    ours, theirs = ([(x.shape, x.dtype) for x in jax.tree.leaves(tree)] for tree in both)
    require(
        jax.tree.structure(state.curriculum) == jax.tree.structure(start.curriculum) and ours == theirs,
        f"The curriculum of {start.path} has another form than this run's; start with its buffer only with the same "
        "method, number of levels and buffer settings, or leave --from-buffer out.",
    )
    return state._replace(curriculum=jax.tree.map(jnp.copy, start.curriculum))


def _same_tree(students: Any, start: Start) -> Any:
    require(
        jax.tree.structure(students.agent) == jax.tree.structure(start.student),
        f"The student of {start.path} has another network than this run's students; leave the settings of network, "
        "encoder and normalisation out, so that they are taken from it.",
    )
    return start.student


def _fitted(own: Any, new: Any, path: Path) -> Any:
    require(
        own.shape[1:] == new.shape,
        f"The student of {path} has weights of the shape {list(new.shape)} where this run's have "
        f"{list(own.shape[1:])}; leave the settings of network and encoder out, so that they are taken from it, or "
        "start from another run.",
    )
    return jnp.broadcast_to(jnp.asarray(new, own.dtype), own.shape) + jnp.zeros((), own.dtype)


def begin(directory: RunDirectory, trainer: Trainer, settings: Settings, start: Start) -> None:
    """Write the first state of a run that starts from another, so that it is there whenever the run is resumed."""
    state = transplanted(trainer, trainer.init(settings.train.seed, settings.train.shared_seed), start)
    directory.save_checkpoint(0, trainer.devices.local(state), {})
    note = {
        "run": str(start.path.resolve()),
        "iteration": start.iteration,
        "student": checkpoint.digest(start.student),
        "buffer": start.curriculum is not None,
    }
    _about(directory, {FROM: note})


def started_from(directory: RunDirectory) -> str:
    """The run that another started from; empty for most."""
    return directory.about().get(FROM, {}).get("run", "")


def extend(directory: RunDirectory, steps: str) -> str:
    """Give a run, finished or not, another length, in steps such as ``500M``. Returns what it means, in a sentence.

    Nothing else of it changes: without a schedule it goes on as if it had been meant to be so long from the start.
    """
    with directory.lock():
        before = directory.settings()
        after = config.override(before, {"train.steps": steps})
        old, new = iterations(before), iterations(after)
        done = max((int(path.stem) for path in directory.checkpoints()), default=0)
        if new < max(done, 1):
            each = before.train.levels * before.train.rollout
            raise UserError(
                f"The run {directory.path} has done {done * each:,} steps already, and --steps is "
                f"{after.train.steps:,}; give more."
            )
        if new == old:
            return f"The run has {old:,} iterations, as before."
        write_atomically(directory.path / CONFIG, config.to_toml(after).encode())
        note = {"at": done, "from": before.train.steps, "to": after.train.steps}
        _about(directory, {EXTENDED: [*directory.about().get(EXTENDED, []), note]})
    said = f"The run has {new:,} iterations now, of which {done:,} are done; it was to have {old:,}."
    if before.ppo.anneal:
        rate = before.ppo.learning_rate
        then, now = (rate * (1 - min(done / total, 1)) for total in (old, new))
        said += (
            " Its learning rate falls to 0 at the end of the run, which is later now: it goes on at "
            f"{now:.3g} where it was {then:.3g}, so the run is not the one that would have been so long from the start."
        )
    return said


def _about(directory: RunDirectory, more: dict[str, Any]) -> None:
    about = directory.about() | more
    write_atomically(directory.path / ABOUT, (json.dumps(about, indent=2) + "\n").encode())
