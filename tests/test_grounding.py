"""Grounding as a setting: what is wrapped, what is refused, and what methods insist on."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage
from tutelage import UserError, build, build_domain, override, preset
from tutelage.cli import main
from tutelage.compose import compose
from tutelage.config import from_toml, to_toml
from tutelage.envs.base import Rules
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.envs.wrappers import ActionRepeat, Grounded, Resampled, ground
from tutelage.methods.base import Method
from tutelage.methods.registry import built_in, find
from tutelage.settings import NoSettings, Settings

WITHOUT = {"maze": "hidden parameters", "matrix": "hidden parameters", "walker": "hidden parameters in its simulator"}
SMALL = {"train.levels": "4", "train.rollout": "4", "train.steps": "64", "train.episodes": "4", "ppo.epochs": "1"}


def games(method: str, grounding: str = "none", **changes: str) -> Settings:
    given = {name.replace("_", "."): value for name, value in changes.items()}
    return override(preset("hidden-games", method), {"train.grounding": grounding} | given)


@pytest.mark.parametrize(("grounding", "wrapper"), [("naive", Resampled), ("samplr", Grounded)])
@pytest.mark.parametrize("method", sorted(set(built_in()) - {"samplr"}))
def test_every_method_trains_in_a_wrapped_environment_and_is_tested_in_the_plain_one(method, grounding, wrapper):
    settings = games(method, grounding)
    plain, trained = build_domain(settings), build(settings).domain
    assert trained.env == wrapper(plain.env)
    assert {task.env for suite in trained.suites.values() for task in suite.tasks} == {plain.env}
    assert build(games(method)).domain.env == plain.env


def test_the_optimum_of_a_grounded_environment_is_that_of_somebody_who_does_not_know():
    domain = build_domain(games("dr", env_game="icy-road"))
    icy = np.array([True, False])
    found = {name: float(ground(domain, name).rules.optimum(icy)) for name in ("none", "naive", "samplr")}  # pyright: ignore
    assert found == pytest.approx({"none": 2, "naive": 717 / 272, "samplr": 21 / 16 + 15 / 17})
    unknown = replace(domain, rules=Rules(optimum=domain.rules.optimum))
    assert ground(unknown, "naive").rules.optimum is None  # it would be another's


def test_what_hides_nothing_or_is_played_outside_of_jax_is_refused():
    for (environment, what), grounding in product(WITHOUT.items(), ("naive", "samplr")):
        sentence = rf"^This environment has no {what}.*train.grounding is {grounding}.*\.$"
        with pytest.raises(UserError, match=sentence):
            build(override(preset(environment, "dr"), {"train.grounding": grounding}))
    plain = build_domain(preset("maze", "dr"))
    with pytest.raises(UserError, match="has no hidden parameters"):
        ground(replace(plain, env=ActionRepeat(plain.env, 2)), "naive")  # pyright: ignore


# --- a method that insists


def test_samplr_is_robust_replay_of_grounded_levels():
    ours, other = preset("hidden-games", "samplr"), preset("hidden-games", "robust-plr")
    assert (ours.train.grounding, other.train.grounding) == ("samplr", "none")
    assert ours.curriculum.replay == other.curriculum.replay
    assert replace(ours.train, grounding="none") == other.train
    trainer = build(ours)
    assert isinstance(trainer.domain.env, Grounded)
    same = build(games("robust-plr", "samplr"))
    assert type(trainer.curriculum) is type(same.curriculum)
    programs = [jax.make_jaxpr(lambda each=each: each.step(each.init(0)))() for each in (trainer, same)]
    assert str(programs[0]) == str(programs[1])


def test_only_replayed_batches_are_learned_from_so_presets_in_updates_are_longer():
    per_update = find("samplr").batches_per_update
    settings = preset("hidden-games", "samplr").curriculum
    assert per_update(settings, 32) == 2
    assert per_update(replace(settings, replay=replace(settings.replay, rate=0.8)), 32) == 1.25
    assert preset("maze", "samplr").train.steps == 2 * preset("maze", "dr").train.steps


@pytest.mark.parametrize("given", ["none", "naive"])
def test_a_method_is_refused_with_other_settings_than_it_insists_on(given):
    with pytest.raises(
        UserError,
        match=f"train.grounding is {given}, and the method samplr insists on samplr; leave it out, or choose another",
    ):
        build(games("samplr", given))


def test_a_method_insists_against_all_that_a_preset_says():
    chosen = replace(
        ENVIRONMENTS["matrix"].presets["exact"], adapt=lambda curriculum: {"ppo.epochs": 3, "train.levels": 8}
    )
    method = Method("mine", "", NoSettings, find("dr").build, insists={"ppo.epochs": 2, "train.rollout": 5})
    settings = compose("matrix", "dr", chosen, method)
    assert (settings.ppo.epochs, settings.train.rollout, settings.train.levels) == (2, 5, 8)


def test_the_length_of_a_run_follows_what_a_method_insists_on():
    chosen = replace(ENVIRONMENTS["matrix"].presets["exact"], updates=10)
    method = Method("mine", "", NoSettings, find("dr").build, insists={"train.rollout": 5})
    assert compose("matrix", "dr", chosen, method).train.steps == 10 * 32 * 5


# --- as a run


def test_grounding_is_an_option_of_the_command_line_and_part_of_a_runs_settings(tmp_path: Path):
    path = tmp_path / "run"
    options = [f"--{name}={value}" for name, value in SMALL.items()]
    words = ["train", "hidden-games", "dr", "--env.game", "icy-road", "--grounding", "samplr", *options]
    assert main([*words, "--run", str(path), "--quiet"]) == 0
    run = tutelage.load(path)
    assert run.settings.train.grounding == "samplr"
    assert from_toml(to_toml(run.settings), preset("hidden-games", "dr")) == run.settings
    assert isinstance(run.trainer.domain.env, Grounded)
    assert not isinstance(run.domain.env, Grounded)
    assert run.evaluate("levels", episodes=2)
    # On the plain environment: real rewards, and levels of ice alone are known to be beyond everybody.
    worst = run.worst_case("true", levels=2000, episodes=1)
    assert 0 < worst.unsolvable < 50
    assert worst.levels == 2000 - worst.unsolvable
    assert set(np.unique(worst.scoring.returns)) <= {4.0, 3.0, 2.0, 1.0, -7.0, -8.0}


def test_an_unknown_grounding_is_a_sentence(capsys):
    assert main(["train", "hidden-games", "dr", "--grounding", "some"]) != 0
    assert 'train.grounding is "some"; give one of none, naive, samplr.' in " ".join(capsys.readouterr().err.split())
