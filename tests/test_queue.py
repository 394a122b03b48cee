"""Levels that are queued behind each other: one episode each, and the last one until the end of the rollout."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.curricula.plain_buffer import SETTINGS, PlainBuffer, empty, places
from tutelage.compose import preset
from tutelage.config import override
from tutelage.curricula.random import FixedLevels
from tutelage.errors import UserError
from tutelage.experiment import build
from tutelage.rollout import JaxCollector
from tutelage.scores import Score, episodes
from tutelage.settings import ScoreName
from tutelage.types import Rollout, by_level

STEPS, QUEUE = 11, 3
# A student with two queues of levels: (goal, limit). The first is through with its levels before the end.
QUEUES = [[(1, 2), (100, 3), (2, 9)], [(100, 4), (3, 30), (100, 30)]]


def collected(toy, toy_agent, random_state, queues: Any, queue: int) -> Rollout:
    agent = toy_agent("gru", width=5, eyes=6)
    student = jax.tree.map(lambda x: x[None], random_state(agent, np.zeros(4, np.float32), 0))
    level = toy.levels.sample(jax.random.key(0))
    numbers = np.array(queues, np.int32).reshape(1, -1, 2)
    levels = type(level)(numbers[..., 0], numbers[..., 1])
    rollout = jax.jit(JaxCollector(toy.env, agent, STEPS, queue=queue))(jax.random.key(3), student, levels)
    return jax.tree.map(np.asarray, rollout)


def test_a_queue_is_played_an_episode_each_and_the_last_level_to_the_end(toy, toy_agent, random_state):
    rollout = collected(toy, toy_agent, random_state, QUEUES, QUEUE)
    turn, done = rollout.turn[0], rollout.done[0]
    ended = np.cumsum(done, axis=0) - done
    np.testing.assert_array_equal(turn, np.minimum(ended, QUEUE - 1))
    assert turn[-1, 0] == QUEUE - 1
    # What is seen has the goal and the limit of the level whose turn it is.
    seen = np.rint(10 * rollout.obs[0][..., 2:]).astype(int)
    np.testing.assert_array_equal(seen, np.array(QUEUES)[np.arange(2), turn])
    assert (rollout.first[0][1:] == done[:-1]).all()


def test_a_queue_of_one_level_is_that_level(toy, toy_agent, random_state):
    once = [queue[:1] for queue in QUEUES]
    alone = collected(toy, toy_agent, random_state, once, 1)
    queued = collected(toy, toy_agent, random_state, [queue * QUEUE for queue in once], QUEUE)
    assert alone.turn is None
    jax.tree.map(np.testing.assert_array_equal, queued._replace(turn=None), alone)


# --- scores


def made(seed: int, steps: int = 14, queues: int = 5, queue: int = 3) -> Rollout:
    """A rollout of queues, with random numbers."""
    rng = np.random.default_rng(seed)
    size = (1, steps, queues)
    done = rng.random(size) < 0.3
    first = np.concatenate([np.ones((1, 1, queues), bool), done[:, :-1]], axis=1)
    turn = np.minimum(np.cumsum(done, axis=1) - done, queue - 1).astype(np.int32)
    value, following, reward = rng.normal(size=(3, *size)).astype(np.float32)
    policy = rng.normal(size=(*size, 4)).astype(np.float32)
    flags = (done, np.zeros(size, bool), done, first)
    return Rollout((), (), value, policy, value, following, reward, *flags, turn=turn)


@pytest.mark.parametrize("scored", ["all", "latest"])
@pytest.mark.parametrize("name", [name for name in get_args(ScoreName) if name != "learnability"])
def test_a_level_is_scored_by_its_own_steps(name, scored):
    """As if nothing else had been played: each level's steps are cut out and scored alone."""
    rollout, score = made(0), Score(name, 0.9, 0.8, scored=scored)
    apart = by_level(rollout, 3)
    best = jnp.full(apart.played.shape, 0.7)
    found = score.update(jax.random.key(0), (), apart, score.view(apart), best)[1]
    view = episodes(apart)
    for queue in range(rollout.done.shape[2]):
        for turn in range(3):
            own = np.flatnonzero(rollout.turn[0, :, queue] == turn)
            column = 3 * queue + turn
            assert bool(apart.played[0, column]) == (len(own) > 0)
            if len(own):
                ended = np.flatnonzero(rollout.done[0, own, queue])
                start = 0 if scored == "all" or len(ended) < 2 else ended[-2] + 1
                alone = own[start : ended[-1] + 1] if scored == "latest" and len(ended) else own
                cut = jax.tree.map(lambda x, s=alone, q=queue: x[:, s, q : q + 1], rollout._replace(turn=None))
                np.testing.assert_allclose(
                    found[0, column], score(cut, score.view(cut), best[:, :1])[0, 0], rtol=1e-5, atol=1e-6
                )
                whole = jax.tree.map(lambda x, s=own, q=queue: x[:, s, q : q + 1], rollout._replace(turn=None))
                np.testing.assert_allclose(view.returns[0, column], episodes(whole).returns[0, 0], rtol=1e-5)


