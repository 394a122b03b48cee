"""An exported student acts as the student does, action for action: in numpy, as a program of JAX, in ONNX."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.player import Player, read
from tutelage.runs.directory import RunDirectory
from tutelage.runs.export import export
from tutelage.runs.session import Run
from tutelage.runs.students import read_student

IMAGE = """
import jax, jax.numpy as jnp, tutelage

def see(state):
    image = jax.random.randint(jax.random.key(0), (17, 20, 3), 0, 256, jnp.uint8)
    return {"image": image + state.astype(jnp.uint8), "speed": jnp.float32(state)[None]}

environment = tutelage.Jax(
    reset=lambda key, level: (jnp.int32(0), see(jnp.int32(0))),
    step=lambda key, state, action: (state + 1, see(state + 1), 0.0, False, state > 4),
    actions=ACTIONS, sample=lambda key: jax.random.uniform(key), max_steps=6, encoder=tutelage.ImageEncoder(KIND),
)
"""
CASES = {
    "maze, LSTM": ("maze", {}),
    "maze, GRU": ("maze", {"network.core": "gru", "network.activation": "tanh"}),
    "maze, feed-forward": ("maze", {"network.core": "none"}),
    "rooms": ("minigrid", {}),
    "walker, normalised": ("walker", {"ppo.normalise_observations": "true"}),
    "walker, beta": ("walker", {"network.policy": "beta"}),
    "images": ("small", {}),
    "images, IMPALA, numbers": ("impala", {"network.core": "lstm"}),
    "game": ("matrix", {}),
}


@pytest.fixture(params=CASES, ids=lambda case: case.replace(", ", "-"))
def run(request, tmp_path, random_state) -> Run:
    """A run whose student was never trained, and has weights of every size."""
    where, changes = CASES[request.param]
    if where in ("small", "impala"):
        file = tmp_path / f"{where}.py"
        actions = "3" if where == "small" else "tutelage.Continuous(2)"
        file.write_text(IMAGE.replace("ACTIONS", actions).replace("KIND", repr(where)))
        tutelage.trust(file)
        settings = tutelage.preset(str(file), "dr")
    else:
        settings = tutelage.preset(where, "dr")
    settings = tutelage.override(settings, {"train.levels": "8", "network.head": "8", **changes})
    if settings.network.core != "separate":
        settings = tutelage.override(settings, {"network.width": "12"})
    trainer = tutelage.build(settings)
    observation = observations(trainer.domain, 1)[0]
    state = random_state(trainer.learner.agent, observation, seed=5)
    state = state._replace(params=jax.tree.map(lambda x: x / np.sqrt(np.prod(x.shape[:-1]) + 1), state.params))
    if state.observations:
        rng = np.random.default_rng(0)
        state = state._replace(
            observations=jax.tree.map(lambda x: rng.uniform(1, 2, x.shape).astype(np.float32), state.observations)
        )
    whole = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    students = type("Students", (), {"product": whole})()
    return Run(RunDirectory(tmp_path), settings, trainer, type("State", (), {"students": students})(), 3)


def observations(domain, number: int) -> list:
    """Made up, each unlike the others, of the shapes and dtypes of the environment's."""
    from tutelage.envs.base import observation_spec

    spec = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, jax.random.key(0)))
    rng = np.random.default_rng(1)

    def made(x):
        if np.issubdtype(x.dtype, np.floating):
            return rng.normal(size=x.shape).astype(x.dtype)
        return rng.integers(0, 200 if x.shape and x.shape[0] > 16 and len(x.shape) == 3 else 4, x.shape).astype(x.dtype)

    return [jax.tree.map(made, spec) for _ in range(number)]


def expected(run: Run, seen: list) -> tuple[np.ndarray, list]:
    """The policy's parameters at each step of an episode, and the likeliest actions."""
    agent, state = run.agent, run.student()
    memory, found, actions = agent.initial_carry(1), [], []
    for t, obs in enumerate(seen):
        noise = agent.noise(jax.random.key(t), 1)
        obs = jax.tree.map(lambda x: jnp.asarray(x)[None], obs)
        memory, decision = agent.act(state, noise, memory, obs, jnp.array([t == 0]))
        found.append(np.asarray(decision.policy[0]))
        actions.append(np.asarray(agent.actions.mode(decision.policy)[0]))
    return np.stack(found), actions


