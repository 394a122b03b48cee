"""`train --estimate`: a few iterations, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

import tutelage
from tutelage.cli import main
from tutelage.runs.estimate import Cost, estimate

SMALL = {"train.levels": "4", "train.rollout": "4", "train.steps": "16000", "train.episodes": "2"}


def test_an_estimate_is_of_the_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    settings = tutelage.override(tutelage.preset("matrix", "robust-plr"), SMALL)
    cost = estimate(settings)
    assert cost.iterations == 1000
    assert cost.training > 0
    assert cost.evaluating > 0
    assert 0 < cost.learned < 1, "replay started at once"
    state = tutelage.build(settings).init(0)
    tutelage_bytes = sum(x.nbytes for x in jax.tree.leaves(state.students))
    assert cost.disk > 2 * tutelage_bytes
    assert cost.memory > 5e7
    assert cost.steps_per_second == pytest.approx(16 * 1000 / cost.training)
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_the_command_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    told = Cost(1000, 30.0, 7200.0, 100.0, 2e9, 5e6, 0.5, 1234.0)
    monkeypatch.setattr("tutelage.runs.estimate.estimate", lambda settings, domain: told)
    assert main(["train", "matrix", "dr", "--estimate", "--devices", "1"]) == 0
    said = capsys.readouterr().out
    assert "time    2.0 h for 1,000 iterations (2 min of it for evaluations), after 30 s of compiling" in said
    assert "memory  2.00 GB" in said
    assert not (tmp_path / "runs").exists()
