"""Procgen as an environment to train on: the fleet, exact resume, training sets, suites, networks and sentences."""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.envs.procgen.games import GAMES
from tutelage.envs.procgen.level import LEVELS, Level, from_text
from tutelage.envs.procgen.settings import PRESETS, ProcgenSettings
from tutelage.envs.procgen.states import make
from tutelage.errors import UserError
from tutelage.evaluation.evaluate import Evaluation, TaskResult, evaluate, pooled
from tutelage.evaluation.record import record
from tutelage.evaluation.tables import evaluation
from tutelage.hosts.fleet import close_all
from tutelage.rl.agent import Agent
from tutelage.runs import checkpoint

SMALL = {
    "env.game": "leaper",
    "env.workers": "1",
    "env.max_steps": "9",
    "encoder.channels": "1",
    "encoder.features": "4",
    "train.levels": "4",
    "train.rollout": "12",
    "train.training_set": "8",
    "replay.capacity": "8",
    "ppo.minibatches": "1",
    "ppo.epochs": "1",
    "env.resolution": "64",
}


def changed(method: str, **more: str) -> tutelage.Settings:
    settings = tutelage.preset("procgen", method, "fast")
    changes = {name: value for name, value in SMALL.items() if method == "plr" or not name.startswith("replay")}
    return tutelage.override(settings, changes | {name.replace("__", "."): value for name, value in more.items()})


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays():
    yield
    close_all()


@pytest.fixture(scope="module")
def trainer() -> tutelage.Trainer:
    return tutelage.build(changed("plr"))


def test_a_rollout_is_what_lone_environments_play_and_a_resumed_run_is_the_same(trainer):
    """Four iterations in one go; then two, new simulators, and two more: the same state, bit for bit. It has the
    levels' scores and the unit of rewards.
    """
    start = trainer.init(0)
    _, proposal = trainer.propose(start)
    rollout = trainer.collector(jax.random.key(0), start.students.agent, proposal.levels)
    seeds, steps, cut = np.asarray(proposal.levels.seed[0]), 0, 0
    for b, seed in enumerate(seeds.tolist()):
        env = make("leaper", "easy", seed=seed)
        for t in range(12):
            np.testing.assert_array_equal(rollout.obs[0, t, b], env.observe()[1]["rgb"][0])
            env.act(np.array([rollout.action[0, t, b]], np.int32))
            reward, _, ended = env.observe()
            assert rollout.reward[0, t, b] == reward[0]
            assert rollout.terminated[0, t, b] == ended[0]
            steps, cut = steps + 1, cut + int(rollout.truncated[0, t, b])
            if rollout.done[0, t, b]:
                env = make("leaper", "easy", seed=seed)
    assert steps == 48
    assert cut >= 1

    run = tutelage.compiled(trainer, 4)
    whole, log = run(start, 4)
    assert np.isfinite(log.metrics["return"]).all()
    half, _ = run(start, 2)
    close_all()
    again, _ = run(half, 2)
    assert checkpoint.digest(again) == checkpoint.digest(whole)
    agent = whole.students.agent
    assert agent.returns.number.item() == 4 * 48
    # Two batches show all eight levels of the training set, and nothing else is replayed after that.
    held = whole.curriculum.buffer
    assert sorted(held.levels.seed[0].tolist()) == list(range(8))


def test_students_are_evaluated_and_recorded(trainer):
    agent, state = trainer.learner.agent, jax.tree.map(lambda x: x[0], trainer.init(1).students.agent)
    suite = trainer.domain.suites["gap-8"]
    result = evaluate(agent, state, suite, episodes=3)
    assert [task.task for task in result.tasks] == ["leaper", "leaper-8"]
    assert all((task.lengths <= 9).all() for task in result.tasks)
    assert result.normalised_return == pytest.approx((result.mean_return - 1.5) / 8.5)
    assert "normalised" in evaluation(result)
    episode = record(agent, state, suite.tasks[1])
    assert 0 <= int(episode.level.seed) < 8
    frames = list(trainer.domain.viewer.frames(episode.level, episode.states))
    assert len(frames) == episode.length + 1
    assert frames[0].shape == (256, 256, 3)


# --- levels and suites


@pytest.mark.parametrize("method", ["dr", "plr", "tscl"])
def test_a_training_set_is_the_first_seeds(method):
    state = tutelage.build(changed(method)).init(5).curriculum
    levels = state.base.levels if method == "plr" else state.levels
    assert levels.seed.tolist() == list(range(8))


