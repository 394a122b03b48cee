"""What a run's help shows is read by somebody; what nobody reads is said to be idle, and refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tutelage
from tutelage import build, override, preset
from tutelage.config import describe, idle
from tutelage.envs.base import observation_spec
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.errors import UserError
from tutelage.methods.registry import built_in
from tutelage.settings import RegulariserSettings, Settings
from tutelage.types import Rollout

IN_A_SESSION = {"seed", "shared_seed", "log_every", "evaluate_every", "checkpoint_every", "suite", "episodes"}
"""Of ``train``: read by whoever trains a run (tests/runs)."""
CASES = [(environment, method, "") for environment in ENVIRONMENTS for method in built_in()]
DESIGNED = ("accel", "alp-gmm", "minimax", "paired", "population-paired", "repaired")
IMPOSSIBLE = {
    *((name, "alp-gmm", "") for name in ("maze", "lava", "minihack-lava", "racing")),
    *((name, "samplr", "") for name in ENVIRONMENTS if name not in ("hidden-games", "fruit", "minihack-fruit")),
    *((name, method, "") for name in ("minigrid", "fruit", "minihack-fruit", "procgen") for method in DESIGNED),
}
"""These are no vectors; rooms and seeds are drawn and not designed; and most environments hide nothing."""


def sections(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield f"{prefix}{field.name}.", value
            yield from sections(value, f"{prefix}{field.name}.")


@contextmanager
def reading(settings: Settings) -> Iterator[set[str]]:
    """The settings that are read meanwhile."""
    read: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        for prefix, section in list(sections(settings)):

            def watched(self: Any, name: str, prefix: str = prefix) -> Any:
                read.add(prefix + name)
                return object.__getattribute__(self, name)

            patch.setattr(type(section), "__getattribute__", watched)
        yield read


def teach(trainer: tutelage.Trainer) -> Any:
    """What the curriculum does in an iteration. The rollout is of zeros, so that nobody has to play."""
    state = trainer.init(0)
    agent, size = trainer.learner.agent, (trainer.students, trainer.rollout, trainer.levels)
    curriculum, proposal = trainer.propose(state)
    level = jax.tree.map(lambda x: x[0, 0], proposal.levels)
    seen = observation_spec(trainer.domain.env, level)
    obs = jax.tree.map(lambda x: jnp.zeros((1, *x.shape), x.dtype), seen)
    mine = jax.tree.map(lambda x: x[0], state.students.agent)
    _, decision = agent.act(mine, agent.noise(state.key, 1), agent.initial_carry(1), obs, jnp.ones(1, bool))
    obs, action, policy = jax.tree.map(
        lambda x: jnp.zeros((*size, *x.shape[1:]), x.dtype), (obs, decision.action, decision.policy)
    )
    numbers, flags = jnp.zeros(size), jnp.zeros(size, bool)
    rollout = Rollout(obs, action, numbers, policy, numbers, numbers, numbers, flags, flags, flags, flags)
    return trainer.curriculum.observe(state.key, curriculum, proposal, rollout, state.students)


def chosen(environment: str, method: str, editor: str) -> Settings:
    settings = preset(environment, method)
    return override(settings, {"evolve.editor": editor}) if editor else settings


@pytest.mark.parametrize(
    ("environment", "method", "editor"),
    [case for case in CASES if case not in IMPOSSIBLE] + [("maze", "accel", "learned")],
)
def test_what_is_shown_is_read_and_the_rest_is_said_not_to_be(environment, method, editor):
    settings = chosen(environment, method, editor)
    shown = {name for name, *_ in describe(settings, unread=False) if "." in name}
    with reading(settings) as read:
        jax.eval_shape(lambda: teach(build(settings)))
    unread = shown - read - {f"train.{name}" for name in IN_A_SESSION}
    assert {name for name in unread if not name.startswith("ppo.")} == set()
    assert shown.isdisjoint(idle(settings))
    assert shown | set(idle(settings)) == {name for name, *_ in describe(settings) if "." in name}


@pytest.mark.parametrize(("environment", "method", "editor"), [*CASES, ("matrix", "accel", "none")])
def test_what_is_not_read_is_refused(environment, method, editor):
    settings = chosen(environment, method, editor)
    values = {name: value for name, _, value, _ in describe(settings)}
    for name, reason in idle(settings).items():
        with pytest.raises(UserError, match=f"is not read, because {reason}; leave it out"):
            override(settings, {name: values[name]})


def test_settings_that_are_not_read_are_those_one_would_think_of():
    def names(environment: str, method: str, changes: dict[str, str] | None = None) -> set[str]:
        found = set(idle(override(preset(environment, method), changes or {})))
        plain = {name for name in found if name.startswith("regulariser.")}
        assert plain == {f"regulariser.{field.name}" for field in fields(RegulariserSettings)} - {"regulariser.kind"}
        return found - plain - {"ppo.return_discount", "ppo.reward_clip"}

    teacher = {"core", "width", "head", "learning_rate", "entropy_coef", "encoder.filters", "encoder.time"}
    assert names("maze", "accel") == {f"curriculum.teacher.{name}" for name in teacher}
    assert names("maze", "accel", {"evolve.editor": "learned"}) == {"curriculum.teacher.width"}
    assert names("walker", "dr") == {"network.width"}
    game = {f"env.{name}" for name in ("payoffs", "columns", "p", "epsilon")}
    assert names("matrix", "plr") == {"curriculum.replay.temperature"} | game
    assert names("matrix", "dr", {"env.game": "corollary-1"}) == {"env.payoffs"}
    assert names("matrix", "tscl") == {"curriculum.bandit.temperature"} | game
