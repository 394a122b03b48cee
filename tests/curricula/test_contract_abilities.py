"""What a curriculum can ask for and be told, each in a toy curriculum that a real trainer runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import UserError
from tutelage.curricula.base import Info, coverage, generate, kept, learned, newly_generated, only_if, returns_only
from tutelage.curricula.buffer import LevelBuffer
from tutelage.curricula.evolve import Evolve
from tutelage.curricula.random import FixedLevels
from tutelage.curricula.repeated import Repeated, pooled
from tutelage.curricula.replay import Replay
from tutelage.figures import StepReport
from tutelage.rl.ppo import ppo_learner
from tutelage.scores import Episodes, Score, episodes
from tutelage.settings import PPOSettings
from tutelage.trainer import Trainer, TrainState
from tutelage.types import GENERATED, REPLAYED, SOURCES, Proposal, Rollout

PPO = PPOSettings(epochs=2, learning_rate=0.01, discount=0.9, gae_lambda=0.8)


@dataclass(frozen=True)
class Bare:
    """The three functions that a curriculum must have, and nothing more: it always proposes the same levels."""

    levels: Any
    """``[S, B]``"""

    def init(self, key: Any) -> Any:
        return ()

    def propose(self, key: Any, branch_key: Any, state: Any) -> tuple[Any, Proposal]:
        return state, newly_generated(self.levels)

    def observe(self, key: Any, state: Any, proposal: Proposal, rollout: Rollout, students: Any) -> tuple[Any, Info]:
        return state, returns_only(rollout)


@pytest.fixture(scope="module")
def counts(toy):
    """Levels of these goals and limits."""
    one = jax.eval_shape(toy.levels.sample, jax.random.key(0))

    def make(goals: Any, limits: Any = 3) -> Any:
        goals = np.array(goals, np.int32)
        return one._replace(goal=goals, limit=np.broadcast_to(np.int32(limits), goals.shape))

    return make


class Step(NamedTuple):
    """A training step that was taken, and what was played in it."""

    trainer: Trainer
    before: TrainState
    rollout: Rollout
    after: TrainState
    report: StepReport


@pytest.fixture(scope="module")
def school(toy, toy_agent, random_state):
    """A trainer of a curriculum, and its first state."""

    def found(curriculum: Any, students: int = 1, levels: int = 4, steps: int = 6) -> tuple[Trainer, TrainState]:
        trainer = Trainer(toy, ppo_learner(toy_agent(), PPO), curriculum, students, levels, steps, iterations=10)
        each = [random_state(trainer.learner, np.zeros(4, np.float32), seed) for seed in range(students)]
        together = jax.tree.map(lambda *x: jnp.stack(x), *each)
        keys = jax.random.split(jax.random.key(5), 3)
        return trainer, TrainState(together, curriculum.init(keys[0]), keys[1], keys[2], jnp.int32(0))

    return found


@pytest.fixture(scope="module")
def take_step(school):
    def take(curriculum: Any, **shape: int) -> Step:
        trainer, state = school(curriculum, **shape)

        @jax.jit
        def step(state: TrainState) -> Any:
            _, proposal = trainer.propose(state)
            rollout = trainer.collector(trainer.keys(state).collect, state.students.agent, proposal.levels)
            return rollout, trainer.step(state)

        rollout, (after, report) = step(state)
        return Step(trainer, state, rollout, after, report)

    return take


def assert_same(a: Any, b: Any, **tolerance: float) -> None:
    check = np.testing.assert_allclose if tolerance else np.testing.assert_array_equal
    jax.tree.map(lambda x, y: check(x, y, **tolerance), a, b)


# --- batches of mixed sources

MIXED = np.array([[GENERATED, REPLAYED] * 2, [REPLAYED, REPLAYED, GENERATED, GENERATED]], np.int32)


@dataclass(frozen=True)
class Halves(Bare):
    """Every batch is half new and half old, for each student in another order."""

    def propose(self, key: Any, branch_key: Any, state: Any) -> tuple[Any, Proposal]:
        return state, newly_generated(self.levels)._replace(source=jnp.array(MIXED))

    def observe(self, key: Any, state: Any, proposal: Proposal, rollout: Rollout, students: Any) -> tuple[Any, Info]:
        return state, returns_only(rollout)._replace(figures={"goal": proposal.levels.goal.astype(jnp.float32)})


def test_a_batch_of_two_sources_has_the_figures_of_each(take_step, counts):
    goals = np.array([[101, 102, 103, 104], [201, 202, 203, 204]])
    step = take_step(Halves(counts(goals)), students=2)
    # No goal is in reach and every third step the limit: two episodes.
    returns = np.asarray(step.rollout.reward).sum(axis=1) / 2
    metrics = step.report.metrics
    assert step.report.sources.tolist() == [0.5, 0.5, 0]
    assert step.report.learned == 1
    for source in (GENERATED, REPLAYED):
        name = SOURCES[source]
        assert metrics[f"{name}/return"] == pytest.approx(returns[source == MIXED].mean(), abs=1e-6)
        assert metrics[f"{name}/goal"] == metrics[f"{name}/level/goal"] == goals[source == MIXED].mean()
    assert metrics["return"] == pytest.approx(returns.mean(), abs=1e-6)
    assert returns[MIXED == GENERATED].mean() != pytest.approx(returns[MIXED == REPLAYED].mean())
    assert np.isnan(metrics["edited/return"]), "there is no mean of nothing"


# --- several attempts at a level

ATTEMPTS, STEPS = 3, 5
# Cut off every second step; won or cut off; never over.
GOALS, LIMITS = [100, 3, 1000], [2, 4, 100]
DISCOUNT, DECAY, SUCCESS = 0.9, 0.8, 2.0


@pytest.fixture(scope="module")
def attempted(take_step, counts) -> Step:
    """Replay that scores by learnability, over three attempts at each of three levels."""
    score = Score("learnability", DISCOUNT, DECAY, SUCCESS)
    inner = Replay(FixedLevels(lambda key: counts(GOALS, LIMITS), 3, 3), LevelBuffer(3), score, levels=3)
    return take_step(Repeated(inner, ATTEMPTS), levels=3 * ATTEMPTS, steps=STEPS)


@dataclass
class Attempt:
    """One attempt at a level: episodes as lists of steps, of which the last may be unfinished."""

    rollout: Any
    complete: list[list[int]]
    rest: list[int]

    @classmethod
    def of(cls, rollout: Rollout, column: int) -> Attempt:
        own = jax.tree.map(lambda x: np.asarray(x[0, :, column]), rollout)
        complete, rest = [], []
        for t in range(STEPS):
            rest.append(t)
            if own.done[t]:
                complete, rest = [*complete, rest], []
        return cls(own, complete, rest)

    @property
    def returns(self) -> list[float]:
        return [float(self.rollout.reward[steps].sum()) for steps in self.complete]

    @property
    def advantages(self) -> list[float]:
        """By a sum over what follows in the same episode."""
        own, found = self.rollout, []
        for steps in [*self.complete, self.rest]:
            for t in steps:
                after = range(t, steps[-1] + 1)
                delta = [
                    own.reward[k] + DISCOUNT * (0 if own.terminated[k] else own.next_value[k]) - own.value[k]
                    for k in after
                ]
                found.append(sum((DISCOUNT * DECAY) ** i * d for i, d in enumerate(delta)))
        return found


@pytest.fixture(scope="module")
def by_level(attempted) -> dict[int, list[Attempt]]:
    """The attempts at each goal, in the order in which they were played side by side."""
    goals = np.round(np.asarray(attempted.rollout.obs[0, 0, :, 2]) * 10).astype(int).tolist()
    assert goals == [goal for goal in goals[::ATTEMPTS] for _ in range(ATTEMPTS)], "each level thrice in a row"
    assert sorted(goals[::ATTEMPTS]) == sorted(GOALS)
    return {goal: [Attempt.of(attempted.rollout, goals.index(goal) + i) for i in range(ATTEMPTS)] for goal in GOALS}


def test_a_level_is_scored_by_its_success_over_all_attempts(attempted, by_level):
    held = jax.tree.map(lambda x: np.asarray(x[0]), kept(attempted.trainer.curriculum, attempted.after.curriculum))
    scores = dict(zip(held.levels.goal.tolist(), held.score.tolist(), strict=True))
    for goal, attempts in by_level.items():
        returns = [value for attempt in attempts for value in attempt.returns]
        rate = np.mean([value > SUCCESS for value in returns]) if returns else 0.0
        assert scores[goal] == pytest.approx(rate * (1 - rate), abs=1e-6)
    assert 0 < scores[100] < scores[3], "or the test would be worth little"
    assert attempted.report.metrics["score"] == pytest.approx(np.mean(list(scores.values())))


def test_a_level_without_a_complete_episode_scores_0_by_learnability(attempted, by_level):
    assert not any(attempt.complete for attempt in by_level[1000])
    held = jax.tree.map(lambda x: np.asarray(x[0]), kept(attempted.trainer.curriculum, attempted.after.curriculum))
    assert held.score[held.levels.goal == 1000].tolist() == [0.0]
    assert np.isfinite(attempted.report.metrics["score"])


def test_an_unfinished_attempt_does_not_leak_into_the_next(attempted, by_level):
    """Neither into its advantages nor into the steps that count."""
    together = pooled(attempted.rollout, ATTEMPTS)
    assert together.reward.shape == (1, ATTEMPTS * STEPS, 3)
    order = np.round(np.asarray(together.obs[0, 0, :, 2]) * 10).astype(int).tolist()
    score = Score("l1-value-loss", DISCOUNT, DECAY)
    view = score.view(together)
    advantages, found = score._gae(together), score(together, view, view.best)
    for column, goal in enumerate(order):
        attempts = by_level[goal]
        expected = np.concatenate([attempt.advantages for attempt in attempts])
        np.testing.assert_allclose(advantages[0, :, column], expected, atol=1e-5)
        any_complete = any(attempt.complete for attempt in attempts)
        counted = [
            any(t in steps for steps in attempt.complete) or not any_complete
            for attempt in attempts
            for t in range(STEPS)
        ]
        assert view.counted[0, :, column].tolist() == counted
        assert found[0, column] == pytest.approx(np.abs(expected)[counted].mean(), abs=1e-5)
    assert all(attempt.rest for attempt in by_level[100]), "each ends in the middle of an episode"


def test_one_attempt_is_no_attempts_and_none_is_refused(counts):
    rollout = Rollout(*(jnp.zeros((1, 2, 3)),) * len(Rollout._fields))
    assert pooled(rollout, 1) is rollout
    with pytest.raises(UserError, match="0 attempts were asked for"):
        Repeated(Bare(counts([[1]])), 0)


# --- notes


class Told(NamedTuple):
    """What somebody who writes notes remembers of those that came back."""

    written: Any
    told: Any
    wrong: Any

    @classmethod
    def nothing(cls) -> Told:
        return cls(*(jnp.int32(0) for _ in cls._fields))

    def back(self, right: Any) -> Told:
        return self._replace(told=self.told + 1, wrong=self.wrong + ~right)


@dataclass(frozen=True)
class Numbering(Bare):
    """Makes levels whose goals are never the same, and notes them."""

    def init(self, key: Any) -> Told:
        return Told.nothing()

    def propose(self, key: Any, branch_key: Any, state: Told) -> tuple[Told, Proposal]:
        goals = self.levels.goal + 4 * state.written
        notes = {"goals": goals, "number": state.written}
        proposal = newly_generated(self.levels._replace(goal=goals), notes)
        return state._replace(written=state.written + 1), proposal

    def observe(self, key: Any, state: Told, proposal: Proposal, rollout: Rollout, students: Any) -> tuple[Told, Info]:
        notes, goals = proposal.notes, proposal.levels.goal
        right = (notes["goals"] == goals).all() & (notes["number"] == state.written - 1)
        return state.back(right), returns_only(rollout)


@dataclass(frozen=True)
class Signing:
    """An editor that notes what it made, and finds it again in what was seen."""

    def init(self, key: Any, levels: Any) -> Told:
        return Told.nothing()

    def edit(self, key: Any, state: Told, levels: Any) -> tuple[Any, Any]:
        edited = levels._replace(goal=levels.goal + 1000)
        return edited, edited.goal

    def learn(self, key: Any, state: Told, notes: Any, rollout: Rollout) -> tuple[Told, Any]:
        return state.back((jnp.round(rollout.obs[:, 0, :, 2] * 10) == notes).all()), {}


def test_notes_come_back_to_whoever_wrote_them(school, counts):
    """Through attempts, evolution and replay to the base, and to the editor: each is told of its own levels only."""
    base = Numbering(counts([[1, 2, 3, 4]]))
    inner = Replay(base, LevelBuffer(8), Score("pvl", 0.9, 0.8), levels=4, rate=0.6, min_fill=0.5)
    trainer, state = school(Repeated(Evolve(inner, Signing(), levels=4), 2), levels=8)
    run = jax.jit(lambda state: jax.lax.scan(lambda state, _: trainer.step(state), state, None, 24))
    after, report = run(state)
    generated, replayed, edited = np.asarray(report.sources).sum(axis=0).tolist()
    assert min(generated, replayed, edited) > 3
    assert after.curriculum.inner.base == Told(generated, generated, 0)
    assert after.curriculum.editor == Told(0, edited, 0)


# --- the students themselves


@dataclass(frozen=True)
class Examining(Bare):
    """Looks into the students, and may let some go on as others."""

    adopt: tuple[int, ...] | None = None

    def init(self, key: Any) -> Any:
        return jnp.zeros(len(self.levels.goal))

    def observe(self, key: Any, state: Any, proposal: Proposal, rollout: Rollout, students: Any) -> tuple[Any, Info]:
        verdict = None if self.adopt is None else jnp.array(self.adopt, jnp.int32)
        return weight_of(students), returns_only(rollout)._replace(adopt=verdict)


def weight_of(students: Any) -> Any:
    """The mean of all parameters of each student."""
    flat = [x.reshape(len(x), -1) for x in jax.tree.leaves(students.agent.params)]
    return jnp.concatenate(flat, axis=1).mean(axis=1)


@pytest.fixture(scope="module")
def examined(take_step, counts) -> Step:
    return take_step(Examining(counts([[5, 6, 7, 8]] * 2)), students=2)


def test_a_curriculum_sees_the_students_after_their_update(examined):
    found = examined.after.curriculum
    np.testing.assert_allclose(found, weight_of(examined.after.students), rtol=1e-6)
    assert not np.allclose(found, weight_of(examined.before.students), rtol=1e-4)
    assert found[0] != pytest.approx(found[1])


def test_a_verdict_gives_a_student_the_weights_and_the_optimiser_of_another(examined, take_step, counts):
    moved = take_step(replace(examined.trainer.curriculum, adopt=(0, 0)), students=2).after.students
    assert_same(moved, jax.tree.map(lambda x: x[jnp.array([0, 0])], examined.after.students), rtol=1e-5, atol=1e-7)
    assert_same(*(jax.tree.map(lambda x, i=i: x[i], moved) for i in range(2)))
    momenta = [np.asarray(x) for x in jax.tree.leaves(examined.after.students.optimiser) if x.ndim > 1]
    assert any((x[0] != x[1]).any() for x in momenta), "or there was nothing to move"


# --- learning from a part of every batch


@dataclass(frozen=True)
class FirstHalf(Bare):
    """Lets students learn from the first half of a batch only."""

    @property
    def learned(self) -> slice:
        return slice(0, self.levels.goal.shape[1] // 2)


def test_students_learn_from_the_part_that_is_named_and_from_nothing_else(take_step, counts):
    step = take_step(FirstHalf(counts([[5, 100, 7, 100]])))
    assert step.report.learned == 0.5
    learner, key = step.trainer.learner, jax.random.split(step.trainer.keys(step.before).learn, 1)[0]
    student = jax.tree.map(lambda x: x[0], step.before.students)
    whole, half = (jax.tree.map(lambda x, n=n: x[0, :, :n], step.rollout) for n in (4, 2))
    update = jax.jit(lambda rollout: learner.update(key, student, rollout, jnp.float32(0))[0])
    after = jax.tree.map(lambda x: x[0], step.after.students)
    assert_same(after, update(half), rtol=1e-5, atol=1e-6)
    with pytest.raises(AssertionError):
        assert_same(after, update(whole), rtol=1e-5, atol=1e-6)


def test_all_attempts_at_a_level_that_is_learned_from_are_learned_from(counts):
    assert learned(Repeated(FirstHalf(counts([[5, 100, 7, 100]])), 3)) == slice(0, 6)
    assert learned(Repeated(Bare(counts([[5, 100]])), 3)) == slice(None)


def test_a_part_of_every_other_level_cannot_be_attempted_several_times(counts):
    class Odd(FirstHalf):
        learned = slice(None, None, 2)  # pyright: ignore

    assert learned(Odd(counts([[5, 100]]))) == slice(None, None, 2)
    with pytest.raises(UserError, match="has a step of 2, and its levels are attempted several times"):
        learned(Repeated(Odd(counts([[5, 100]])), 3))


# --- scores with a state of their own


@dataclass(frozen=True)
class Counting:
    """Scores every level of a batch by how many batches came before."""

    def init(self, key: Any) -> Any:
        return jnp.int32(0)

    def view(self, rollout: Rollout) -> Episodes:
        return episodes(rollout)

    def update(self, key: Any, state: Any, rollout: Rollout, view: Episodes, best: Any) -> tuple[Any, Any]:
        return state + 1, jnp.full_like(view.returns, state)


def test_a_score_keeps_a_state_of_its_own(school, counts):
    base = Numbering(counts([[1, 2, 3, 4]]))
    trainer, state = school(Replay(base, LevelBuffer(40), Counting(), levels=4, rate=0.0))
    step = jax.jit(trainer.step)
    for i in range(3):
        assert state.curriculum.score == i
        state, report = step(state)
        assert report.metrics["score"] == report.metrics["generated/score"] == i
    held = kept(trainer.curriculum, state.curriculum)
    assert held.score[0, : int(held.size[0])].tolist() == [0] * 4 + [1] * 4 + [2] * 4


# --- changes that happen only sometimes


@pytest.mark.parametrize("happens", [True, False])
def test_the_figures_of_what_did_not_happen_are_no_numbers_also_where_they_are_counts(happens):
    def change() -> Any:
        return jnp.int32(8), {"count": jnp.int32(3), "all": jnp.array(True), "mean": jnp.float32(0.5)}

    state, metrics = jax.jit(lambda flag: only_if(flag, change, jnp.int32(7)))(happens)
    assert (state, state.dtype) == (8 if happens else 7, jnp.int32)
    found = [metrics[name] for name in ("count", "all", "mean")]
    np.testing.assert_array_equal(found, [3, 1, 0.5] if happens else [np.nan] * 3)


# --- curricula that can do less


def test_a_curriculum_of_three_functions_trains(take_step, counts):
    step = take_step(Bare(counts([[5, 6, 7, 8]])))
    assert step.report.learned == 1
    assert step.report.sources.tolist() == [1, 0, 0]
    assert np.isfinite(step.report.metrics["ppo/policy_loss"])
    assert step.after.iteration == 1


def test_what_a_curriculum_cannot_do_is_refused_in_a_sentence(counts):
    """Also where it is wrapped in others, which could."""
    bare = Bare(counts([[5, 6, 7, 8]]))
    replay = Replay(bare, LevelBuffer(8), Counting(), levels=4)
    state, key = replay.init(jax.random.key(0)), jax.random.key(1)
    for curriculum, own in ((bare, ()), (Repeated(bare, 2), ()), (replay, state), (Repeated(replay, 2), state)):
        with pytest.raises(UserError, match="This method has no generator whose levels could be looked at."):
            generate(curriculum, key, own)
        assert coverage(curriculum, own) == 0
        assert learned(curriculum) == slice(None)
    for curriculum in (bare, Repeated(bare, 2)):
        with pytest.raises(UserError, match="This method keeps no levels."):
            kept(curriculum, ())
    assert kept(Repeated(replay, 2), state).size.tolist() == [0]
