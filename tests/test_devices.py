"""Several devices: one run, one buffer, the same result however the levels are split."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.devices import ONE, use
from tutelage.errors import UserError
from tutelage.runs import processes

HERE = Path(__file__).parent
LEVELS, STEPS = 8, 16
JOBS = [["dr:1,4", "accel:1,4"], ["robust-plr:1,2", "paired:1,2"]]
SPLITS = [
    (method, int(n)) for jobs in JOBS for job in jobs for method, ns in [job.split(":")] for n in ns.split(",")[1:]
]
TOLERANCE = {"rtol": 1e-4, "atol": 2e-6}
"""Devices add up their shares, so sums come in another order and differ in their last bits (about 1e-7 of them). Six
iterations of learning carry that on; a share that is forgotten or counted twice makes a difference of 1e-2 and more."""
COLLECTIVE = re.compile(r" (all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|collective-broadcast)\(")


def surroundings(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"} | more


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What happened to each method on one device and on several."""
    out = tmp_path_factory.mktemp("devices")
    flags = surroundings(XLA_FLAGS=f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4")
    commands = [[sys.executable, str(HERE / "on_devices.py"), str(out), *jobs] for jobs in JOBS]
    running = [subprocess.Popen(command, env=flags, stderr=subprocess.PIPE, text=True) for command in commands]
    complaints = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], complaints
    return out


def history(outcomes: Path, method: str, devices: int) -> dict[str, np.ndarray]:
    with np.load(outcomes / f"{method}-{devices}.npz") as file:
        return dict(file)


@pytest.mark.parametrize(("method", "devices"), SPLITS)
def test_the_result_does_not_depend_on_the_split(outcomes: Path, method: str, devices: int) -> None:
    """Proposals, played actions, the buffer and its numbers are the same; floats up to the order of summation."""
    one, several = history(outcomes, method, 1), history(outcomes, method, devices)
    shares = [value for name, value in one.items() if name.endswith("report/sources")]
    assert (
        set(np.flatnonzero(np.sum(shares, axis=0)).tolist())
        == {"dr": {0}, "robust-plr": {0, 1}, "accel": {0, 1, 2}, "paired": {0}}[method]
    )
    assert any(value for name, value in one.items() if name.endswith("report/learned"))
    assert one.keys() == several.keys()
    for name, value in one.items():
        if np.issubdtype(value.dtype, np.floating):
            np.testing.assert_allclose(several[name], value, **TOLERANCE, err_msg=name)
        else:
            np.testing.assert_array_equal(several[name], value, err_msg=name)


def test_devices_do_not_draw_the_same_numbers(outcomes: Path) -> None:
    """At first all actions are about equally likely, so equal dice would mean equal actions on every device."""
    played = history(outcomes, "dr", 4)
    shares = np.split(played["0/state/curriculum/rollout/action"][0], 4, axis=1)
    levels = np.split(played["0/state/curriculum/proposal/levels/walls"][0], 4, axis=0)
    for i in range(4):
        for j in range(i):
            assert (shares[i] == shares[j]).mean() < 0.5
            assert not np.array_equal(levels[i], levels[j])


def test_advantages_are_those_of_the_whole_batch(outcomes: Path) -> None:
    """The test above would notice: normalised by the statistics of a share, advantages are others."""
    played = history(outcomes, "dr", 4)
    reward, value, next_value, terminated = (
        played[f"0/state/curriculum/rollout/{name}"] for name in ("reward", "value", "next_value", "terminated")
    )
    gain = reward + np.where(terminated, 0, next_value) - value
    whole = (gain - gain.mean()) / gain.std()
    shares = [(share - share.mean()) / share.std() for share in np.split(gain, 4, axis=2)]
    assert np.abs(whole - np.concatenate(shares, axis=2)).max() > 0.1


