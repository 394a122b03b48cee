"""What every method promises, in every environment it can teach. Only shapes are computed: nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tutelage.algorithms import METHODS
from tutelage.curricula.base import Info
from tutelage.envs.registry import ENVIRONMENTS, preset
from tutelage.experiment import build, build_domain
from tutelage.hosts.environment import HostEnvironment
from tutelage.trainer import Trainer, TrainState
from tutelage.types import Proposal, TimeStep

KEY = jax.random.key(0)
LEVELS, STEPS = 4, 8


def types(tree: Any) -> Any:
    return jax.tree.map(lambda x: (x.shape, str(x.dtype), x.weak_type), tree)


@dataclass(frozen=True)
class Still:
    """In place of simulators, which nothing can trace: what is seen has their shapes, and nothing happens."""

    env: HostEnvironment

    @property
    def action_space(self) -> Any:
        return self.env.action_space

    def reset(self, key: Any, level: Any) -> tuple[Any, Any]:
        return (), jnp.zeros(self.env.shape, self.env.dtype)

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, TimeStep]:
        obs, no = jnp.zeros(self.env.shape, self.env.dtype), jnp.array(False)
        return state, TimeStep(obs, jnp.float32(0), no, no, obs)


@dataclass(frozen=True)
class Recorded:
    """A curriculum that notes the types of what it returns while a step is traced."""

    curriculum: Any
    returned: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.curriculum, name)

    def propose(self, *args: Any) -> Any:
        return self._noted("propose", self.curriculum.propose(*args))

    def observe(self, *args: Any) -> Any:
        return self._noted("observe", self.curriculum.observe(*args))

    def _noted(self, name: str, result: Any) -> Any:
        assert name not in self.returned, "once a step"
        self.returned[name] = jax.tree.map(jax.typeof, result)
        return result


@pytest.fixture(scope="module", params=[(env, method) for env in ENVIRONMENTS for method in METHODS], ids="-".join)
def trainer(request) -> Trainer:
    settings = preset(*request.param)
    if settings.method == "alp-gmm" and build_domain(settings).parameters is None:
        pytest.skip("its levels are not vectors")
    training_set = 2 * LEVELS if settings.method == "tscl" else 0
    shape = replace(settings.train, levels=LEVELS, rollout=STEPS, training_set=training_set)
    made = build(replace(settings, train=shape))
    env = Still(made.env) if isinstance(made.env, HostEnvironment) else made.env
    return replace(made, env=env, curriculum=Recorded(made.curriculum, {}))


@pytest.fixture(scope="module")
def state(trainer) -> TrainState:
    return jax.eval_shape(trainer.init, 0)


@pytest.fixture(scope="module")
def after(trainer, state) -> tuple[TrainState, Any]:
    """The shapes that a training step returns. It is traced here, once."""
    return jax.eval_shape(trainer.step, state)


@pytest.fixture(scope="module")
def flow(trainer, state, after) -> tuple[Any, Any, Proposal, Any, Info]:
    """Shapes of all that flows through the curriculum in that step."""
    returned = trainer.curriculum.returned
    return state.curriculum, *returned["propose"], *returned["observe"]


def test_a_proposal_is_a_batch_for_every_student_and_one_flag_to_learn(trainer, flow):
    proposal = flow[2]
    batch = (trainer.students, LEVELS)
    level = jax.eval_shape(trainer.space.sample, KEY)
    assert jax.tree.map(lambda x: x.shape, proposal.levels) == jax.tree.map(lambda x: (*batch, *x.shape), level)
    for name in ("slots", "ids", "parents", "generations"):
        assert types(getattr(proposal, name)) == (batch, "int32", False)
    assert types(proposal.source) == ((), "int32", False)
    assert types(proposal.learn) == ((), "bool", False)


def test_the_state_keeps_its_types(flow):
    first, proposed, _, observed, _ = flow
    assert types(proposed) == types(first)
    assert types(observed) == types(first)


def test_what_is_found_out_is_a_number_a_level_and_named_scalars(trainer, flow):
    info = flow[4]
    batch = (trainer.students, LEVELS)
    assert info.scores.shape == info.returns.shape == batch
    assert all(value.shape == () for value in info.metrics.values())


def test_what_it_generates_is_a_batch_like_a_proposal(trainer, flow):
    assert types(jax.eval_shape(trainer.curriculum.generate, KEY, flow[0])) == types(flow[2].levels)


def test_coverage_is_a_share(trainer, flow):
    assert jax.eval_shape(trainer.curriculum.coverage, flow[0]).shape == ()


def test_a_training_step_keeps_every_type_so_that_it_compiles_once(state, after):
    """Strong types throughout: a weak one in the first state would compile the whole program a second time."""
    weak = [path for path, x in jax.tree_util.tree_leaves_with_path(state) if x.weak_type]
    assert weak == []
    following, metrics = after
    assert types(following) == types(state)
    assert all(value.shape == () for value in metrics.values())
    assert any(name.startswith("level/") for name in metrics)
