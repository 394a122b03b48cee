"""Train a run from its directory: new, stopped or finished, it is the same run. Several seeds are several such runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import jax

from ..compose import evaluation_episodes, evaluation_interval
from ..envs.base import Domain
from ..errors import require
from ..evaluation.evaluate import Evaluation, evaluate, pooled
from ..evaluation.robustness import WorstCase
from ..experiment import build, build_domain
from ..hosts.environment import HostEnvironment
from ..memory import require_room
from ..plugins import label
from ..rl.agent import Agent, AgentState
from ..seeds import stack, unstack
from ..settings import Settings
from ..trainer import Trainer, TrainState, compiled
from . import checkpoint, sinks
from .advice import advice
from .directory import EVALUATIONS, METRICS, RunDirectory
from .divergence import require_finite
from .group import RunGroup, is_group, require_alone, seeds_of
from .processes import (
    alone,
    any_process,
    broadcast_from_main,
    broadcast_tree,
    is_main_process,
    on_main_process,
    require_same,
)
from .records import evaluation_record, mean_record, metrics_record
from .signals import interruptible
from .start import Start, begin, extend, started_from, transplanted
from .students import Student


class Progress(Protocol):
    """Somebody who watches a run."""

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None: ...

    def advanced(self, record: Mapping[str, Any]) -> None: ...

    def evaluated(self, iteration: int, evaluation: Evaluation) -> None: ...

    def said(self, message: str) -> None: ...


class Silent:
    """Nobody watches."""

    def started(self, iteration: int, iterations: int, steps_per_iteration: int) -> None: ...

    def advanced(self, record: Mapping[str, Any]) -> None: ...

    def evaluated(self, iteration: int, evaluation: Evaluation) -> None: ...

    def said(self, message: str) -> None: ...


@dataclass(frozen=True, repr=False)
class Run:
    """A run that can be read: its settings, its objects, and the newest state of its training."""

    directory: RunDirectory
    settings: Settings
    trainer: Trainer
    state: TrainState
    iteration: int

    def __repr__(self) -> str:
        done = f"iteration {self.iteration:,} of {self.trainer.iterations:,}"
        what = f"{label(self.settings.environment)}, {label(self.settings.method)}, seed {self.settings.train.seed}"
        return f"<Run {self.directory.path}: {what}, {done}>"

    @property
    def finished(self) -> bool:
        return self.iteration >= self.trainer.iterations

    @property
    def digest(self) -> str:
        """SHA-256 of everything that training depends on and changes."""
        return checkpoint.digest(self.state)

    @cached_property
    def domain(self) -> Domain:
        """The environment as it is tested; training may ground it."""
        return self.trainer.domain if self.settings.train.grounding == "none" else build_domain(self.settings)

    @property
    def agent(self) -> Agent:
        """What plays with a student's state."""
        return self.trainer.learner.agent

    def student(self, index: int = 0) -> AgentState:
        """What acting needs of one student, without the student axis. The first is the product of the run. With
        ``ppo.average`` its weights are the averaged ones.
        """
        check_student(index, self.trainer.students)
        return jax.tree.map(lambda x: x[index], self.state.students.product)

    def product(self, index: int = 0) -> Student:
        """One of the run's students, apart from the run."""
        return Student(self.directory.path.name, self.settings, self.domain, self.agent, self.student(index))

    def evaluate(
        self, suite: str = "", episodes: int = 100, seed: int = 0, greedy: bool = False, student: int = 0
    ) -> Evaluation:
        """Play one of the run's students on a suite, by its name or the path of a file of levels; without either, on
        the one it watched in training.
        """
        return self.product(student).evaluate(suite, episodes, seed, greedy)

    def worst_case(
        self,
        suite: str = "fresh",
        levels: int = 10_000,
        episodes: int = 10,
        seed: int = 0,
        greedy: bool = False,
        student: int = 0,
    ) -> WorstCase:
        """Play one of the run's students on many new levels, to see how it does on the worst of them."""
        return self.product(student).worst_case(suite, levels, episodes, seed, greedy)