def nesting(program: str) -> dict[str, int]:
    """The loops around each computation of a compiled program that has a collective, and how many such it has."""
    bodies: dict[str, list[str]] = {}
    name = ""
    for line in program.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = "ENTRY" if line.startswith("ENTRY") else line.split()[0].lstrip("%")
            bodies[name] = []
        elif name:
            bodies[name].append(line)
    depth = {"ENTRY": 0}
    todo = ["ENTRY"]
    while todo:
        here = todo.pop()
        for line in bodies[here]:
            loop = set(re.findall(r"(?:body|condition)=%?([\w.-]+)", line))
            for callee in re.findall(r"%?([\w.-]+)", line.partition("(")[2]):
                if callee in bodies and depth.get(callee, -1) < depth[here] + (callee in loop):
                    depth[callee] = depth[here] + (callee in loop)
                    todo.append(callee)
    return {name: depth[name] for name, lines in bodies.items() if any(COLLECTIVE.search(line) for line in lines)}


def test_one_device_talks_to_nobody(outcomes: Path) -> None:
    for method in ("dr", "robust-plr", "accel", "paired"):
        assert not COLLECTIVE.search((outcomes / f"{method}-1.hlo").read_text())


def test_devices_meet_once_an_update_and_never_inside_a_rollout(outcomes: Path) -> None:
    """One loop has a collective, that over epochs and minibatches: not the rollout's, nor the LSTM's forth or back."""
    program = (outcomes / "accel-4.hlo").read_text()
    loops = {name: depth for name, depth in nesting(program).items() if depth}
    assert list(loops.values()) == [1]
    body = program[program.index(f"{next(iter(loops))} (") :].partition("\n}\n")[0]
    assert [found.group(1) for found in COLLECTIVE.finditer(body)] == ["all-reduce"]


def test_every_device_plays_its_share_only(outcomes: Path) -> None:
    program = (outcomes / "accel-4.hlo").read_text()
    assert f"u8[{STEPS},1,{LEVELS // 4},3,3,3]" in program
    assert not re.search(rf"u8\[(\d+,)*{LEVELS},3,3,3\]", program)


# --- several processes

RUN = {
    "train.levels": "8",
    "train.rollout": "4",
    "train.log-every": "2",
    "train.checkpoint-every": "4",
    "train.evaluate-every": "0",
    "train.episodes": "2",
    "replay.capacity": "16",
    "ppo.epochs": "2",
    "network.core": "lstm",
    "devices": "2",
    "steps": str(12 * 8 * 4),
}
TRAIN = ["train", "matrix", "robust-plr", *[f"--{name}={value}" for name, value in RUN.items()], "--quiet"]