def test_the_latest_of_several_episodes_by_hand():
    """Two complete episodes and a part of one: the second counts, but the best return is of both."""
    done = np.array([[[1], [0], [1], [0]]], bool)
    first = np.array([[[1], [1], [0], [1]]], bool)
    numbers = np.zeros((1, 4, 1), np.float32)
    reward = np.array([[[5], [1], [2], [9]]], np.float32)
    rollout = Rollout((), (), numbers, (), numbers, numbers, reward, done, numbers > 0, done, first)
    view = episodes(rollout)
    assert view.latest.counted[0, :, 0].tolist() == [False, True, True, False]
    assert (view.returns[0, 0], view.latest.returns[0, 0], view.best[0, 0]) == (4, 3, 5)


# --- the buffer


@pytest.mark.parametrize("buffer", SETTINGS[:6], ids=lambda buffer: f"{buffer.prioritisation}-{buffer.duplicates}")
@given(data=st.data())
def test_levels_that_were_not_played_are_as_if_nobody_had_proposed_them(buffer, data):
    entry = st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.booleans())
    plain, state = PlainBuffer.empty(buffer), empty(buffer)
    for batch in data.draw(st.lists(st.lists(entry, min_size=6, max_size=6), min_size=1, max_size=3)):
        numbers, scores, there = (list(column) for column in zip(*batch, strict=True))
        none = np.full(6, -1, np.int32)
        best = np.where(there, np.float32(1), np.float32(-np.inf))
        state, placed = _insert(buffer)(state, places(numbers), none, best, np.float32(scores), np.array(there))
        expected = [
            plain.insert(n, -1, score, 1.0, 7, 0) if played else -1
            for n, score, played in zip(numbers, scores, there, strict=True)
        ]
        assert placed.tolist() == expected
        jax.tree.map(np.testing.assert_array_equal, state, plain.state())


_PROGRAMS: dict[Any, Any] = {}


def _insert(buffer: Any) -> Any:
    def insert(state: Any, levels: Any, slots: Any, best: Any, scores: Any, there: Any) -> Any:
        played = buffer.recognise(state, levels, slots, best)
        return buffer.insert(state, played, scores, jnp.full(6, 7), jnp.zeros(6, jnp.int32), there)

    return _PROGRAMS.setdefault(buffer, jax.jit(insert))


# --- whole steps

SMALL = {"train.levels": "4", "train.queue": "3", "train.rollout": "30", "env.size": "5", "network.width": "8"}


@pytest.mark.parametrize("method", ["dr", "accel"])
def test_a_step_learns_from_queues_and_keeps_what_was_played(method):
    small = SMALL | ({"replay.capacity": "500"} if method == "accel" else {})
    trainer = build(override(preset("maze", method, "small"), small | {"env.max_steps": "8", "ppo.minibatches": "1"}))
    state, report = jax.jit(trainer.step)(trainer.init(0))
    # Episodes last eight steps at most, so every level of a queue has its turn, and the last has several episodes.
    assert report.metrics["episodes"] >= 4 * 3
    assert float(report.sources.sum()) == 1
    if method == "accel":
        assert int(state.curriculum.inner.buffer.clock[0]) == 4 * 3


