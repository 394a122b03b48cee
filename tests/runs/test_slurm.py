"""A study as jobs of SLURM, with submitit's executor for one machine in the place of a cluster."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tutelage.errors import UserError
from tutelage.runs import engines, study
from tutelage.runs.slurm import Slurm, options_of
from tutelage.runs.study import State
from tutelage.runs.worker import STOPPED

from .made_studies import COMMAND, Watcher, parsed

submitit = pytest.importorskip("submitit")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def begin(path: Path, jobs: int | None = 2) -> Slurm:
    return Slurm.begin(jobs, COMMAND, path, {"cluster": "local", "timeout_min": 5})


def test_runs_are_jobs_that_end_as_processes_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_FAIL", "plr/s1")
    watcher = Watcher()
    with study.opened(parsed(), tmp_path / "study") as runs:
        states = study.run_all(tmp_path / "study", runs, begin(tmp_path / "study"), watcher, pause=0.05)
    ended = {run.plan.name: state for run, state in states.items()}
    failed = ended.pop("plr/s1")
    assert failed is State.FAILED
    assert set(ended.values()) == {State.FINISHED}
    assert watcher.most <= 2
    assert "something broke" in (tmp_path / "study" / "plr" / "s1.log").read_text()
    assert "dr/s0" in (tmp_path / "study" / "dr" / "s0.log").read_text()


@pytest.mark.parametrize("interrupts", [signal.default_int_handler, signal.SIG_IGN])
def test_a_job_that_is_cancelled_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupts: Any):
    """Also by a study in the background of a script, where shells have interrupts ignored."""
    monkeypatch.setenv("FAKE_WAIT", "dr/s0")
    run = tmp_path / "dr" / "s0"
    (run / "checkpoints").mkdir(parents=True)
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        job: Any = begin(tmp_path).start(run, tmp_path / "dr" / "s0.log", 0)
    finally:
        signal.signal(signal.SIGINT, before)
    while not (run / "metrics.jsonl").exists() and job.poll() is None:
        time.sleep(0.05)
    assert job.poll() is None
    job.stop()
    while (status := job.poll()) is None:
        time.sleep(0.05)
    assert status == STOPPED
    assert job.job.state == "INTERRUPTED"  # and not at its time limit, as a job that does not hear us


def test_what_is_wrong_is_said(tmp_path: Path):
    assert options_of(["partition=gpu", "timeout_min=60"]) == {"partition": "gpu", "timeout_min": 60}
    with pytest.raises(UserError, match="give an option of SLURM as NAME=VALUE"):
        options_of(["gpu"])
    with pytest.raises(UserError, match="There is no SLURM here"):
        engines.engine("slurm", 1, (), tmp_path, ())
    with pytest.raises(UserError, match="SLURM was not given what it can use"):
        Slurm.begin(1, COMMAND, tmp_path, {"cluster": "local", "mem_gb": "much"})
