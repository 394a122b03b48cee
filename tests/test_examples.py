"""The examples run: each environment trains for two iterations and goes on with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tutelage import load, override, preset, resume, train
from tutelage.checking import check

EXAMPLES = Path(__file__).parents[1] / "examples"
PACKAGES = {"corridor": "jax", "gymnax_env": "gymnax", "xland": "xminigrid", "craftax_env": "craftax"}
SMALL = {
    "train.levels": "4",
    "train.rollout": "8",
    "train.steps": "64",
    "train.episodes": "1",
    "train.evaluate_every": "0",
    "ppo.epochs": "1",
    "ppo.minibatches": "1",
    "replay.capacity": "4",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_trains(name, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES[name])
    settings = override(preset(str(EXAMPLES / f"{name}.py"), "robust-plr"), SMALL)
    # An evaluation plays episodes to their end, which in some worlds takes a thousand steps.
    monkeypatch.setattr("tutelage.runs.session.evaluate", _no_evaluation)
    run = train(settings, tmp_path / "run")
    assert run.finished
    records = run.directory.read("metrics.jsonl")
    assert np.isfinite([record["return"] for record in records]).all()
    assert resume(tmp_path / "run").digest == load(tmp_path / "run").digest == run.digest


def _no_evaluation(agent, state, suite, episodes, seed, success):
    from tutelage.evaluation.evaluate import Evaluation, TaskResult

    nothing = np.zeros(1)
    return Evaluation(suite.name, seed, (TaskResult("none", nothing, nothing.astype(int), nothing > 0),))


@pytest.mark.parametrize("name", ["gymnax_env", "xland"])
def test_an_example_keeps_its_promises(name):
    pytest.importorskip(PACKAGES[name])
    held = list(check(str(EXAMPLES / f"{name}.py")))
    assert any("does not restart" in sentence for sentence in held)


def test_stable_baselines_with_a_level_buffer():
    pytest.importorskip(
        "stable_baselines3",
        reason="torch is too large for the lock files; pip install torch, and stable-baselines3 with --no-deps",
    )
    lines = (EXAMPLES / "sb3.py").read_text().splitlines()
    assert len(lines) < 60
    command = [sys.executable, str(EXAMPLES / "sb3.py"), "--steps", "2048"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=alone).stdout.splitlines()[-1]
    kept = int(said.split()[0])
    assert kept > 32, said  # so that some were replayed
