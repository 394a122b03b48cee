"""Every method trains on the walker, and goes on exactly where it was stopped."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.envs.walker.level import check
from tutelage.hosts.fleet import close_all
from tutelage.methods.registry import names
from tutelage.runs import checkpoint

SMALL = {
    "train.levels": "4",
    "train.rollout": "10",
    "ppo.minibatches": "2",
    "ppo.epochs": "2",
    "network.head": "8",
    "env.workers": "1",
    "env.max_steps": "7",
}
BUFFER = {"replay.capacity": "8", "replay.min_fill": "0.5"}
EXTRA = {
    "population-paired": {"adversary.students": "2"},
    "tscl": {"train.training_set": "8"},
    "sfl": {"scan.candidates": "4", "scan.keep": "2"},
    "alp-gmm": {"mixture.fit_every": "8", "mixture.most": "3", "mixture.history": "16"},
}


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays():
    yield
    close_all()


def trainer_of(method: str) -> Any:
    settings = tutelage.preset("walker", method)
    changes = SMALL | EXTRA.get(method, {}) | (BUFFER if hasattr(settings.curriculum, "replay") else {})
    return tutelage.build(tutelage.override(settings, changes))


@pytest.mark.parametrize("method", [name for name in names() if name != "samplr"])
def test_every_method_trains_and_resumes_exactly(method: str) -> None:
    """All but SAMPLR, which needs hidden parameters. Two iterations, new simulators, two more: the same state, bit for
    bit, as after four in one go.
    """
    trainer = trainer_of(method)
    start = trainer.init(0)
    run = tutelage.compiled(trainer, 4)
    whole, log = run(start, 4)
    assert all(np.isfinite(log.metrics["return"]))
    assert np.nansum(log.learned) >= 1
    half, _ = run(start, 2)
    close_all()
    again, _ = run(half, 2)
    assert checkpoint.digest(again) == checkpoint.digest(whole)
    before, after = (jax.tree.leaves(state.students.agent.params) for state in (start, whole))
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    levels = jax.device_get(trainer.curriculum.generate(jax.random.key(1), whole.curriculum))
    for i in range(4):
        check(jax.tree.map(lambda x, i=i: np.asarray(x)[0, i], levels))