class Together:
    """Two processes of the command line, one device each."""

    def __init__(self, arguments: list[str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        group = [f"--coordinator=127.0.0.1:{port}", "--processes=2"]
        command = [sys.executable, "-m", "tutelage.cli", *arguments, *group]
        self.processes = [
            subprocess.Popen(
                [*command, f"--process-id={i}"],
                env=surroundings(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for i in range(2)
        ]

    def end(self) -> tuple[list[int], list[str], list[str]]:
        """Exit codes, and what was printed and complained about."""
        try:
            said = [process.communicate(timeout=300) for process in self.processes]
        finally:
            for process in self.processes:
                process.kill()
        return [process.returncode for process in self.processes], [s[0] for s in said], [s[1] for s in said]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one process with two devices."""
    path = tmp_path_factory.mktemp("alone") / "run"
    command = [sys.executable, "-m", "tutelage.cli", *TRAIN, "--run", str(path)]
    done = subprocess.run(command, env=surroundings(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


def test_two_processes_stop_together_go_on_together_and_end_where_one_does(alone: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    group = Together([*TRAIN, "--run", str(path)])
    deadline = time.monotonic() + 300
    # After the evaluation that comes first the program is compiled, which leaves time to stop it early.
    while not (path / "evaluations.jsonl").exists() and time.monotonic() < deadline:
        assert all(process.poll() is None for process in group.processes), group.end()
        time.sleep(0.02)
    group.processes[1].send_signal(signal.SIGTERM)  # not the one that keeps the directory
    codes, printed, complaints = group.end()
    assert codes == [130, 130], complaints
    assert "Stopped at iteration" in printed[0]
    assert "iteration" not in printed[1]
    assert tutelage.load(path).iteration < 12

    codes, _, complaints = Together(["resume", str(path), "--quiet"]).end()
    assert codes == [0, 0], complaints
    run, whole = tutelage.load(path), tutelage.load(alone)
    assert run.finished
    assert run.digest == whole.digest  # two summands have one order only
    lines = [
        [{**record, "seconds": 0, "steps_per_second": 0} for record in r.directory.read("metrics.jsonl")]
        for r in (run, whole)
    ]
    by_iteration = [{record["iteration"]: record for record in record_list} for record_list in lines]
    assert by_iteration[0] == by_iteration[1]

    # What the first process cannot do, no process does: a directory that is taken ends both, in one sentence.
    codes, _, complaints = Together([*TRAIN, "--run", str(path)]).end()
    assert codes == [2, 2]
    assert all("already holds a run" in complaint for complaint in complaints)


def test_a_run_of_two_devices_can_be_read_and_resumed_on_one(alone: Path) -> None:
    run = tutelage.load(alone)
    assert (run.settings.train.devices, run.trainer.devices) == (2, ONE)
    assert tutelage.resume(alone, devices=1).digest == run.digest


# --- refusals


def settings(**changes: str) -> tutelage.Settings:
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return tutelage.override(tutelage.preset("maze", "dr", "small"), {"ppo.minibatches": "1", **given})


def test_devices_must_divide_the_levels_and_the_minibatches() -> None:
    with pytest.raises(UserError, match="train.devices is 3, which does not divide the 8 levels of a batch"):
        settings(train__levels="8", train__devices="3")
    with pytest.raises(UserError, match="train.devices is 4 and ppo.minibatches is 4, and their product does not"):
        settings(train__levels="8", train__devices="4", ppo__minibatches="4")
    with pytest.raises(UserError, match="train.devices is 0; give a number greater than 0"):
        settings(train__devices="0")


def test_more_devices_than_there_are_are_refused_before_a_directory_is_made(tmp_path: Path) -> None:
    there = len(jax.devices())
    with pytest.raises(
        UserError, match=rf"and there (is|are) {there} device.*give {there} or fewer.*jax_num_cpu_devices"
    ):
        tutelage.train(settings(train__levels="64", train__devices="64"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_device_needs_no_mesh() -> None:
    assert use(1) is ONE
    tree = {"a": np.ones(3)}
    assert ONE.shard(tree) is ONE.replicate(tree) is ONE.local(tree) is tree
    assert ONE.per_device(len) is ONE.pmean(len) is len


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--processes=2"], "Several processes need --coordinator host:port"),
        (["--coordinator=here:1"], "Several processes need --coordinator host:port"),
        (["--processes=2", "--coordinator=here"], "--coordinator is 'here'; give the first process's machine"),
        (["--processes=2", "--coordinator=here:1", "--process-id=2"], "give a number from 0 to 1"),
        (["--processes=0"], "--processes is 0; give 1 or more"),
        (["--devices=three"], "three"),
    ],
)
def test_wrong_counts_are_refused(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "maze", "dr", "--preset", "small", "--run", str(tmp_path / "run"), *options]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_processes_with_different_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    processes.require_same(settings())
    monkeypatch.setattr(processes, "_gathered", lambda value: np.array([value, value + 1]))
    with pytest.raises(UserError, match="The processes were given different settings"):
        processes.require_same(settings())


def test_devices_that_processes_cannot_share_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(UserError, match="train.devices is 3, which 2 processes cannot share equally"):
        use(3)


def test_the_number_of_devices_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("tutelage.experiment.use", lambda number: asked.append(number) or ONE)
    tutelage.build(replace(settings(), train=replace(settings().train, devices=2)))
    assert asked == [2]
