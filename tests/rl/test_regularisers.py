"""Regularised learning from its settings: what is built, what is refused, and runs that go on as if never stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.config import describe, idle
from tutelage.errors import UserError
from tutelage.rl.augmentations import AUGMENTATIONS
from tutelage.rl.distributions import Categorical
from tutelage.rl.drac import UCB, DrAC, UCBDrAC
from tutelage.rl.mixreg import Mixreg
from tutelage.rl.ppo import PPO, ppo_learner
from tutelage.rl.regularisers import regularisers
from tutelage.runs.session import Silent
from tutelage.settings import PPOSettings, RegulariserSettings

from .made_images import OBS, agent, images

ROOT = Path(__file__).parents[2]
LAMPS = """
import flax.linen as nn
import jax, jax.numpy as jnp, tutelage

SIDE = 16

class Eyes(nn.Module):
    @nn.compact
    def __call__(self, image):
        x = image[:, ::4, ::4].astype(jnp.float32) / 255.0
        return nn.tanh(nn.Dense(8)(x.reshape(x.shape[0], -1)))

def observe(state):
    image = jnp.full((SIDE, SIDE, 3), 40, jnp.uint8)
    return image.at[:, state["lamp"] * 4].set(jnp.uint8(220)).at[0, state["time"]].set(jnp.uint8(120))

def reset(key, level):
    state = {"lamp": level["lamp"], "time": jnp.int32(0)}
    return state, observe(state)

def step(key, state, action):
    right = action == state["lamp"]
    state = {**state, "time": state["time"] + 1}
    return state, observe(state), 1.0 * right, right & (state["time"] > 2), state["time"] >= 6

