"""Runs on racing: resumed exactly, several seeds as one program, two devices, what is logged, what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.envs.base import Brief
from tutelage.envs.racing.design import GRID, DesignEncoder, RacingDesign, free_cells
from tutelage.envs.racing.level import POINTS
from tutelage.rl.agent import Agent
from tutelage.rl.distributions import Categorical
from tutelage.rl.networks import CORES, ActorCritic
from tutelage.rollout import JaxCollector
from tutelage.runs.session import Silent
from tutelage.seeds import stack, unstack, vmap_seeds
from tutelage.types import GENERATED, REPLAYED

from . import tiny


class StopAfter(Silent):
    """Sends the signal of Ctrl-C once an iteration is done."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def advanced(self, record: Any) -> None:
        if record["iteration"] == self.iteration:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tutelage.train(tiny.settings(), tmp_path_factory.mktemp("racing") / "whole")


def test_a_run_that_was_stopped_is_the_same_run(whole, tmp_path):
    part = tutelage.train(tiny.settings(), tmp_path / "part", StopAfter(3))
    assert not part.finished
    again = tutelage.resume(tmp_path / "part")
    assert again.finished
    assert again.digest == whole.digest


def test_ice_that_the_student_meets_is_logged_by_source(whole):
    lines = (whole.directory.path / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert all(0 <= record["ice-met"] <= 1 for record in records)
    assert {"generated", "replayed"} == {
        source for source in ("generated", "replayed") for record in records if f"{source}/ice-met" in record
    }


@pytest.mark.long
def test_each_of_several_seeds_is_the_run_that_it_is_alone():
    trainer = tutelage.build(tiny.settings())
    run = tiny.some_iterations(trainer)
    first = [trainer.init(seed, shared_seed=7) for seed in range(2)]
    after, log = jax.jit(vmap_seeds(run, 2))(stack(first), ())
    alone = jax.jit(run)
    for start, *mine in zip(first, unstack(after, 2), unstack(log, 2), strict=True):
        expected, expected_log = alone(start, ())
        for found, wanted in zip(mine, (expected, expected_log), strict=True):
            same(named(found), named(wanted))
    sources = np.asarray(log.sources).argmax(axis=-1)
    np.testing.assert_array_equal(sources[0], sources[1])
    assert {GENERATED, REPLAYED} == set(sources[0].tolist())


def named(tree: Any) -> dict[str, np.ndarray]:
    """Every array but random keys, by its place."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {
        jax.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in leaves
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    }


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    """Numbers within a tolerance, because sums are added up in another order; all else exactly."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if np.issubdtype(value.dtype, np.floating):
            np.testing.assert_allclose(found[name], value, rtol=2e-3, atol=2e-4, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.long
def test_two_devices_do_what_one_does(tmp_path):
    """In a process of its own: JAX decides how many devices there are when it starts."""
    paths = os.pathsep.join([str(Path(tutelage.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2"
    surroundings = os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, tiny.__file__, str(tmp_path)], env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    one, two = (dict(np.load(tmp_path / f"{number}.npz")) for number in (1, 2))
    same(two, one)


# --- the teacher


def test_a_teacher_never_chooses_a_cell_that_is_taken():
    task, actions = RacingDesign(), Categorical(GRID**2)
    network = ActorCritic(DesignEncoder(2), CORES["none"](4), actions.outputs, head=4, allowed=free_cells)
    agent = Agent(network, actions)
    briefs = Brief(jax.random.key_data(jax.random.split(jax.random.key(0), 64)), ())
    obs = task.reset(jax.random.key(0), jax.tree.map(lambda x: x[0], briefs))[1]
    state = agent.init(jax.random.key(1), obs)
    collect = JaxCollector(task, agent, POINTS)
    rollout = jax.jit(collect)(jax.random.key(2), *jax.tree.map(lambda x: x[None], (state, briefs)))
    chosen = np.asarray(rollout.action[0])  # [T, B]
    assert all(len(set(cells)) == POINTS for cells in chosen.T)
    masked = np.isneginf(np.asarray(rollout.policy[0])).sum(axis=-1)
    np.testing.assert_array_equal(masked, np.broadcast_to(np.arange(POINTS)[:, None], masked.shape))
    assert np.isfinite(np.asarray(rollout.log_prob)).all()


def test_teachers_of_methods_have_the_mask():
    trainer = tutelage.build(tutelage.preset("racing", "paired", "fast"))
    designer: Any = trainer.curriculum
    assert designer.designer.teacher.agent.network.allowed is free_cells


# --- wrong input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["maze", "samplr"], "This environment has no hidden parameters"),
        (["racing", "samplr"], "samplr, which draws them; set env.ice to beta, set train.grounding to none, or"),
        (["racing", "dr", "--grounding", "naive"], "naive, which draws them; set env.ice to beta, set train.grounding"),
        (["racing", "dr", "--train.suite", "icy-f1-1.2"], "The share of ice q is 1.2; it is a probability"),
        (["racing", "dr", "--env.ice-alpha", "-1", "--env.ice", "beta"], "env.ice_alpha is -1.0; give a number"),
    ],
)
def test_wrong_runs_are_refused_in_a_sentence(arguments, sentence, tmp_path, capsys):
    assert main(["train", *arguments, "--run", str(tmp_path / "run")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
