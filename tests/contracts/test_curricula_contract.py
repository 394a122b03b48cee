"""What every method promises, in every environment it can teach. Only shapes are computed: nothing is compiled."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tutelage import UserError, override, preset
from tutelage.curricula.base import Info, coverage, generate, kept
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.experiment import build
from tutelage.hosts.environment import HostEnvironment
from tutelage.methods.registry import built_in, names
from tutelage.settings import Settings
from tutelage.trainer import Trainer, TrainState
from tutelage.types import Proposal, TimeStep, played

KEY = jax.random.key(0)
LEVELS, STEPS = 20, 8
METHODS = [name for name in names() if name in built_in()]
PAIRS = [(environment, method) for environment in ENVIRONMENTS for method in METHODS]

DESIGNED = ("minimax", "paired", "population-paired", "repaired")
IMPOSSIBLE = frozenset(
    {
        *((name, "alp-gmm") for name in ("maze", "lava", "minihack-lava", "racing")),
        *((name, "samplr") for name in ENVIRONMENTS if name not in ("hidden-games", "fruit", "minihack-fruit")),
        *(
            (name, method)
            for name in ("minigrid", "fruit", "minihack-fruit", "procgen")
            for method in ("accel", "alp-gmm", *DESIGNED)
        ),
    }
)
"""The pairs that are left out below, all because the environment has no such ability: mazes and tracks are no vectors,
MiniGrid's rooms and Procgen's seeds are drawn and not designed, and what is to be grounded must have hidden parameters,
in JAX.
"""

VARIANTS = [
    ("maze", "accel", "evolve.editor=learned"),
    ("matrix", "accel", "replay.attempts=2"),
    ("matrix", "repaired", "replay.attempts=4"),
    ("hidden-games", "paired", "env.game=icy-road", "train.grounding=samplr"),
    ("hidden-games", "accel", "train.grounding=naive"),
]
"""Beyond the presets: wrappers and notes that they do not have."""

CASES = [pair for pair in PAIRS if pair not in IMPOSSIBLE] + VARIANTS


def chosen(environment: str, method: str, *changes: str) -> Settings:
    settings = override(preset(environment, method), dict(change.split("=") for change in changes))
    training_set = 2 * LEVELS if settings.train.training_set else 0
    return replace(settings, train=replace(settings.train, levels=LEVELS, rollout=STEPS, training_set=training_set))


def asked(function: Any, *args: Any) -> Any:
    """What a function returns, or the sentence with which it refuses."""
    try:
        return function(*args)
    except UserError as error:
        return str(error)


def test_methods_are_left_out_only_where_an_environment_lacks_what_they_need():
    answers = {pair: asked(build, chosen(*pair)) for pair in PAIRS}
    refused = {pair: answer for pair, answer in answers.items() if isinstance(answer, str)}
    assert set(refused) == IMPOSSIBLE
    assert all(sentence.startswith("This environment has no ") for sentence in refused.values())


def types(tree: Any) -> Any:
    return jax.tree.map(lambda x: (x.shape, str(x.dtype), x.weak_type), tree)


@dataclass(frozen=True)
class Still:
    """In place of simulators, which nothing can trace: what is seen has their shapes, and nothing happens."""

    env: HostEnvironment

    @property
    def action_space(self) -> Any:
        return self.env.action_space

    def prepare(self, level: Any) -> Any:
        return level

    def reset(self, key: Any, level: Any) -> tuple[Any, Any]:
        return (), self._nothing

    def step(self, key: Any, state: Any, action: Any, level: Any) -> tuple[Any, TimeStep]:
        return state, played(self._nothing, jnp.float32(0), jnp.array(False), jnp.array(False))

    @property
    def _nothing(self) -> Any:
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), self.env.observation_spec)


class Seen(dict[str, Any]):
    """Types of all that a curriculum returned, and of the notes that it got back, by the name of its function."""

    def __init__(self) -> None:
        super().__init__(propose=[], notes=[], observe=[])


def watched(curriculum: Any, seen: dict[str, Seen], path: str = "curriculum") -> Any:
    """The same curriculum, and all that it wraps, with types that are written down while a step is traced.

    A class of its own, and not a wrapper: a curriculum is also asked what it can do.
    """

    class Watched(type(curriculum)):
        def propose(self, *args: Any) -> Any:
            return note("propose", super().propose(*args))

        def observe(self, key: Any, state: Any, proposal: Proposal, *args: Any) -> Any:
            note("notes", proposal.notes)
            return note("observe", super().observe(key, state, proposal, *args))

    def note(name: str, result: Any) -> Any:
        seen[path][name].append(jax.tree.map(jax.typeof, result))
        return result

    inner = {part.name: getattr(curriculum, part.name) for part in fields(curriculum)}
    inner = {name: watched(part, seen, f"{path}.{name}") for name, part in inner.items() if hasattr(part, "observe")}
    made = copy.copy(replace(curriculum, **inner))
    object.__setattr__(made, "__class__", Watched)
    return made


@dataclass(frozen=True)
class Case:
    """A trainer and what its curricula were seen to do."""

    trainer: Trainer
    seen: dict[str, Seen]

    @property
    def batch(self) -> tuple[int, int]:
        return self.trainer.students, LEVELS


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request) -> Case:
    made = build(chosen(*request.param))
    env, seen = made.domain.env, defaultdict(Seen)
    domain = replace(made.domain, env=Still(env) if isinstance(env, HostEnvironment) else env)
    return Case(replace(made, domain=domain, curriculum=watched(made.curriculum, seen)), seen)


@pytest.fixture(scope="module")
def state(case) -> TrainState:
    return jax.eval_shape(case.trainer.init, 0)


@pytest.fixture(scope="module")
def after(case, state) -> tuple[TrainState, Any]:
    """The shapes that a training step returns. It is traced here, once."""
    for seen in case.seen.values():
        seen.update(Seen())  # what was traced for a first state does not count
    return jax.eval_shape(case.trainer.step, state)


@pytest.fixture(scope="module")
def flow(case, state, after) -> tuple[Any, Any, Proposal, Any, Info]:
    """Shapes of all that flows through the curriculum in that step."""
    seen = case.seen["curriculum"]
    (proposed,), (observed,) = seen["propose"], seen["observe"]  # once a step each
    return state.curriculum, *proposed, *observed


def test_a_proposal_is_a_batch_for_every_student_its_sources_and_one_flag_to_learn(case, flow):
    proposal = flow[2]
    level = jax.eval_shape(case.trainer.domain.levels.sample, KEY)
    assert types(proposal.levels) == jax.tree.map(lambda x: ((*case.batch, *x.shape), str(x.dtype), False), level)
    assert types(proposal.source) == (case.batch, "int32", False)
    assert types(proposal.learn) == ((), "bool", False)


def test_whoever_writes_notes_gets_notes_of_the_same_types_back(case, after):
    """A curriculum inside of another one too."""
    for seen in case.seen.values():
        written = [types(proposal.notes) for _, proposal in seen["propose"]]
        assert written
        assert seen["notes"]
        assert all(notes == written[0] for notes in [*written, *map(types, seen["notes"])])
        assert not any(x.weak_type for x in jax.tree.leaves(seen["notes"]))


def test_the_state_keeps_its_types(flow):
    first, proposed, _, observed, _ = flow
    assert types(proposed) == types(first)
    assert types(observed) == types(first)


def test_what_is_found_out_is_a_number_a_level_and_named_scalars(case, flow):
    info = flow[4]
    assert info.scores.shape == info.returns.shape == case.batch
    assert all(value.shape == case.batch for value in info.figures.values())
    assert all(value.shape == () for value in info.metrics.values())
    assert info.adopt is None or types(info.adopt) == ((case.trainer.students,), "int32", False)


def test_what_it_generates_is_a_batch_like_a_proposal(case, flow):
    levels = asked(jax.eval_shape, lambda state: generate(case.trainer.curriculum, KEY, state), flow[0])
    if isinstance(levels, str):
        assert levels == "This method has no generator whose levels could be looked at."
    else:
        assert types(levels) == types(flow[2].levels)


def test_coverage_is_a_share_also_where_there_is_no_end_of_levels(case, flow):
    found = jax.eval_shape(lambda state: coverage(case.trainer.curriculum, state), flow[0])
    assert (found.shape, found.dtype) == ((), jnp.float32)


def test_levels_that_are_kept_have_a_score_and_a_lineage_each(case, flow):
    held = asked(jax.eval_shape, lambda state: kept(case.trainer.curriculum, state), flow[0])
    if isinstance(held, str):
        assert held == "This method keeps no levels."
        return
    assert held.score.shape == held.id.shape == held.parent.shape == held.generation.shape
    assert held.score.shape[:1] == held.size.shape == (case.trainer.students,)
    level = jax.eval_shape(case.trainer.domain.levels.sample, KEY)
    expected = jax.tree.map(lambda x: ((*held.score.shape, *x.shape), str(x.dtype)), level)
    assert jax.tree.map(lambda x: (x.shape, str(x.dtype)), held.levels) == expected


def test_a_training_step_keeps_every_type_so_that_it_compiles_once(case, state, after):
    """Strong types throughout: a weak one in the first state would compile the whole program a second time."""
    weak = [path for path, x in jax.tree_util.tree_leaves_with_path(state) if x.weak_type]
    assert weak == []
    following, report = after
    assert types(following) == types(state)
    assert report.learned.shape == ()
    assert report.sources.shape == (3,)
    assert all(value.shape == () for value in report.metrics.values())
    levels = case.trainer.domain.levels
    metrics = jax.eval_shape(lambda key: levels.metrics(levels.sample(key)), KEY)
    assert {name for name in report.metrics if name.startswith("level/")} >= {f"level/{name}" for name in metrics}
