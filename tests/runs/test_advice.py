"""A rollout is as long as an episode may be, and who chooses otherwise is told."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage
from tutelage.compose import evaluation_episodes, evaluation_interval, iterations
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.runs.advice import advice
from tutelage.runs.directory import EVALUATIONS

JAX = """
import jax, jax.numpy as jnp, tutelage

def reset(key, level):
    return jnp.int32(0), jnp.zeros({shape}, jnp.{dtype})

def step(key, state, action):
    return state + 1, jnp.zeros({shape}, jnp.{dtype}), 1.0, state > 100, state + 1 >= 70

environment = tutelage.Jax(reset=reset, step=step, actions=2, sample=lambda key: jax.random.uniform(key), {more})
"""

GYMNASIUM = """
import jax, gymnasium, tutelage
from gymnasium.envs.classic_control import CartPoleEnv

class CartPole(CartPoleEnv):
    def reset(self, *, seed=None, options=None):
        self.length = float(options["level"])
        return super().reset(seed=seed)

environment = tutelage.Gymnasium(make=lambda: {made}, sample=lambda key: jax.random.uniform(key))
"""


def of(tmp_path: Path, text: str, name: str = "mine") -> tuple[tutelage.Settings, list[str]]:
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    settings = tutelage.preset(str(file), "robust-plr")
    return settings, advice(settings, tutelage.build_domain(settings))


@pytest.mark.parametrize(
    ("made", "rollout"),
    [("gymnasium.wrappers.TimeLimit(CartPole(), 500)", 500), ("CartPole()", 256)],
)
def test_the_rollout_follows_the_time_limit_of_gymnasium(tmp_path: Path, made: str, rollout: int):
    settings, sentences = of(tmp_path, GYMNASIUM.format(made=made))
    assert settings.train.rollout == rollout
    assert sentences == ["What the student sees: 4 numbers are taken as they are."]
    short = tutelage.override(settings, {"train.rollout": "128"})
    (sentence, _) = advice(short, tutelage.build_domain(short)) if rollout == 500 else ("128, and ... 500 steps", "")
    assert "128, and" in sentence
    assert "500 steps" in sentence


def test_the_rollout_follows_what_is_said_of_an_environment_in_jax(tmp_path: Path):
    settings, sentences = of(tmp_path, JAX.format(shape="(64, 64, 3)", dtype="uint8", more="max_steps=70"))
    assert settings.train.rollout == 70
    assert sentences == ["What the student sees: images of 64x64x3 go through a small CNN."]
    long, _ = of(tmp_path, JAX.format(shape="(3,)", dtype="float32", more="max_steps=100_000"), "long")
    assert long.train.rollout == 2048


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_presets_play_whole_episodes(name: str):
    """Where the literature has shorter rollouts, the sentence is what a person should read."""
    for preset in ENVIRONMENTS[name].presets:
        try:
            settings = tutelage.preset(name, "dr", preset)
            domain = tutelage.build_domain(settings)
        except tutelage.UserError:  # a simulator that is not installed
            continue
        limit = domain.rules.limit
        told = bool(advice(settings, domain))
        assert told == (limit is not None and settings.train.rollout < limit)


@pytest.mark.parametrize("steps", ["100k", "10M", "250M"])
def test_a_run_has_about_forty_evaluations(steps: str):
    settings = tutelage.override(tutelage.preset("maze", "accel", "small"), {"train.steps": steps})
    number = iterations(settings) / evaluation_interval(settings)
    assert 30 <= number <= 60 or evaluation_interval(settings) == 1
    assert evaluation_interval(tutelage.override(settings, {"train.evaluate_every": "0"})) == 0
    assert evaluation_interval(tutelage.override(settings, {"train.evaluate_every": "7"})) == 7


def test_the_first_evaluations_are_cheap_and_the_last_are_in_full(tmp_path: Path):
    changes = {"train.levels": "4", "train.rollout": "4", "train.steps": "128", "train.episodes": "20"}
    settings = tutelage.override(tutelage.preset("matrix", "dr"), changes)  # eight iterations
    run = tutelage.train(settings, tmp_path / "run")
    played = {
        record["iteration"]: {task["episodes"] for task in record["tasks"].values()}
        for record in run.directory.read(EVALUATIONS)
    }
    assert played == {0: {5}, 1: {5}} | {iteration: {20} for iteration in range(2, 9)}
    few, all_of_them = run.evaluate(episodes=5).tasks[0], run.evaluate(episodes=20).tasks[0]
    assert few.returns.tolist() == all_of_them.returns[:5].tolist()


def test_whoever_says_how_often_to_evaluate_gets_every_episode_each_time():
    settings = tutelage.override(tutelage.preset("maze", "accel", "small"), {"train.evaluate_every": "5"})
    assert {evaluation_episodes(settings, iteration) for iteration in (0, 5, 10)} == {settings.train.episodes}


@pytest.mark.parametrize(("episodes", "first"), [(1, 1), (3, 3), (10, 4), (100, 25)])
def test_a_cheap_evaluation_has_episodes_enough(episodes: int, first: int):
    settings = tutelage.override(tutelage.preset("maze", "accel", "small"), {"train.episodes": str(episodes)})
    assert evaluation_episodes(settings, 0) == first


def test_a_run_says_what_it_is_in_a_line():
    from tutelage.runs.directory import RunDirectory
    from tutelage.runs.session import Run

    settings = tutelage.preset("matrix", "dr")
    trainer = tutelage.build(settings)
    state = jax.tree.map(lambda x: np.zeros(x.shape), jax.eval_shape(lambda: trainer.init(0).curriculum))
    run = Run(RunDirectory(Path("runs/x")), settings, trainer, state, 7)
    assert repr(run) == f"<Run runs/x: matrix, dr, seed 0, iteration 7 of {trainer.iterations:,}>"


@pytest.mark.parametrize(("steps", "told"), [(9 * 16 * 256, True), (10 * 16 * 256, False)])
def test_a_run_that_ends_before_it_replays_is_told(tmp_path: Path, steps: int, told: bool):
    """Nine batches of 16 levels are 144: a tenth iteration would find as many as replay waits for."""
    changes = {
        "train.levels": "16",
        "train.rollout": "256",
        "train.steps": str(steps),
        "replay.capacity": "288",
        "replay.min_fill": "0.5",
    }
    settings = tutelage.override(tutelage.preset("matrix", "robust-plr"), changes)
    sentences = advice(settings, tutelage.build_domain(settings))
    assert [sentence.startswith("Replay starts when the buffer holds 144 levels") for sentence in sentences] == (
        [True] if told else []
    )
    run = tutelage.train(settings, tmp_path / "run")
    learned = run.directory.read("metrics.jsonl")[-1]["learned_steps"]
    assert learned == 0 if told else run.iteration == 10
    of_a_set = tutelage.override(settings, {"train.training_set": "144"})
    assert advice(of_a_set, tutelage.build_domain(of_a_set)) == []
    dr = tutelage.override(tutelage.preset("matrix", "dr"), {"train.steps": str(steps)})
    assert advice(dr, tutelage.build_domain(dr)) == []