def test_all_seeds_are_trained_on_without_a_set():
    trainer = tutelage.build(changed("dr", train__training_set="0"))
    seeds = trainer.curriculum.generate(jax.random.key(0), trainer.init(0).curriculum).seed
    assert seeds.min() > 1000
    assert seeds.max() < LEVELS


def test_suites_are_games_and_training_sets():
    domain = tutelage.build_domain(changed("dr"))
    assert {"fresh", "procgen", *GAMES} <= set(domain.suites)
    whole = domain.suites["procgen"]
    assert [task.name for task in whole.tasks] == list(GAMES)
    assert len({task.env for task in whole.tasks}) == 16
    assert [task.max_steps for task in whole.tasks][:2] == [6000, 4000]
    assert whole.tasks[0].scale == (1, 40)
    (own,) = domain.suites["leaper"].tasks
    assert own.env == domain.env
    assert own.max_steps == 9
    drawn = [int(domain.suites["train-3"].tasks[0].sample(jax.random.key(i)).seed) for i in range(30)]
    assert set(drawn) == {0, 1, 2}
    for name in ("train-0", "gap", "pong"):
        with pytest.raises(UserError, match="There is no suite"):
            domain.suites[name]


@pytest.mark.parametrize("text", ["seed -1", f"seed {LEVELS}", "level 3"])
def test_levels_that_are_none_are_refused(text):
    with pytest.raises(UserError, match="seed"):
        from_text(text)
    assert from_text("seed 7") == Level(np.int32(7))


def test_returns_of_different_games_are_compared_on_their_scales():
    def task(name: str, value: float, scale: Any) -> TaskResult:
        values = np.full(4, value, np.float32)
        return TaskResult(name, values, values.astype(int), values > 0, scale)

    both = Evaluation("procgen", 0, (task("maze", 7.5, (5, 10)), task("bigfish", 40, (1, 40))))
    assert both.normalised_return == pytest.approx(0.75)
    assert pooled([both, both]).tasks[0].scale == (5, 10)
    assert len(pooled([both, both]).tasks[0].returns) == 8
    assert Evaluation("mixed", 0, (*both.tasks, task("other", 1, None))).normalised_return is None


# --- networks and settings


def parameters(agent: Agent) -> int:
    shapes = jax.eval_shape(agent.init, jax.random.key(0), jax.ShapeDtypeStruct((64, 64, 3), np.uint8))
    return sum(x.size for x in jax.tree.leaves(shapes.params))


def test_the_students_network_is_that_of_the_thesis():
    """The residual network of Cobbe et al. (2020), with linear heads."""
    settings = tutelage.preset("procgen", "plr")
    assert parameters(tutelage.build_agent(settings, tutelage.build_domain(settings))) == 626_256
    small = tutelage.preset("procgen", "plr", "fast")
    assert parameters(tutelage.build_agent(small, tutelage.build_domain(small))) < 300_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"game": "pong"}, "There is no game of Procgen called 'pong'"),
        ({"mode": "extreme"}, "env.mode is extreme; give easy or hard"),
        ({"game": "maze", "max_steps": 501}, "env.max_steps is 501, and maze has a limit of 500 steps"),
        ({"max_steps": -1}, "env.max_steps is -1"),
        ({"cache": 0}, "env.cache is 0; give at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        ProcgenSettings(**changes)


def test_the_command_line_names_the_games(capsys):
    from tutelage.cli import main

    assert main(["train", "procgen", "dr", "--env.game", "pong"]) != 0
    said = capsys.readouterr().err
    assert "pong" in said
    assert "bigfish" in said


def test_without_the_extra_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "procgen", None)
    with pytest.raises(UserError, match=r"pip install 'tutelage\[procgen\]'.*--no-deps procgen-mirror==0\.10\.7"):
        tutelage.build_domain(tutelage.preset("procgen", "dr"))


def test_a_regulariser_needs_pictures_which_procgen_has_and_the_walker_has_not():
    assert len(tutelage.build(changed("dr", regulariser__kind="mixreg")).learner.terms) == 2
    walker = tutelage.override(tutelage.preset("walker", "dr"), {"regulariser.kind": "ucb-drac"})
    with pytest.raises(UserError, match="regulariser.kind is ucb-drac, which changes images"):
        tutelage.build(walker)


def test_every_preset_is_of_a_training_set_that_its_suite_shows():
    for name, preset in PRESETS.items():
        assert preset.train.suite == f"gap-{preset.train.training_set}", name