def check_student(index: int, students: int) -> None:
    """Refuse a student that a run does not have."""
    require(0 <= index < students, f"There is no student {index}; this run has {students}, counted from 0.")


def load(path: Path | str, warn: Callable[[str], None] = print) -> Run:
    """Open a run to read it: its newest whole checkpoint, or its first state if it has none."""
    directory = RunDirectory.open(path)
    settings = directory.settings()
    # Reading needs one device, however many the run is trained on.
    trainer = build(replace(settings, train=replace(settings.train, devices=1)))
    (state,), iteration, _ = _restore([directory], trainer, [settings], warn)
    return Run(directory, settings, trainer, state, iteration)


def train(
    settings: Settings,
    path: Path | str,
    progress: Progress | None = None,
    log: Sequence[str] = (),
    domain: Domain | None = None,
    start: Run | None = None,
    start_buffer: bool = False,
) -> Run:
    """Start a new run in a new directory and train it to its end. ``log`` names sinks, such as ``tensorboard``.

    ``domain`` is the environment of these settings, if it has been built already; so it is below. The students of
    another run that is given as ``start`` are where this one's start, with its buffer too if ``start_buffer`` says so.
    """
    return train_seeds(settings, path, 1, progress, log, domain, start, start_buffer)[0]


def resume(
    path: Path | str,
    progress: Progress | None = None,
    devices: int | None = None,
    log: Sequence[str] = (),
    domain: Domain | None = None,
    steps: str = "",
) -> Run:
    """Go on with a run that was stopped. The result is that of a run that was never stopped, bit for bit.

    Another number of ``devices`` than the run's own, which is the default, gives the same run up to rounding.
    ``steps``, such as ``"500M"``, gives the run another length, also if it is finished (``runs.start.extend``).
    """
    directory = RunDirectory.open(path)
    require_alone(path)
    if steps:
        on_main_process(lambda: (progress or Silent()).said(extend(directory, steps)))
    settings = directory.settings()
    if devices is not None:
        settings = replace(settings, train=replace(settings.train, devices=devices))
    trainer = _checked(settings, log, domain)
    return _train([directory], [settings], trainer, progress or Silent(), log)[0]


def train_seeds(
    settings: Settings,
    path: Path | str,
    seeds: int,
    progress: Progress | None = None,
    log: Sequence[str] = (),
    domain: Domain | None = None,
    start: Run | None = None,
    start_buffer: bool = False,
) -> list[Run]:
    """Start as many runs as ``seeds``, from the settings' own seed on, and train them as one program.

    Each has a directory of its own in ``path``. One seed is a run like any other, in ``path`` itself.
    """
    require(seeds >= 1, f"{seeds} seeds were asked for; give at least 1.")
    require(start is None or alone(), "Only a run in one process can start from another; leave --processes out.")
    if seeds > 1:
        _one_device(settings)
    trainer = _checked(settings, log, domain, seeds)
    each = [settings] if seeds == 1 else seeds_of(settings, seeds)
    origin = None
    if start is not None:
        kept = start.state.curriculum if start_buffer else None
        origin = Start(start.directory.path, start.student(), kept, start.iteration)
        transplanted(trainer, trainer.init(0), origin)  # refuse what does not fit before anything is made
    if seeds == 1:
        on_main_process(RunDirectory.create, path, settings)
        directories = [RunDirectory(Path(path))]
    else:
        group = RunGroup.create(path, each)
        directories, each = group.runs(), group.settings()
    if origin is not None:
        for directory, own in zip(directories, each, strict=True):
            begin(directory, trainer, own, origin)
    return _train(directories, each, trainer, progress or Silent(), log)


