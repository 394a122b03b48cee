"""A user's own environment: the documented example as a new user would try it, and every mistake as a sentence."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.hosts.fleet import close_all
from tutelage.runs import checkpoint
from tutelage.runs.session import Silent

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"
SMALL = {"train.levels": "4", "train.rollout": "16", "ppo.minibatches": "2", "env.workers": "1"}


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    """The page's example, copied into an empty folder."""
    codes = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = (code for code in codes if "tutelage.Gymnasium(" in code)
    path = tmp_path_factory.mktemp("user") / "cartpole.py"
    path.write_text(code)
    yield path
    close_all()


def test_the_example_is_of_about_thirty_lines(example: Path) -> None:
    assert len([line for line in example.read_text().splitlines() if line.strip()]) <= 32


def test_a_new_user_trains_looks_and_goes_on(example: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(example.parent)
    options = [f"--{name}={value}" for name, value in SMALL.items()]
    buffer = ["--replay.capacity=8", "--replay.min-fill=0.5", "--train.episodes=3", "--train.checkpoint-every=4"]
    assert main(["train", "cartpole.py", "robust-plr", "--steps=512", "--quiet", *options, *buffer]) == 0
    run = tutelage.load("runs/cartpole-robust-plr-s0")
    assert run.finished
    assert run.settings.environment == str(example)
    assert main(["eval", "runs/cartpole-robust-plr-s0", "--episodes=3"]) == 0
    assert main(["show", "runs/cartpole-robust-plr-s0"]) == 0
    assert main(["report", "runs/cartpole-robust-plr-s0", "--no-pictures"]) == 0
    metrics = run.directory.read("metrics.jsonl")
    assert any(record["learned"] for record in metrics)
    assert 1 <= metrics[-1]["level/gravity"] <= 50
    assert "action-complexity" in metrics[-1]
    assert "fresh" in capsys.readouterr().out


def test_a_student_with_a_memory_plays_outside_of_jax(example: Path) -> None:
    """Any core goes with any encoder; what it remembers starts anew with every episode."""
    path = example.with_name("remembering.py")
    network = 'network=tutelage.NetworkSettings(core="lstm", width=16)'
    path.write_text(example.read_text().replace("success=475", f"success=475, {network}"))
    settings = tutelage.override(tutelage.preset(str(path), "dr"), SMALL)
    assert settings.network == tutelage.NetworkSettings(core="lstm", width=16)
    trainer = tutelage.build(settings)
    start = trainer.init(0)
    after, log = tutelage.compiled(trainer, 2)(start, 2)
    assert np.isfinite(log.metrics["return"]).all()
    assert log.learned.tolist() == [1, 1]
    core = [state.students.agent.params["params"]["core"]["kernel"] for state in (start, after)]
    assert core[0].shape == (1, 4 + 16, 4 * 16)
    assert not np.array_equal(*core)


FRAGILE = """
import gymnasium, jax, numpy as np, os, pathlib, tutelage
from gymnasium import spaces

class Env(gymnasium.Env):
    observation_space = spaces.Box(-9, 9, (2,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.uniform(-1, 1, 2).astype(np.float32) + float(options["level"])
        return self.at, {}

    def step(self, action):
        if pathlib.Path(__file__).with_name("broken").exists():
            os._exit(7)
        self.at = self.at + action
        return self.at, -float(np.abs(self.at).sum()), False, bool(np.abs(self.at).max() > 3), {}

environment = tutelage.Gymnasium(make=Env, sample=jax.random.uniform, settings={"network.policy": "beta"})
"""


class Saboteur(Silent):
    """Breaks the simulator after some iterations."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def advanced(self, record: Mapping[str, Any]) -> None:
        if record["iteration"] == 3:
            self.flag.touch()


def test_a_simulator_that_dies_ends_the_run_and_leaves_its_last_checkpoint(tmp_path: Path) -> None:
    path, flag = tmp_path / "fragile.py", tmp_path / "broken"
    path.write_text(FRAGILE)
    changes = {**SMALL, "train.steps": "320", "train.checkpoint_every": "2", "train.episodes": "2"}
    settings = tutelage.override(tutelage.preset(str(path), "dr"), changes)
    undisturbed = tutelage.train(settings, tmp_path / "whole")
    with pytest.raises(
        tutelage.UserError, match=r"Worker 0 has died \(exit code 7\) while playing .* Its level: level ="
    ):
        tutelage.train(settings, tmp_path / "run", Saboteur(flag))
    assert tutelage.load(tmp_path / "run").iteration == 2
    flag.unlink()
    resumed = tutelage.resume(tmp_path / "run")
    assert resumed.finished
    assert resumed.digest == undisturbed.digest


def test_accel_on_the_example_resumes_exactly(example: Path) -> None:
    """Also with simulators that were started anew, as another process has them."""
    changes = {**SMALL, "replay.capacity": "8", "replay.min_fill": "0.5"}
    trainer = tutelage.build(tutelage.override(tutelage.preset(str(example), "accel"), changes))
    run = tutelage.compiled(trainer, 6)
    whole, log = run(trainer.init(0), 6)
    assert (log.sources.max(axis=0) == 1).all()  # generated, replayed and edited
    half, first = run(trainer.init(0), 3)
    np.testing.assert_array_equal(np.isnan(first.metrics["return"]), [False] * 3 + [True] * 3)
    close_all()
    again, second = run(half, 3)
    assert checkpoint.digest(again) == checkpoint.digest(whole)
    parts = [part.metrics["return"][:3] for part in (first, second)]
    np.testing.assert_array_equal(np.concatenate(parts), log.metrics["return"])
    assert int(again.students.agent.observations.number[0]) == np.nansum(log.learned) * trainer.steps_per_iteration


SEEING = """
import gymnasium, jax, numpy as np, tutelage
from gymnasium import spaces

class Env(gymnasium.Env):
    observation_space = spaces.Dict({{"image": spaces.Box(0, 255, (4, 4, 3), np.uint8), "mode": spaces.Discrete(3)}})
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = int(10 * options["level"])
        return self._observation(), {{}}

    def step(self, action):
        self.time += 1
        return self._observation(), float(action), False, self.time >= 12, {{}}

    def _observation(self):
        return {observation}

environment = tutelage.Gymnasium(make=Env, sample=jax.random.uniform)
"""


def test_a_student_sees_a_dictionary_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "seeing.py"
    observation = '{"image": np.full((4, 4, 3), self.time, np.uint8), "mode": self.time % 3}'
    path.write_text(SEEING.format(observation=observation))
    changes = {**SMALL, "train.steps": "192", "train.episodes": "2"}
    settings = tutelage.override(tutelage.preset(str(path), "dr"), changes)
    run = tutelage.train(settings, tmp_path / "run")
    assert run.finished
    seen = run.state.students.agent.observations
    assert jax.tree.map(np.shape, {name: moments.mean for name, moments in seen.items()}) == {
        "image": (1, 4, 4, 3),
        "mode": (1, 3),
    }
    assert (seen["image"].mean > 0).all()
    np.testing.assert_allclose(seen["mode"].mean.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ('{"image": np.zeros((4, 3), np.uint8), "mode": 0}', "gives 'image' in observations of the shape (4, 3), and"),
        ('{"image": np.zeros((4, 4, 3), np.uint8)}', "an observation has no 'mode', and the observation space has"),
        ('{"image": np.zeros((4, 4, 3), np.uint8), "mode": None}', "reset() in"),
    ],
    ids=["shape", "missing", "not of the space"],
)
def test_a_mistake_in_an_entry_of_an_observation_is_a_sentence(tmp_path: Path, observation: str, words: str) -> None:
    path = tmp_path / "seeing.py"
    path.write_text(SEEING.format(observation=observation))
    with pytest.raises(tutelage.UserError, match=re.escape(words)):
        tutelage.build(tutelage.preset(str(path), "dr"))


BROKEN = """
import gymnasium, jax, numpy as np, tutelage
from gymnasium import spaces

class Env(gymnasium.Env):
    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = {actions}

    def reset(self, *, seed=None{options}):
        {look}
        return np.zeros({shape}, np.float32), {{}}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, True, {{}}

environment = tutelage.Gymnasium(make=Env, sample=lambda key: jax.random.uniform(key, (3,)){more})
"""
GOOD = {
    "actions": "spaces.Discrete(2)",
    "options": ", options=None",
    "look": 'options["level"]',
    "shape": "2",
    "more": "",
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": ""}, "cannot take a level: its reset() has no 'options'"),
        ({"look": "pass"}, 'takes no notice of its level: reset() does not read options["level"]'),
        ({"look": 'raise ValueError("pole of length -1") if options["level"][0] < 2 else 0'}, "pole of length -1"),
        ({"shape": "5"}, "observations of the shape (5,), and observation_space says (2,)"),
        ({"actions": "spaces.MultiBinary(3)"}, "The action space is MultiBinary(3), which no policy here can model"),
        ({"more": ", edit=lambda key, level: level[:2]"}, "edit() in"),
        ({"more": ", tests={'hard': np.zeros(7, np.float32)}"}, "The test level 'hard' in"),
        ({"more": ", bounds=([0, 0], [1, 1])"}, "bounds are for levels that are one vector"),
        ({"more": ", bounds=([0, 0, 2], [1, 1, 1])"}, "second is higher in every entry"),
        ({"more": ", settings={'train.stepz': '1M'}"}, "There is no setting called 'train.stepz'"),
    ],
    ids=[
        "no options",
        "level not read",
        "level outside",
        "shape",
        "actions",
        "edit",
        "tests",
        "bounds",
        "order",
        "settings",
    ],
)
def test_a_mistake_in_an_environment_is_a_sentence(tmp_path: Path, capsys, change: dict[str, str], words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(BROKEN.format(**GOOD | change))
    assert main(["train", str(path), "dr", "--run", str(tmp_path / "run"), "--quiet"]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_package", "mine.py, line 1 could not be run: ModuleNotFoundError"),
        ("\n\nx = (", "mine.py, line 3 could not be run: SyntaxError"),
        ("x = 1", "mine.py defines no environment"),
        ("environment = 3", "is of type int; make it a tutelage.Gymnasium(...)"),
    ],
)
def test_a_mistake_in_a_file_is_a_sentence(tmp_path: Path, capsys, code: str, words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(code))
    assert main(["train", str(path), "dr"]) == 2
    assert words in capsys.readouterr().err


def test_what_a_file_cannot_do_is_refused_in_a_sentence(tmp_path: Path, capsys) -> None:
    path = tmp_path / "mine.py"
    path.write_text(BROKEN.format(**GOOD))
    where = ["--run", str(tmp_path / "run"), "--quiet"]
    for words, *arguments in [
        ("has no edit function, and replayed levels are changed by it", str(path), "accel"),
        ("has no design task, and a teacher builds its levels", str(path), "paired"),
        ("has no levels that are vectors, and Gaussians are fitted to them", str(path), "alp-gmm"),
        ("There is no file", str(tmp_path / "other.py"), "dr"),
        ("train.devices is 2, and this environment is played outside of JAX", str(path), "dr", "--devices", "2"),
        ("need an environment that is written in JAX", str(path), "dr", "--seeds", "2"),
        ("There is no suite called 'hard'", str(path), "dr", "--train.suite", "hard"),
    ]:
        assert main(["train", *arguments, *where]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["alp-gmm", "tscl"])
def test_levels_that_are_vectors_suit_methods_that_fit_them(tmp_path: Path, method: str) -> None:
    path = tmp_path / "vectors.py"
    path.write_text(BROKEN.format(**GOOD | {"more": ", bounds=([0, 0, 0], [1, 2, 3])"}))
    changes = {**SMALL, "train.training_set": "8"} if method == "tscl" else {**SMALL, "mixture.fit_every": "20"}
    trainer = tutelage.build(tutelage.override(tutelage.preset(str(path), method), changes))
    levels = trainer.propose(trainer.init(0))[1].levels
    assert levels.shape == (1, 4, 3)
    assert (levels >= 0).all()
    assert (levels <= np.array([1, 2, 3])).all()


def test_levels_of_any_structure_reach_the_environment(example: Path) -> None:
    domain = tutelage.build_domain(tutelage.preset(str(example), "dr"))
    level = domain.levels.sample(jax.random.key(0))
    assert domain.levels.edit is not None
    edited = domain.levels.edit(jax.random.key(1), level, 5)
    assert jax.tree.structure(edited) == jax.tree.structure(level)
    assert set(domain.levels.metrics(level)) == {"gravity", "length"}
    assert list(domain.suites) == ["fresh"]