def test_the_player_acts_as_the_student(run: Run, tmp_path: Path):
    seen = observations(run.domain, 6)
    policies, actions = expected(run, seen)
    files = export(run, tmp_path / "out" / "student.safetensors")
    player = Player(files.weights)
    for _ in range(2):  # after a reset as at first
        player.reset()
        played = np.stack([player.policy(tuple(jax.tree.leaves(obs)) if many(obs) else leaf(obs)) for obs in seen])
        np.testing.assert_allclose(played, policies, rtol=2e-4, atol=2e-5)
    player.reset()
    for obs, action in zip(seen, actions, strict=True):
        chosen = player.act(tuple(jax.tree.leaves(obs)) if many(obs) else leaf(obs), greedy=True)
        np.testing.assert_allclose(chosen, action, rtol=1e-3, atol=1e-4)
    assert np.isfinite(player.act(tuple(jax.tree.leaves(seen[0])) if many(seen[0]) else leaf(seen[0]))).all()

    import safetensors.numpy as safetensors

    theirs, ours = safetensors.load_file(files.weights), read(files.weights)[0]
    assert set(theirs) == set(ours)
    for name, tensor in ours.items():
        np.testing.assert_array_equal(theirs[name], tensor)


def test_a_file_is_the_whole_student(run: Run, tmp_path: Path):
    files = export(run, tmp_path / "out" / "student.safetensors")
    student = read_student(files.weights)
    assert (student.name, student.settings) == ("student", run.settings)
    theirs, ours = jax.tree.flatten(student.state), jax.tree.flatten(run.student())
    assert theirs[1] == ours[1]
    for mine, original in zip(theirs[0], ours[0], strict=True):
        assert mine.dtype == original.dtype
        np.testing.assert_array_equal(mine, original)


def many(obs) -> bool:
    return len(jax.tree.leaves(obs)) > 1


def leaf(obs):
    return jax.tree.leaves(obs)[0]


def test_onnx_acts_as_the_student(run: Run, tmp_path: Path):
    import onnxruntime as runtime

    seen = observations(run.domain, 4)
    policies, _ = expected(run, seen)
    files = export(run, tmp_path / "student.safetensors", onnx=tmp_path / "student.onnx")
    session = runtime.InferenceSession(str(files.onnx), providers=["CPUExecutionProvider"])
    memory = {entry.name: np.zeros(entry.shape, np.float32) for entry in session.get_inputs() if entry.name == "memory"}
    for obs, policy in zip(seen, policies, strict=True):
        given = {f"obs_{i}": array for i, array in enumerate(jax.tree.leaves(obs))}
        chosen, *after = session.run(None, given | memory)
        np.testing.assert_allclose(chosen, policy, rtol=2e-4, atol=2e-5)
        memory = {"memory": after[0]} if after else {}


@pytest.mark.parametrize("run", ["maze, LSTM", "images"], indirect=True)
def test_a_program_of_jax_acts_as_the_student(run: Run, tmp_path: Path):
    seen = observations(run.domain, 3)
    policies, _ = expected(run, seen)
    files = export(run, tmp_path / "student.safetensors", program=tmp_path / "student.jax")
    assert files.program is not None
    program = jax.export.deserialize(bytearray(files.program.read_bytes()))
    memory = [np.zeros(x.shape[1:], np.float32) for x in jax.tree.leaves(run.agent.initial_carry(1))]
    for t, (obs, policy) in enumerate(zip(seen, policies, strict=True)):
        memory, chosen, _ = program.call(memory, jax.tree.leaves(obs), jnp.array(t == 0))
        np.testing.assert_allclose(chosen, policy, rtol=1e-5, atol=1e-6)


def test_the_player_is_a_page_that_needs_numpy_only():
    path = Path(tutelage.__file__).parent / "player.py"
    tree = ast.parse(path.read_text())
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {"json", "pathlib", "numpy"}
    assert len(path.read_text().splitlines()) < 150


def test_the_command_writes_a_file_that_plays_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    settings = tutelage.override(
        tutelage.preset("maze", "dr", "small"),
        {"train.levels": "2", "train.rollout": "4", "train.steps": "8", "train.episodes": "1", "ppo.epochs": "1"},
    )
    settings = replace(settings, train=replace(settings.train, evaluate_every=0))
    tutelage.train(settings, tmp_path / "run")
    out = tmp_path / "elsewhere" / "mine.safetensors"
    assert main(["export", str(tmp_path / "run"), "--out", str(out)]) == 0
    assert f"Wrote {out}, {out.with_name('player.py')}." in capsys.readouterr().out
    spec = json.loads(read(out)[1]["tutelage"])
    assert [entry["name"] for entry in spec["observation"]] == ["image", "direction"]
    code = (
        "import numpy as np; from player import Player; p = Player('mine.safetensors');"
        "obs = {'image': np.zeros((5, 5, 3), np.uint8), 'direction': 1};"
        "print(p.act(obs, greedy=True), sum(m in __import__('sys').modules for m in ('jax', 'tutelage')))"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        cwd=out.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert int(said[0]) in range(7)
    assert said[1] == "0"
    assert main(["export", str(tmp_path / "run"), "--out", "a.bin"]) == 2
    assert "ends with .safetensors" in capsys.readouterr().err
