"""What teachers propose, what may be learned from it, and what they remember: in scripted runs on the toy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build, override, preset
from tutelage.curricula.base import Info
from tutelage.curricula.buffer import LevelBuffer
from tutelage.curricula.editors import RandomEditor
from tutelage.curricula.evolve import Evolve
from tutelage.curricula.random import DomainRandomization, FixedLevels
from tutelage.curricula.replay import Replay
from tutelage.errors import UserError
from tutelage.scores import Score
from tutelage.types import EDITED, GENERATED, REPLAYED, Proposal

LEVELS = 4
PVL = Score("pvl", 0.9, 0.8)


@dataclass
class Class:
    """A curriculum, compiled, and its state."""

    curriculum: Any
    outcome: Any

    def __post_init__(self) -> None:
        self._init = jax.jit(self.curriculum.init)
        self._propose, self._observe = jax.jit(self.curriculum.propose), jax.jit(self.curriculum.observe)
        self.start()

    def start(self, seed: int = 0) -> None:
        self.key, key = jax.random.split(jax.random.key(seed))
        self.state = self._init(key)

    def iterate(self) -> tuple[Proposal, Info]:
        """Propose, play, observe."""
        self.key, k_propose, k_branch, k_observe = jax.random.split(self.key, 4)
        self.state, proposal = self._propose(k_propose, k_branch, self.state)
        self.state, info = self._observe(k_observe, self.state, proposal, self.outcome(proposal.levels), ())
        return jax.tree.map(np.asarray, (proposal, info))

    def proposals(self, number: int) -> list[Proposal]:
        return [self.iterate()[0] for _ in range(number)]


def source(proposal: Proposal) -> int:
    """The one source of all levels of a batch."""
    assert len(np.unique(proposal.source)) == 1
    return int(proposal.source[0, 0])


def replay(base: Any, **changes: Any) -> Replay:
    return Replay(base, LevelBuffer(changes.pop("capacity", 12)), PVL, LEVELS, **changes)


# --- replay


@pytest.fixture(scope="module", params=[False, True], ids=["robust", "plain"])
def plr(request, toy, outcome):
    base = DomainRandomization(toy.levels.sample, LEVELS)
    return Class(replay(base, rate=0.7, min_fill=0.5, learn_from_new=request.param), outcome)


def test_new_levels_are_learned_from_only_by_plain_plr(plr):
    """Robust PLR suppresses the update on generated levels; replayed ones are learned from by both."""
    plr.start()
    proposals = plr.proposals(30)
    learned = {(source(p), bool(p.learn)) for p in proposals}
    assert learned == {(GENERATED, plr.curriculum.learn_from_new), (REPLAYED, True)}


def test_replay_waits_for_the_buffer_and_then_keeps_its_share(plr):
    plr.start()
    sources = [source(p) for p in plr.proposals(300)]
    assert sources[:2] == [GENERATED] * 2, "half of the 12 slots, and batches of 4: not before two batches"
    assert np.mean(sources[5:]) == pytest.approx(0.7, abs=0.1)


def test_replayed_levels_are_those_of_their_slots(plr):
    plr.start()
    for _ in range(20):
        before = jax.tree.map(np.array, plr.state.buffer)
        proposal, _ = plr.iterate()
        notes = proposal.notes
        assert notes.replayed == (source(proposal) == REPLAYED)
        assert notes.generated == (source(proposal) == GENERATED)
        if notes.replayed:
            slots = notes.slots[0]
            assert (slots < before.size).all()
            np.testing.assert_array_equal(proposal.levels.goal[0], before.levels.goal[0][slots])
            np.testing.assert_array_equal(notes.ids[0], before.id[0][slots])
        else:
            assert (notes.slots == -1).all()
            assert (notes.ids == -1).all()
        assert (notes.parents == -1).all()
        assert (notes.generations == 0).all()


def test_nothing_that_is_logged_is_infinite(plr):
    """From the empty buffer on."""
    plr.start()
    for _ in range(6):
        _, info = plr.iterate()
        assert all(np.isfinite(value).all() for value in info.metrics.values())
        assert np.isfinite(info.scores).all()


def test_the_buffers_scores_and_ages_are_logged(plr):
    """From the half-empty buffer on: means, and tenth, middle and nine tenths by a plain sort."""
    plr.start()
    for _ in range(8):
        _, info = plr.iterate()
        buffer = jax.tree.map(lambda x: np.asarray(x[0]), plr.state.buffer)
        size = int(buffer.size)
        for name, values in (("score", buffer.score[:size]), ("staleness", (buffer.clock - buffer.stamp)[:size])):
            assert info.metrics[f"buffer/{name}"] == pytest.approx(values.mean(), rel=1e-5)
            # Of two middle places each may be meant.
            for share in (0.1, 0.5, 0.9):
                ordered, place = np.sort(values), share * (size - 1)
                near = ordered[[int(np.floor(place)), int(np.ceil(place))]]
                assert info.metrics[f"buffer/{name}-{share:.0%}"] in near
        assert info.metrics["buffer/oldest"] == (buffer.clock - buffer.stamp)[:size].max()


def test_relative_best_returns_are_those_of_the_best_student(toy, outcome):
    """Of two students who play one new level, the weaker knows what was possible."""

    def best(relative: bool) -> np.ndarray:
        curriculum = replay(DomainRandomization(toy.levels.sample, LEVELS, students=2), students=2, relative=relative)
        handicap = np.array([0.0, 1.0], np.float32)[:, None, None]
        school = Class(curriculum, lambda levels: outcome(levels)._replace(reward=outcome(levels).reward + handicap))
        school.iterate()
        return np.asarray(school.state.buffer.best[:, 0])

    alone, together = best(False), best(True)
    assert alone[0] < alone[1]
    assert together.tolist() == [alone[1], alone[1]]


def test_a_buffer_smaller_than_a_batch_is_refused(toy):
    with pytest.raises(UserError, match="at least 4"):
        replay(DomainRandomization(toy.levels.sample, LEVELS), capacity=3)


# --- a finite training set


def of_twelve(toy: Any, outcome: Any, schedule: str) -> Class:
    level = toy.levels.sample(jax.random.key(0))

    def training_set(key: Any) -> Any:
        return level._replace(goal=jnp.arange(1, 13), limit=jnp.full(12, 4))

    return Class(replay(FixedLevels(training_set, 12, LEVELS), schedule=schedule, min_fill=0.0), outcome)


@pytest.fixture(scope="module")
def finite(toy, outcome):
    return of_twelve(toy, outcome, "proportional")


def test_a_finite_set_can_be_dealt_whole_before_anything_is_replayed(toy, outcome):
    """As published code does unless told otherwise."""
    whole = of_twelve(toy, outcome, "all-first")
    for seed in range(3):
        whole.start(seed)
        proposals = whole.proposals(10)
        assert [source(p) for p in proposals] == [GENERATED] * 3 + [REPLAYED] * 7
        assert sorted(np.concatenate([p.levels.goal[0] for p in proposals[:3]]).tolist()) == list(range(1, 13))


def test_a_finite_set_is_dealt_once_in_random_order_and_then_only_replayed(finite):
    """Algorithm 1: new levels are uniform over those not yet seen, and replay takes over in their share."""
    orders = set()
    for seed in range(3):
        finite.start(seed)
        proposals = finite.proposals(40)
        new = [p for p in proposals if source(p) == GENERATED]
        assert len(new) == 3
        dealt = np.concatenate([p.levels.goal[0] for p in new]).tolist()
        assert sorted(dealt) == list(range(1, 13))
        orders.add(tuple(dealt))
        after = [i for i, p in enumerate(proposals) if source(p) == GENERATED][-1] + 1
        assert all(source(p) == REPLAYED for p in proposals[after:])
    assert len(orders) == 3


def test_a_training_set_smaller_than_a_batch_is_refused():
    with pytest.raises(UserError, match="The training set has 3 levels"):
        FixedLevels(lambda key: None, 3, 4)


# --- evolution


def evolve(toy: Any, outcome: Any, **changes: Any) -> Class:
    inner = replay(DomainRandomization(toy.levels.sample, LEVELS), rate=0.8, min_fill=0.3)
    edit = changes.pop("edit", lambda key, level: toy.levels.edit(key, level, 1))
    return Class(Evolve(inner, RandomEditor(edit), LEVELS, **changes), outcome)


@pytest.fixture(scope="module")
def accel(toy, outcome):
    return evolve(toy, outcome, parents=2)


def test_edits_follow_every_replay_and_are_never_learned_from(accel):
    accel.start()
    proposals = accel.proposals(40)
    for before, after in pairwise(proposals):
        assert (source(after) == EDITED) == (source(before) == REPLAYED)
        assert after.notes.edited == (source(after) == EDITED)
    learned = {(source(p), bool(p.learn)) for p in proposals}
    assert learned == {(GENERATED, False), (REPLAYED, True), (EDITED, False)}


def test_the_hard_criterion_edits_the_levels_of_highest_score_minus_return(accel):
    accel.start()
    met = 0
    for _ in range(20):
        proposal, info = accel.iterate()
        if source(proposal) != REPLAYED:
            continue
        met += 1
        hardest = np.argsort(-(info.scores - info.returns)[0], kind="stable")[:2]
        edited, _ = accel.iterate()
        expected = proposal.levels.goal[0][np.repeat(hardest, 2)] + 1000
        np.testing.assert_array_equal(edited.levels.goal[0], expected)
        np.testing.assert_array_equal(edited.notes.inner.parents[0], proposal.notes.inner.ids[0][np.repeat(hardest, 2)])
    assert met > 3


def test_lineage_can_be_followed_to_a_generated_level(accel, outcome, monkeypatch):
    """Each edit of the toy adds 1000, so a goal tells its own generation and its parent's goal."""

    def edits_pay(levels: Any) -> Any:
        return outcome(levels)._replace(
            reward=outcome(levels).reward + np.asarray(levels.goal)[:, None] / np.float32(1e4)
        )

    monkeypatch.setattr(accel, "outcome", edits_pay)
    accel.start()
    goals: dict[int, int] = {}
    generations: set[int] = set()
    for _ in range(60):
        proposal, _ = accel.iterate()
        found = proposal.notes.inner.generations
        generations |= set(found[0].tolist())
        assert (found == proposal.levels.goal // 1000).all()
        buffer = jax.tree.map(lambda x: np.asarray(x[0]), accel.state.inner.buffer)
        goals |= dict(zip(buffer.id[: buffer.size].tolist(), buffer.levels.goal[: buffer.size].tolist(), strict=True))
        for slot in range(buffer.size):
            goal, parent, generation = buffer.levels.goal[slot], buffer.parent[slot], buffer.generation[slot]
            assert generation == goal // 1000
            assert (parent >= 0) == (generation > 0)
            if parent >= 0:
                assert goals[int(parent)] == goal - 1000
    assert {0, 1, 2} <= generations


@pytest.mark.parametrize("clock", ["levels", "replays"])
def test_staleness_counts_what_the_clock_counts(toy, outcome, clock):
    """By a plain account of every level, in a buffer that keeps all of them."""
    inner = replay(DomainRandomization(toy.levels.sample, LEVELS), capacity=200, rate=0.6, min_fill=0.05, clock=clock)
    school = Class(Evolve(inner, RandomEditor(lambda key, level: toy.levels.edit(key, level, 1)), LEVELS), outcome)
    now, stamps, sources = 0, {}, set()
    for _ in range(24):
        proposal, _ = school.iterate()
        sources.add(source(proposal))
        counts = clock == "levels" or source(proposal) == REPLAYED
        for goal in proposal.levels.goal[0].tolist():
            now += counts
            stamps[goal] = now
        buffer = jax.tree.map(lambda x: np.asarray(x[0]), school.state.inner.buffer)
        size = int(buffer.size)
        kept = zip(buffer.levels.goal[:size].tolist(), buffer.stamp[:size].tolist(), strict=True)
        assert (dict(kept), int(buffer.clock)) == (stamps, now)
    assert sources == {GENERATED, REPLAYED, EDITED}


def test_the_batch_criterion_edits_all_of_them(toy, outcome):
    school = evolve(toy, outcome, criterion="batch", parents=3)
    proposals = school.proposals(12)
    pairs = [(a, b) for a, b in pairwise(proposals) if source(a) == REPLAYED]
    assert pairs
    for before, after in pairs:
        np.testing.assert_array_equal(after.levels.goal, before.levels.goal + 1000)
        np.testing.assert_array_equal(after.notes.inner.parents, before.notes.inner.ids)


def test_edits_come_at_their_rate(toy, outcome):
    proposals = evolve(toy, outcome, rate=0.5).proposals(200)
    follow = [source(b) == EDITED for a, b in pairwise(proposals) if source(a) == REPLAYED]
    assert np.mean(follow) == pytest.approx(0.5, abs=0.15)


def test_without_an_editor_new_levels_have_no_parents(toy, outcome):
    proposals = evolve(toy, outcome, edit=lambda key, level: toy.levels.sample(key), inherit=False).proposals(20)
    edited = [p for p in proposals if source(p) == EDITED]
    assert edited
    for notes in (p.notes.inner for p in edited):
        assert (notes.parents == -1).all()
        assert (notes.generations == 0).all()
    assert len(np.unique([p.levels.goal for p in edited])) > LEVELS, "they are new levels, not copies"


def test_parents_that_do_not_divide_the_batch_are_refused(toy):
    inner = replay(DomainRandomization(toy.levels.sample, LEVELS))
    with pytest.raises(UserError, match="choose a divisor of 4"):
        Evolve(inner, RandomEditor(lambda key, level: level), LEVELS, parents=3)


def test_a_method_can_train_on_a_set_that_is_drawn_once():
    trainer = build(override(preset("maze", "dr", "small"), {"train.training_set": "256", "train.levels": "128"}))
    state, propose = jax.jit(trainer.curriculum.init)(jax.random.key(0)), jax.jit(trainer.curriculum.propose)
    batches = []
    for _ in range(4):
        state, proposal = propose(jax.random.key(1), jax.random.key(2), state)
        batches.append(np.asarray(proposal.levels.walls))
    assert (batches[0] == batches[2]).all()
    assert (batches[1] == batches[3]).all()
    assert not (batches[0] == batches[1]).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train.training_set": "3"}, "train.training_set is 3, fewer than the 128 levels"),
        ({"replay.schedule": "proportional"}, "give train.training_set a size"),
        ({"replay.schedule": "all-first"}, "replay.schedule is all-first, .* give train.training_set a size"),
        ({"replay.schedule": "all-first", "train.training_set": "200", "replay.rate": "0.3"}, "is not read, because"),
    ],
)
def test_a_training_set_that_cannot_be_is_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        override(preset("maze", "plr", "small"), changes)