environment = tutelage.Jax(
    sample=lambda key: {"lamp": jax.random.randint(key, (), 0, 3)}, reset=reset, step=step, actions=3, max_steps=6,
    encoder=Eyes(),
)
"""
SMALL = {
    "train.levels": "4",
    "train.rollout": "6",
    "train.steps": str(10 * 4 * 6),
    "train.log_every": "1",
    "train.checkpoint_every": "3",
    "train.evaluate_every": "0",
    "train.episodes": "2",
    "ppo.minibatches": "2",
    "ppo.epochs": "1",
    "ppo.normalise_observations": "false",
    "network.head": "4",
}


@pytest.fixture(scope="module")
def lamps(tmp_path_factory) -> Path:
    """A small environment of images."""
    path = tmp_path_factory.mktemp("lamps") / "lamps.py"
    path.write_text(LAMPS)
    return path


def settings(path: Path, method: str = "dr", **changes: str) -> tutelage.Settings:
    given = SMALL | {f"regulariser.{name}": value for name, value in changes.items()}
    return tutelage.override(tutelage.preset(str(path), method), given)


# --- what is built


def test_terms_are_those_of_the_settings(lamps):
    def terms(**changes: str) -> Any:
        made = tutelage.build(settings(lamps, **changes)).learner.terms
        assert isinstance(made[0], PPO)
        return made[1:]

    actions = Categorical(3)
    assert terms() == terms(kind="none") == ()
    assert terms(kind="drac") == (DrAC(actions, ("crop",), 0.1, "exact"),)
    chosen = terms(kind="drac", augmentation="cutout-color", weight="0.3", divergence="sampled")
    assert chosen == (DrAC(actions, ("cutout-color",), 0.3, "sampled"),)
    every = DrAC(actions, tuple(AUGMENTATIONS), 0.1, "exact")
    assert terms(kind="ucb-drac") == (UCBDrAC(every, UCB(8, 0.1, 10, True, 100)),)
    bandit = UCB(8, 0.2, 4, False, 9)
    given = {"exploration": "0.2", "window": "4", "try_all": "false", "memory": "9"}
    assert terms(kind="ucb-drac", **given)[0].bandit == bandit
    assert terms(kind="mixreg") == (Mixreg(0.01, False),)
    assert terms(kind="mixreg", beta_shape="0.2", renormalise="true") == (Mixreg(0.2, True),)


def test_arms_that_do_not_suit_the_images_are_left_out():
    def arms(*shape: int) -> set[str]:
        spec = jax.ShapeDtypeStruct(shape, np.uint8)
        (term,) = regularisers(RegulariserSettings("ucb-drac"), Categorical(3), spec)
        assert isinstance(term, UCBDrAC)
        assert term.bandit.arms == len(term.drac.arms)
        return set(AUGMENTATIONS) - set(term.drac.arms)

    assert arms(16, 16, 3) == arms(20, 20, 9) == set()
    assert arms(16, 20, 3) == {"rotate"}
    assert arms(16, 16, 1) == {"grayscale", "color-jitter"}


def test_teachers_that_learn_do_so_without(monkeypatch):
    monkeypatch.setattr("tutelage.experiment._regularisers", lambda *_: (Mixreg(),))
    trainer = tutelage.build(tutelage.preset("maze", "paired", "small"))
    teacher: Any = trainer.curriculum
    assert [type(term) for term in trainer.learner.terms] == [PPO, Mixreg]
    assert [type(term) for term in teacher.designer.teacher.terms] == [PPO]


# --- what is refused


@pytest.mark.parametrize(("environment", "kind"), [("maze", "drac"), ("matrix", "ucb-drac"), ("maze", "mixreg")])
def test_observations_without_images_are_refused_when_it_is_built(environment, kind):
    chosen = tutelage.override(tutelage.preset(environment, "dr"), {"regulariser.kind": kind})
    sentence = f"regulariser.kind is {kind}, which changes images, and there is none in an observation of .*uint8"
    with pytest.raises(UserError, match=sentence):
        tutelage.build(chosen)


def test_what_does_not_suit_an_image_is_refused():
    chosen = RegulariserSettings("drac", augmentation="rotate")
    with pytest.raises(UserError, match="regulariser.augmentation is rotate, which turns squares, .* 16x20 .*crop"):
        regularisers(chosen, Categorical(3), jax.ShapeDtypeStruct((16, 20, 3), np.uint8))


def test_normalised_observations_are_refused(lamps):
    with pytest.raises(UserError, match="regulariser.kind is drac, .* ppo.normalise_observations"):
        tutelage.override(settings(lamps, kind="drac"), {"ppo.normalise_observations": "true"})


IMPOSSIBLE = [("weight", -1.0), ("exploration", -0.1), ("window", 0), ("memory", -1), ("memory", 7), ("beta_shape", 0)]


@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE)
def test_impossible_numbers_are_refused(name, value):
    with pytest.raises(UserError, match=f"regulariser.{name} is {value}; give"):
        RegulariserSettings("drac", **{name: value})


def test_help_lists_what_is_read_and_the_rest_is_refused(lamps):
    def shown(kind: str) -> set[str]:
        listed = {name for name, *_ in describe(settings(lamps, kind=kind), unread=False)}
        return {name.removeprefix("regulariser.") for name in listed if name.startswith("regulariser.")} - {"kind"}

    assert shown("none") == set()
    assert shown("drac") == {"augmentation", "weight", "divergence"}
    assert shown("ucb-drac") == {"weight", "divergence", "exploration", "window", "try_all", "memory"}
    assert shown("mixreg") == {"beta_shape", "renormalise"}
    with pytest.raises(UserError, match="regulariser.augmentation is not read, because regulariser.kind is ucb-drac"):
        settings(lamps, kind="ucb-drac", augmentation="flip")
    for kind in ("none", "drac", "ucb-drac", "mixreg"):
        chosen = settings(lamps, kind=kind)
        named = {f"regulariser.{name}" for name in shown(kind)}
        assert named.isdisjoint(idle(chosen))
        assert tutelage.config.from_toml(tutelage.config.to_toml(chosen), settings(lamps)) == chosen


def test_the_page_has_the_defaults():
    page = (ROOT / "docs" / "regularisers.md").read_text()
    for field in fields(RegulariserSettings):
        assert f"| `regulariser.{field.name}` | {str(field.default).lower()} |" in page
    assert all(f"| `{name}` |" in page for name in AUGMENTATIONS)


# --- what is used

OTHER = {
    "kind": "none",
    "augmentation": "flip",
    "weight": 0.5,
    "divergence": "sampled",
    "exploration": 2.0,
    "window": 3,
    "try_all": False,
    "memory": 0,
    "beta_shape": 0.5,
    "renormalise": True,
}


@pytest.mark.parametrize("name", [field.name for field in fields(RegulariserSettings)])
def test_every_setting_changes_the_update(name):
    def program(chosen: RegulariserSettings) -> str:
        student = agent()
        learner = ppo_learner(student, PPOSettings(), more=regularisers(chosen, student.actions, OBS))
        state = jax.eval_shape(learner.init, jax.random.key(0), OBS)
        traced = jax.make_jaxpr(learner.update)(jax.random.key(0), state, images(), jnp.float32(0))
        return re.sub(r" at 0x[0-9a-f]+", "", str(traced))

    read = [kind for kind in ("drac", "ucb-drac", "mixreg") if name not in RegulariserSettings(kind).idle()]
    assert read
    for kind in read:
        base = RegulariserSettings(kind)
        assert program(base) == program(RegulariserSettings(kind))
        assert program(base) != program(replace(base, **{name: OTHER[name]}))


# --- runs


class Stopping(Silent):
    def advanced(self, record: Any) -> None:
        if record["iteration"] == 7:
            raise KeyboardInterrupt


def test_a_bandit_that_was_stopped_goes_on_as_if_it_never_was(lamps, tmp_path):
    small = {"replay.capacity": "4", "replay.min_fill": "0.5", "replay.duplicates": "true"}
    chosen = tutelage.override(settings(lamps, "robust-plr", kind="ucb-drac", window="3"), small)
    whole = tutelage.train(chosen, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        tutelage.train(chosen, tmp_path / "stopped", Stopping())
    assert tutelage.load(tmp_path / "stopped").iteration < 10
    again = tutelage.resume(tmp_path / "stopped")
    assert again.digest == whole.digest
    bandit = whole.state.students.terms[1]
    jax.tree.map(np.testing.assert_array_equal, bandit, again.state.students.terms[1])
    learned = sum(line["learned"] for line in whole.directory.read("metrics.jsonl"))
    assert 1 < learned < 10
    assert bandit.pulls.sum() == learned - 1, "rollouts that nobody learns from neither pay for an arm nor choose one"


def test_two_devices_do_what_one_does():
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    surroundings = os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    command = [sys.executable, str(Path(__file__).parent / "regularised_on_devices.py")]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["drac", "2", "ucb-drac", "1", "mixreg", "1"]