def resume_seeds(
    path: Path | str,
    progress: Progress | None = None,
    devices: int | None = None,
    log: Sequence[str] = (),
    domain: Domain | None = None,
    steps: str = "",
) -> list[Run]:
    """Go on with all runs of a program, or with a run like any other."""
    if not is_group(path):
        return [resume(path, progress, devices, log, domain, steps)]
    group = RunGroup.open(path)
    if steps:
        for directory in group.runs():
            (progress or Silent()).said(extend(directory, steps))
    settings = group.settings()
    _one_device(settings[0], devices or 1)
    trainer = _checked(settings[0], log, domain)
    return _train(group.runs(), settings, trainer, progress or Silent(), log)


def _one_device(settings: Settings, devices: int = 1) -> None:
    """Refuse to split a program of several seeds over devices: that is not built."""
    require(
        max(devices, settings.train.devices) == 1 and alone(),
        "Several seeds as one program run on one device, in one process; leave --devices and --processes out, "
        "or train one seed at a time.",
    )


def _checked(settings: Settings, log: Sequence[str], domain: Domain | None, seeds: int = 1) -> Trainer:
    """What is to be trained. Refuses what would fail only after hours."""
    sinks.check(log)
    require_same(settings)
    trainer = build(settings, domain)
    require(
        seeds == 1 or not isinstance(trainer.domain.env, HostEnvironment),
        "Several seeds as one program need an environment that is written in JAX; train one seed at a time, or put the "
        "seeds into a study.",
    )
    _ = trainer.domain.suites[settings.train.suite]
    require(
        trainer.iterations < 2**31,
        f"train.steps are {settings.train.steps:,}, which are {trainer.iterations:,} iterations; give fewer than 2^31.",
    )
    require_room(trainer, seeds)
    return trainer


def _restore(
    directories: Sequence[RunDirectory], trainer: Trainer, each: Sequence[Settings], warn: Callable[[str], None]
) -> tuple[list[TrainState], int, list[int]]:
    """The newest states that all runs have whole: a killed process may have written some checkpoints of an iteration
    and not others. Every run keeps two, so there is one that they share. Also their iteration, and the steps that each
    run has learned from.
    """
    starts = [trainer.init(settings.train.seed, settings.train.shared_seed) for settings in each]
    found: list[Any] = [trainer.devices.local(start) for start in starts]

    def newest() -> list[Any]:
        until = math.inf
        while True:
            latest = [
                directory.load_latest(start, warn, until) or (start, {}, 0)
                for directory, start in zip(directories, starts, strict=True)
            ]
            for directory, (state, _, _), start in zip(directories, latest, starts, strict=True):
                require(
                    state is not start or not started_from(directory),
                    f"The run {directory.path} started from {started_from(directory)}, and no checkpoint of it is "
                    "whole; start it again.",
                )
            iterations = [iteration for _, _, iteration in latest]
            until = min(iterations)
            if until == max(iterations):
                found[:] = [state for state, _, _ in latest]
                return [until, [meta.get("learned_steps", 0) for _, meta, _ in latest]]

    iteration, learned = broadcast_from_main(newest)
    if iteration == 0 and not broadcast_from_main(lambda: any(map(started_from, directories))):
        return starts, 0, learned
    return [trainer.devices.replicate(broadcast_tree(state)) for state in found], iteration, learned


