"""Several seeds as one program: each is the run it would have been alone, and no conditional becomes a select."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.compose import preset
from tutelage.config import override
from tutelage.curricula.buffer import LevelBuffer
from tutelage.experiment import build
from tutelage.methods.accel import AccelSettings
from tutelage.methods.base import Parts
from tutelage.methods.registry import find
from tutelage.methods.robust_plr import RobustPLRSettings
from tutelage.rl.learner import Learner
from tutelage.rl.ppo import ppo_learner
from tutelage.seeds import all_seeds, any_seed, stack, unstack, vmap_seeds
from tutelage.settings import NoSettings, PPOSettings, ReplaySettings
from tutelage.trainer import Trainer
from tutelage.types import GENERATED, REPLAYED

SEEDS, ITERATIONS = 3, 8
PPO = PPOSettings(epochs=2, learning_rate=0.01)
# Copies are kept apart, so that every seed is ready at the same iteration; few places, so that levels leave as well.
REPLAY = ReplaySettings(capacity=8, min_fill=0.5, rate=0.7, duplicates=True)
ON_THE_TOY = {"dr": NoSettings(), "robust-plr": RobustPLRSettings(REPLAY), "accel": AccelSettings(REPLAY)}
# Teachers need something to design: in a game one column, of which there is little to compile, in a maze all of it.
PLAYED = {"train.levels": "4", "train.rollout": "8", "train.steps": "640", "ppo.epochs": "1"}
MAZE = {"env.size": "3", "env.blocks": "2", "env.view": "3", "env.max_steps": "6"}
BRAIN = {"network.width": "4", "encoder.filters": "2", "network.core": "none"}
TEACHER = {"teacher.encoder.filters": "2", "teacher.head": "4", "teacher.encoder.time": "2"}
WITH_A_TEACHER = {
    "paired": ("matrix", "exact", PLAYED | {"adversary.objective": "regret"}),
    "repaired": (
        "maze",
        "small",
        PLAYED | MAZE | BRAIN | TEACHER | {"replay.capacity": "8", "replay.rate": "0.7", "replay.duplicates": "true"},
    ),
}


@pytest.fixture(scope="module")
def on_the_toy(toy, toy_agent):
    def build_one(method: str) -> Trainer:
        curriculum = find(method).build(ON_THE_TOY[method], Parts(toy, 4, 6, PPO))
        return Trainer(toy, ppo_learner(toy_agent(), PPO), curriculum, students=1, levels=4, rollout=6, iterations=12)

    return build_one


def with_a_teacher(method: str) -> Trainer:
    environment, name, changes = WITH_A_TEACHER[method]
    return build(override(preset(environment, method, name), changes))


def some_iterations(trainer: Trainer, seeds: int) -> Any:
    """A program for one or several seeds, from the first state and something that it does not need."""

    def run(state: Any, _: Any) -> Any:
        return jax.lax.scan(lambda state, _: trainer.step(state), state, None, ITERATIONS)

    return vmap_seeds(run, seeds)


def without_keys(state: Any) -> Any:
    return state._replace(key=(), branch_key=())


@pytest.mark.parametrize("method", [*ON_THE_TOY, *WITH_A_TEACHER])
def test_each_seed_is_the_run_that_it_is_alone_with_the_same_shared_seed(on_the_toy, method):
    trainer = on_the_toy(method) if method in ON_THE_TOY else with_a_teacher(method)
    first = [trainer.init(seed, shared_seed=7) for seed in range(SEEDS)]
    after, log = jax.jit(some_iterations(trainer, SEEDS))(stack(first), ())
    alone = jax.jit(some_iterations(trainer, 1))
    sources, students = [], []
    for start, mine, my_log in zip(first, unstack(after, SEEDS), unstack(log, SEEDS), strict=True):
        expected, expected_log = alone(start, ())
        for found, wanted in ((without_keys(mine), without_keys(expected)), (my_log, expected_log)):
            for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(wanted), strict=True):
                if jnp.issubdtype(a.dtype, jnp.floating):  # a batched product may round differently
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=jax.tree_util.keystr(path))
                else:
                    np.testing.assert_array_equal(a, b, err_msg=jax.tree_util.keystr(path))
        sources.append(np.asarray(my_log.sources).argmax(axis=1).tolist())
        students.append(np.concatenate([np.ravel(x) for x in jax.tree.leaves(mine.students.agent.params)]))
    assert sources[0] == sources[1] == sources[2], "what is decided is shared"
    assert method in ("dr", "paired") or {GENERATED, REPLAYED} <= set(sources[0]), "both sides were seen"
    assert not np.allclose(students[0], students[1]), "what is learned is not"


def test_replay_begins_when_the_last_seed_is_ready(toy):
    """A seed that has kept fewer levels, because some came twice, holds the others back; alone they would not wait."""
    settings = RobustPLRSettings(ReplaySettings(capacity=8, min_fill=0.5, rate=1.0))
    curriculum = find("robust-plr").build(settings, Parts(toy, 4, 6, PPO))
    state = curriculum.init(jax.random.key(0))

    def sources(sizes: list[int]) -> list[int]:
        each = [state._replace(buffer=state.buffer._replace(size=jnp.array([size]))) for size in sizes]

        def propose(state: Any, branch_key: Any) -> Any:
            return curriculum.propose(jax.random.key(1), branch_key, state)[1].source

        found = np.asarray(jax.jit(vmap_seeds(propose, len(sizes)))(stack(each), jax.random.key(2)))
        found = found.reshape(len(sizes), 4)
        assert (found == found[:, :1]).all(), "all levels of a batch have one source"
        return found[:, 0].tolist()

    assert [sources([4]), sources([3])] == [[REPLAYED], [GENERATED]]
    assert sources([4, 3, 8]) == [GENERATED] * 3
    assert sources([4, 5, 8]) == [REPLAYED] * 3


def test_a_seed_whose_buffer_is_full_does_not_disturb_one_whose_is_not():
    """Who leaves a buffer is looked up for all seeds when one needs it, and used by that one only."""
    buffer = LevelBuffer(4)
    none = jnp.full(3, -1)

    def entered(state: Any, levels: Any) -> Any:
        score = levels.astype(jnp.float32) % 5
        played = buffer.recognise(state, levels, none, score)
        return buffer.insert(state, played, score, none, jnp.zeros(3, jnp.int32))

    empty = buffer.init(jnp.int32(0))
    full = jax.jit(entered)(jax.jit(entered)(empty, jnp.array([1, 2, 3]))[0], jnp.array([11, 14, 13]))[0]
    both = jax.jit(vmap_seeds(entered, 2))(stack([empty, full]), jnp.array([6, 9, 7]))
    for mine, start in zip(unstack(both, 2), (empty, full), strict=True):
        jax.tree.map(np.testing.assert_array_equal, mine, jax.jit(entered)(start, jnp.array([6, 9, 7])))


def test_all_are_asked_where_there_are_several_and_one_alone_answers_for_itself():
    flags = jnp.array([True, False, True])
    assert vmap_seeds(lambda flag, _: all_seeds(flag), 3)(flags, ()).tolist() == [False] * 3
    assert vmap_seeds(lambda flag, _: any_seed(flag), 3)(flags, ()).tolist() == [True] * 3
    assert [bool(all_seeds(flag)) for flag in flags] == [bool(any_seed(flag)) for flag in flags] == flags.tolist()


# --- what a branch that is not taken costs


def conditionals(jaxpr: Any) -> Any:
    """Every conditional of a program, however deep."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "cond":
            yield equation
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from conditionals(inner)


