"""What a run would cost here: time, memory and disk, from a few compiled iterations."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..compose import evaluation_episodes, evaluation_interval, iterations
from ..envs.base import Domain
from ..evaluation.evaluate import evaluate
from ..experiment import build, build_domain
from ..settings import Settings
from ..trainer import compiled

ITERATIONS = 8
"""Iterations that are timed, after as many that are not."""
LINE = 3000
"""Bytes of a line of metrics, or of an evaluation, about."""


class Cost(NamedTuple):
    """Of a whole run, on this machine, as busy as it is now."""

    iterations: int
    compiling: float
    """Seconds."""
    training: float
    """Seconds, without evaluations."""
    evaluating: float
    memory: float
    """Bytes that this process took at most, compiling included; on an accelerator also what its memory held."""
    disk: float
    """Bytes of two checkpoints and of the records. While one is written there is a third."""
    learned: float
    """The share of the timed iterations from which students learned."""
    steps_per_second: float

    def __str__(self) -> str:
        return "\n".join(
            [
                f"time    {_time(self.training + self.evaluating)} for {self.iterations:,} iterations "
                f"({_time(self.evaluating)} of it for evaluations), after {_time(self.compiling)} of compiling",
                f"rate    {self.steps_per_second:,.0f} steps a second",
                f"memory  {self.memory / 1e9:.2f} GB",
                f"disk    {self.disk / 1e6:,.0f} MB",
                f"Measured on {ITERATIONS} iterations, of which {self.learned:.0%} were learned from, and one "
                "evaluation. A machine that is busy now, and the short or long episodes of a student that is not "
                "trained yet, make these figures rough.",
            ]
        )


def estimate(settings: Settings, domain: Domain | None = None) -> Cost:
    """Compile a run, play a few iterations and one evaluation, and say what the whole would cost. Writes nothing.

    Methods that replay start to do so at once, so that there is something to learn from in what is timed.
    """
    total, every = iterations(settings), evaluation_interval(settings)
    domain = domain or build_domain(settings)
    trainer = build(_replaying(settings), domain)
    state: Any = trainer.init(settings.train.seed, settings.train.shared_seed)
    size = sum(x.nbytes for x in jax.tree.leaves(jax.tree.map(_data, state)))
    run = compiled(trainer, ITERATIONS)
    began = time.perf_counter()
    state, _ = jax.block_until_ready(run(state, ITERATIONS))
    first = time.perf_counter() - began
    began = time.perf_counter()
    state, report = jax.block_until_ready(run(state, ITERATIONS))
    each = (time.perf_counter() - began) / ITERATIONS
    suite = domain.suites[settings.train.suite]
    student = jax.tree.map(lambda x: x[0], trainer.devices.local(state).students.product)
    began = time.perf_counter()
    evaluate(trainer.learner.agent, student, suite, settings.train.episodes, 0, domain.rules.success)
    once = time.perf_counter() - began
    began = time.perf_counter()
    evaluate(trainer.learner.agent, student, suite, settings.train.episodes, 0, domain.rules.success)
    again = time.perf_counter() - began
    moments = [0, *(range(every, total, every) if every else ()), total]
    episodes = [evaluation_episodes(settings, moment) for moment in moments]
    return Cost(
        iterations=total,
        compiling=max(first - ITERATIONS * each, 0.0) + len(set(episodes)) * max(once - again, 0.0),
        training=each * total,
        evaluating=again * sum(episodes) / settings.train.episodes,
        memory=_memory(),
        disk=2.0 * size + LINE * (total / settings.train.log_every + len(moments)),
        learned=float(report.learned.mean()),
        steps_per_second=trainer.steps_per_iteration * trainer.students / each,
    )


def _replaying(settings: Settings) -> Settings:
    replay: Any = getattr(settings.curriculum, "replay", None)
    if not hasattr(replay, "min_fill"):
        return settings
    return replace(settings, curriculum=replace(settings.curriculum, replay=replace(replay, min_fill=0.0)))


def _data(x: Any) -> Any:
    return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x


def _memory() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    held = [device.memory_stats() or {} for device in jax.local_devices()]
    return own + sum(stats.get("peak_bytes_in_use", 0) for stats in held)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
