"""Runs that diverge are stopped where they do, and said to."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tutelage
from tutelage.config import to_toml
from tutelage.errors import UserError
from tutelage.figures import Finite
from tutelage.runs.directory import METRICS, RunDirectory
from tutelage.runs.divergence import Diverged, require_finite

TINY = {
    "train.levels": "4",
    "train.rollout": "4",
    "train.log_every": "2",
    "train.evaluate_every": "4",
    "train.checkpoint_every": "4",
    "train.steps": "160",
}


def settings(**changes: str) -> tutelage.Settings:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return tutelage.override(tutelage.preset("matrix", "dr"), TINY | named)


def test_a_student_that_diverges_stops_the_run_and_names_the_iteration(tmp_path: Path) -> None:
    with pytest.raises(Diverged) as caught:
        tutelage.train(settings(ppo__learning_rate="1e38", ppo__max_grad_norm="1e30"), tmp_path / "run")
    said = str(caught.value)
    assert re.match(r"In iteration [1-4] of .*run the student has diverged: its weights are no longer finite\.", said)
    assert "There is no checkpoint before it. Lower ppo.learning_rate (it is 1e+38)" in said
    assert RunDirectory(tmp_path / "run").checkpoints() == []


def test_the_last_good_checkpoint_is_kept_and_a_mended_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    good = settings()
    stopped = tutelage.train(tutelage.override(good, {"train.steps": "64"}), path)
    assert stopped.iteration == 4
    config = path / "config.toml"
    whole = to_toml(good)
    config.write_text(to_toml(settings(ppo__learning_rate="1e38", ppo__max_grad_norm="1e30")))
    with pytest.raises(UserError, match=r"The checkpoint of iteration 4 is from before and is kept.*tutelage resume"):
        tutelage.resume(path)
    directory = RunDirectory(path)
    assert [path.name for path in directory.checkpoints()] == ["000000004.npz"]
    assert [record["iteration"] for record in directory.read(METRICS)] == [2, 4]
    config.write_text(whole)
    assert tutelage.resume(path).finished


def test_the_first_cause_is_named_with_its_seed(tmp_path: Path) -> None:
    each = [settings(train__seed=str(seed)) for seed in (0, 1)]
    runs = [RunDirectory.create(tmp_path / f"seed-{seed}", mine) for seed, mine in enumerate(each)]
    good = np.ones((2, 4), np.float32)
    bad = good.copy()
    bad[1, 2:] = 0
    require_finite(Finite(good, good, good), 8, 12, runs, each)
    # Past the end of a dispatch there is nothing, which is not finite either.
    unused = good.copy()
    unused[:, 2:] = np.nan
    require_finite(Finite(unused, unused, unused), 8, 10, runs, each)
    with pytest.raises(Diverged, match=r"In iteration 11 of .*seed-1 the environment paid a reward that is not finite"):
        require_finite(Finite(bad, bad, good), 8, 12, runs, each)
    with pytest.raises(Diverged, match=r"In iteration 11 of .*seed-1 the teacher has diverged"):
        require_finite(Finite(good, good, bad), 8, 12, runs, each)