@pytest.mark.parametrize(("environment", "method"), [("maze", "accel"), ("maze", "repaired"), ("matrix", "alp-gmm")])
def test_every_conditional_of_a_run_is_still_one_in_a_program_of_several(environment, method):
    """Under a plain ``vmap`` they are all selects, which compute both sides: nothing is left of them in the program."""
    trainer = build(preset(environment, method, "small" if environment == "maze" else ""))
    state = jax.eval_shape(trainer.init, 0)
    several = jax.tree.map(lambda x: jax.ShapeDtypeStruct((SEEDS, *x.shape), x.dtype), state)

    def number(function: Any, *args: Any) -> int:
        found = list(conditionals(jax.make_jaxpr(function)(*args).jaxpr))
        assert all(equation.invars[0].aval.shape == () for equation in found)
        return len(found)

    alone = number(trainer.step, state)
    assert alone > 0
    assert number(vmap_seeds(lambda state, _: trainer.step(state), SEEDS), several, ()) == alone
    assert number(jax.vmap(trainer.step), several) < alone


@dataclass(frozen=True)
class Counted:
    """A learner whose updates are counted when they are executed, not when they are traced."""

    learner: Learner
    executed: list

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)

    def update(self, *args: Any) -> Any:
        state, metrics = self.learner.update(*args)
        jax.debug.callback(lambda _: self.executed.append(1), metrics["policy_loss"])
        return state, metrics


def test_seeds_do_not_update_where_none_of_them_learns(on_the_toy):
    trainer = on_the_toy("robust-plr")
    trainer = replace(trainer, learner=Counted(trainer.learner, []))
    first = stack([trainer.init(seed, shared_seed=7) for seed in range(SEEDS)])
    _, log = jax.block_until_ready(jax.jit(some_iterations(trainer, SEEDS))(first, ()))
    jax.effects_barrier()
    learned = np.asarray(log.learned)
    assert 0 < learned[0].sum() < ITERATIONS
    assert len(trainer.learner.executed) == learned.sum()


# --- the shared seed


def test_the_shared_seed_decides_and_the_runs_own_does_not(on_the_toy):
    """Another shared seed replays at other iterations, the same at the same, whatever the run's own."""
    trainer = on_the_toy("accel")
    run = jax.jit(some_iterations(trainer, 1))

    def sources(seed: int, *shared: int) -> list[int]:
        return np.asarray(run(trainer.init(seed, *shared), ())[1].sources).argmax(axis=1).tolist()

    assert sources(0, 7) == sources(1, 7)
    assert sources(1) == sources(1, 1)
    assert len({tuple(sources(0, shared)) for shared in range(4)}) > 1
