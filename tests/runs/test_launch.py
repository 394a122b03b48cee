"""Which devices a run gets, and that its environment is built once on the way."""

from __future__ import annotations

import jax
import pytest

import tutelage
from tutelage.cli import main
from tutelage.envs.matrix import domain as matrix
from tutelage.runs import launch as launching
from tutelage.runs import session
from tutelage.runs.launch import DeviceRequest, Launch, Policy, launch, shared_out
from tutelage.runs.processes import Group

ALL, DEFAULT = DeviceRequest(Policy.ALL), DeviceRequest(Policy.DEFAULT)


def batches_of(levels: int, minibatches: int = 1) -> tutelage.Settings:
    changes = {"train.levels": str(levels), "ppo.minibatches": str(minibatches)}
    return tutelage.override(tutelage.preset("maze", "accel"), changes)


@pytest.fixture
def machine(monkeypatch):
    """A function that pretends so many devices of a kind. Gives the numbers that JAX is then started with."""

    def pretend(number: int, kind: str = "cpu") -> list[int]:
        started = []
        monkeypatch.setattr(launching, "start_jax", lambda group, devices: started.append(devices))
        monkeypatch.setattr(launching, "cores", lambda: list(range(number)))
        monkeypatch.setattr(jax, "device_count", lambda: number)
        monkeypatch.setattr(jax, "default_backend", lambda: kind)
        return started

    return pretend


@pytest.mark.parametrize(
    ("there", "levels", "minibatches", "used"),
    [(6, 32, 1, 4), (8, 64, 16, 4), (3, 32, 1, 2), (1, 32, 1, 1), (16, 32, 1, 4), (2, 8, 1, 1)],
)
def test_automatic_devices_are_as_many_as_can_share_the_batch(machine, there, levels, minibatches, used):
    settings = batches_of(levels, minibatches)
    assert shared_out(settings, there, fewest=8).train.devices == used
    machine(there)
    assert launch(settings, ALL).settings.train.devices == used
    before = tutelage.override(settings, {"train.devices": str(levels)} if minibatches == 1 else {})  # to be resumed
    assert launch(before, ALL).settings.train.devices == used


def test_simulators_have_the_cores_to_themselves(machine):
    machine(8)
    assert launch(tutelage.preset("walker", "dr"), ALL).settings.train.devices == 1


def test_accelerators_are_used_when_asked_for_and_cores_by_default(machine):
    machine(16, "gpu")
    assert launch(batches_of(32), ALL).settings.train.devices == 16
    assert launch(batches_of(32), DEFAULT) == Launch(batches_of(32))
    machine(2)
    assert launch(batches_of(32), DEFAULT).settings.train.devices == 2


def test_processes_that_train_together_use_what_the_settings_say(machine):
    """Each knows its own cores only, and all have to agree."""
    started = machine(4)
    group = Group("here:1", 0, 2)
    assert launch(batches_of(32), DeviceRequest(Policy.DEFAULT, group)).settings.train.devices == 1
    assert launch(batches_of(32), DeviceRequest(2, group)).settings.train.devices == 2
    launch(batches_of(32), DeviceRequest(Policy.ALL, group))
    assert started == [1, 2, 8]


@pytest.mark.parametrize(
    ("more", "used"),
    [
        ([], 4),
        (["--devices", "2"], 2),
        (["--devices", "auto"], 4),
        (["--train.devices", "2"], 2),
        (["--seeds", "2"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_new_run_has_the_devices_that_were_asked_for(machine, monkeypatch, tmp_path, more, used):
    machine(4)
    started = []
    monkeypatch.setattr(session, "train_seeds", lambda settings, *_: started.append(settings) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["train", "maze", "accel", "--run", str(tmp_path / "run"), "--quiet", *more])
    assert started[0].train.devices == used


TINY = {
    "train.levels": "4",
    "train.rollout": "4",
    "train.log-every": "2",
    "train.evaluate-every": "0",
    "train.episodes": "2",
    "ppo.epochs": "1",
    "steps": "32",
}


@pytest.mark.parametrize(
    "devices",
    [[], ["--devices", "auto"], ["--devices", "1"], ["--seeds", "2"]],
    ids=lambda value: " ".join(value) or "default",
)
def test_a_run_builds_its_environment_once(devices, monkeypatch, tmp_path):
    built = []
    build = matrix.build
    monkeypatch.setattr(matrix, "build", lambda settings: built.append(settings) or build(settings))
    tiny = [f"--{name}={value}" for name, value in TINY.items()]
    path = str(tmp_path / "run")
    assert main(["train", "matrix", "dr", *tiny, "--quiet", "--run", path, *devices]) == 0
    assert len(built) == 1
    assert main(["resume", path, "--quiet"]) == 0
    assert len(built) == 2
    tutelage.load(f"{path}/seed-0" if "--seeds" in devices else path)
    assert len(built) == 3


def test_a_run_resumes_on_its_own_devices_unless_told_otherwise(tmp_path):
    changes = {name.replace("-", "_"): value for name, value in TINY.items() if name != "steps"}
    settings = tutelage.override(tutelage.preset("matrix", "dr"), {**changes, "train.steps": "32"})
    run = tutelage.train(settings, tmp_path / "run")
    assert [again.digest for again in tutelage.resume_seeds(tmp_path / "run")] == [run.digest]