def _train(
    directories: Sequence[RunDirectory],
    each: Sequence[Settings],
    trainer: Trainer,
    progress: Progress,
    log_to: Sequence[str],
) -> list[Run]:
    """Train runs that differ in the seed only, in step with each other. One is the common case."""
    progress = progress if is_main_process() else Silent()
    with ExitStack() as held:
        for directory in directories:
            on_main_process(held.enter_context, directory.lock())
        interrupted = held.enter_context(interruptible())
        domain, schedule, seeds = trainer.domain, each[0].train, len(directories)
        suite = domain.suites[schedule.suite]
        states, iteration, learned = _restore(directories, trainer, each, progress.said)
        state = stack(states)
        for directory in directories:
            on_main_process(directory.rewind, iteration)
        copies = [
            held.enter_context(sinks.opened(log_to if is_main_process() else (), directory, settings, progress.said))
            for directory, settings in zip(directories, each, strict=True)
        ]
        if seeds > 1:
            progress.said(f"{seeds} seeds train as one program; what is shown are means over them, and steps of each.")
        for sentence in advice(each[0], domain):
            progress.said(sentence)
        progress.started(iteration, trainer.iterations, trainer.steps_per_iteration)
        # Settings decide where logs, evaluations and checkpoints fall, never the clock: a run repeats to the letter.
        evaluate_every = evaluation_interval(each[0])
        stops = (schedule.log_every, evaluate_every, schedule.checkpoint_every)
        run = compiled(trainer, schedule.log_every, seeds)

        split = jax.jit(unstack, static_argnums=1)  # one program, where one for each shape would take longer to compile

        def own() -> list[TrainState]:
            mine = trainer.devices.local(state)
            return [mine] if seeds == 1 else split(mine, seeds)

        def test(iteration: int, who: Sequence[int]) -> None:
            each_state, results, episodes = own(), [], evaluation_episodes(each[0], iteration)
            for i in who:
                product = jax.tree.map(lambda x: x[0], each_state[i].students.product)
                # The episodes of every evaluation are the same, so that the curve shows the student and not the draw.
                results.append(evaluate(trainer.learner.agent, product, suite, episodes, 0, domain.rules.success))
                record = evaluation_record(iteration, trainer, results[-1])
                directories[i].append(EVALUATIONS, [record])
                copies[i].evaluated(record)
                if copies[i].wanted and _worth_a_picture(iteration, evaluate_every, trainer.iterations):
                    from .snapshots import snapshot

                    run = Run(directories[i], each[i], trainer, each_state[i], iteration)
                    copies[i].pictures(record["steps"], partial(snapshot, run))
            progress.evaluated(iteration, pooled(results))

        def untested() -> list[int]:
            records = [directory.read(EVALUATIONS, progress.said) for directory in directories]
            return [i for i in range(seeds) if not any(record["iteration"] == 0 for record in records[i])]

        def write(records: Sequence[Mapping[str, Any]]) -> None:
            for directory, copy, record in zip(directories, copies, records, strict=True):
                directory.append(METRICS, [record])
                copy.metrics(record)

        def save(iteration: int) -> None:
            for directory, state, steps in zip(directories, own(), learned, strict=True):
                directory.save_checkpoint(iteration, state, {"learned_steps": steps})

        if iteration == 0 and (who := broadcast_from_main(untested)):
            on_main_process(test, 0, who)
        stopped = False
        while iteration < trainer.iterations and not (stopped := any_process(interrupted())):
            began = time.perf_counter()
            until = min(trainer.iterations, *(_next(iteration, every) for every in stops if every))
            state, log = run(state, until - iteration)
            log = jax.device_get(log)  # waits until the device has finished
            require_finite(log.finite, iteration, until, directories, each)
            seconds = time.perf_counter() - began
            number, iteration = until - iteration, until
            records = [
                metrics_record(iteration, number, trainer, mine, seconds, before)
                for mine, before in zip(unstack(log, seeds), learned, strict=True)
            ]
            learned = [record["learned_steps"] for record in records]
            on_main_process(write, records)
            progress.advanced(mean_record(records))
            last = iteration == trainer.iterations
            if last or (evaluate_every and iteration % evaluate_every == 0):
                on_main_process(test, iteration, range(seeds))
            if last or iteration % schedule.checkpoint_every == 0:
                on_main_process(save, iteration)
        if stopped:
            on_main_process(save, iteration)
        return [
            Run(directory, settings, trainer, state, iteration)
            for directory, settings, state in zip(directories, each, own(), strict=True)
        ]


def _worth_a_picture(iteration: int, every: int, iterations: int) -> bool:
    """At the first evaluation, the last and every fourth: about ten times in a run."""
    return iteration in (0, iterations) or (every > 0 and iteration % (4 * every) == 0)


def _next(iteration: int, every: int) -> int:
    """The next multiple of ``every``."""
    return (iteration // every + 1) * every
