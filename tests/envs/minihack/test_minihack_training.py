"""Methods train in MiniHack, go on exactly where they were stopped, and name a worker that dies with its level."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.errors import UserError
from tutelage.hosts.fleet import close_all, get_fleet
from tutelage.hosts.play import by_name
from tutelage.runs import checkpoint

SMALL = {
    "train.levels": "4",
    "train.rollout": "12",
    "train.episodes": "2",
    "ppo.minibatches": "2",
    "ppo.epochs": "1",
    "network.width": "8",
    "env.workers": "1",
    "env.max_steps": "10",
    "replay.capacity": "8",
    "replay.min_fill": "0.5",
}


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays():
    yield
    close_all()


def trainer_of(environment: str, method: str, **changes: str) -> Any:
    settings = tutelage.preset(environment, method, "fast")
    return tutelage.build(tutelage.override(settings, SMALL | changes))


@pytest.mark.parametrize(("environment", "method"), [("minihack-lava", "accel"), ("minihack-fruit", "samplr")])
def test_a_run_that_was_stopped_goes_on_exactly(environment, method):
    """Two iterations, new simulators, two more: the same state, bit for bit, as after four in one go."""
    trainer = trainer_of(environment, method)
    start, run = trainer.init(0), tutelage.compiled(trainer, 4)
    whole, log = run(start, 4)
    assert np.isfinite(log.metrics["return"]).all()
    half, _ = run(start, 2)
    close_all()
    again, _ = run(half, 2)
    assert checkpoint.digest(again) == checkpoint.digest(whole)
    before, after = (jax.tree.leaves(state.students.agent.params) for state in (start, whole))
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("grounding", ["naive", "samplr"])
def test_grounding_tells_the_simulators_of_training_and_not_those_of_tests(grounding):
    """The former draw what is hidden from the truth, the latter play what their levels say."""
    trainer = trainer_of("minihack-fruit", "robust-plr", **{"train.grounding": grounding})
    (task, *_) = trainer.domain.suites["choices"].tasks
    with closing(trainer.domain.env.maker()) as training, closing(task.env.maker()) as testing:
        assert training.task.hidden == {"naive": "episode", "samplr": "step"}[grounding]
        assert testing.task.hidden == "level"


def test_a_worker_that_dies_is_named_with_its_level():
    trainer = trainer_of("minihack-lava", "robust-plr")
    levels = by_name(jax.vmap(trainer.domain.levels.sample)(jax.random.split(jax.random.key(0), 4)))
    fleet = get_fleet(trainer.domain.env, levels, 4)
    fleet.reset(levels, np.arange(4))
    os.kill(fleet._processes[0].pid, signal.SIGKILL)

    def go_on() -> None:
        fleet.send(np.zeros(4, np.int32))
        fleet.receive()

    with pytest.raises(UserError, match=r"Worker 0 has died.*Its level: tiles = \[\[.*start = \[\d, \d\], goal = \["):
        go_on()