def test_levels_whose_turn_never_comes_are_neither_kept_nor_edited():
    """Episodes of thirty steps and more: of each queue the first level is played, and parents are among those."""
    small = SMALL | {"replay.capacity": "500", "env.max_steps": "100", "ppo.minibatches": "1", "train.queue": "5"}
    trainer = build(override(preset("maze", "accel", "small"), small | {"env.size": "9", "evolve.parents": "2"}))
    first = trainer.init(3)
    curriculum, proposal = trainer.propose(first)
    rollout = trainer.collector(trainer.keys(first).collect, first.students.agent, proposal.levels)
    played = np.asarray(by_level(rollout, 5).played)[0]
    assert not played.all()
    state, report = trainer.finish(first, curriculum, proposal, rollout)
    buffer = state.curriculum.inner.buffer
    assert int(buffer.clock[0]) == int(buffer.size[0]) == played.sum()
    parents = np.asarray(state.curriculum.parents.goal[0])
    candidates = np.asarray(proposal.levels.goal[0])[played]
    assert all((candidates == parent).all(axis=-1).any() for parent in parents)
    assert float(report.metrics["episodes"]) == float(episodes(rollout).number.sum())


def test_of_a_training_set_every_level_has_its_turn_before_any_comes_again():
    """Also those that were dealt and not played."""
    dealer = FixedLevels(lambda key: jnp.arange(40), 40, levels=4)
    state, rng, seen = dealer.init(jax.random.key(0)), np.random.default_rng(0), []
    while len(seen) <= 36:
        state, proposal = dealer.propose(jax.random.key(1), jax.random.key(1), state)
        played = np.arange(4) < rng.integers(1, 5)
        rng.shuffle(played)
        seen += np.asarray(proposal.levels)[0][played].tolist()
        nothing = np.zeros((1, 3, 4), np.float32)
        flags = nothing > 0
        rollout = Rollout((), (), nothing, (), nothing, nothing, nothing, *[flags] * 4)
        state, _ = dealer.observe(
            jax.random.key(2), state, proposal, rollout._replace(mine=np.tile(played, (1, 3, 1))), ()
        )
        assert float(dealer.coverage(state)) == pytest.approx(len(seen) / 40)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("environment", "method", "changes", "sentence"),
    [
        ("walker", "dr", {}, "played outside of JAX"),
        ("maze", "plr", {"replay.attempts": "2"}, "attempts at a level are not queued"),
        ("maze", "accel", {"evolve.editor": "learned"}, "such an editor is paid for every level"),
        ("maze", "plr", {"replay.score": "learnability", "replay.scored": "latest"}, "a share of several episodes"),
        ("maze", "paired", {}, "insists on 1"),
        ("maze", "sfl", {}, "insists on 1"),
    ],
)
def test_what_cannot_be_queued_is_refused(environment, method, changes, sentence):
    with pytest.raises(UserError, match=sentence):
        build(override(preset(environment, method), {"train.queue": "2", **changes}))


ON_TWO_DEVICES = """
import jax, numpy as np
import tutelage
from tutelage.trainer import compiled

SMALL = {"train.levels": "4", "train.queue": "3", "train.rollout": "24", "env.size": "5", "env.max_steps": "8",
         "network.width": "8", "replay.capacity": "40", "replay.min_fill": "0.3", "ppo.minibatches": "1"}

def trained(devices):
    changes = SMALL | {"train.devices": str(devices)}
    trainer = tutelage.build(tutelage.override(tutelage.preset("maze", "robust-plr", "small"), changes))
    return jax.device_get(compiled(trainer, 4)(trainer.init(0), 4))

(one, report), (two, again) = trained(1), trained(2)
jax.tree.map(np.testing.assert_array_equal, one.curriculum.buffer.levels, two.curriculum.buffer.levels)
jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), one.students, two.students)
np.testing.assert_array_equal(report.sources, again.sources)
assert set(np.argwhere(report.sources == 1)[:, 1]) == {0, 1}, report.sources
print("equal")
"""


def test_queues_are_the_same_on_two_devices():
    """Replayed batches among them."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-c", ON_TWO_DEVICES]
    outcome = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert outcome.stdout == "equal\n", outcome.stderr[-3000:]
