"""Observations that are trees of arrays: rollouts and evaluations see what one plain environment shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Discrete, Suite, Task, observation_spec
from tutelage.errors import UserError
from tutelage.evaluation.evaluate import evaluate
from tutelage.evaluation.record import record
from tutelage.hosts import play
from tutelage.hosts.environment import HostEnvironment
from tutelage.hosts.fields import Field
from tutelage.hosts.fleet import _open, close_all, get_fleet
from tutelage.hosts.play import HostCollector
from tutelage.hosts.simulator import Maker
from tutelage.hosts.spaces import observed
from tutelage.plugins import load_file
from tutelage.rl.agent import Agent
from tutelage.rl.distributions import distribution
from tutelage.rl.encoders import Vector
from tutelage.rl.networks import CORES, ActorCritic
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import PPOSettings

FILE = str(Path(__file__).with_name("simulators.py"))
Seeing = load_file(FILE).Seeing
FIELDS = (
    Field("body/pose", (4,), "float32"),
    Field("body/speed", (), "float32"),
    Field("image", (8, 8, 3), "uint8"),
    Field("mode", (3,), "float32"),
    Field("pair/0", (2,), "float32"),
    Field("pair/1", (2,), "int32"),
)
SEEING = HostEnvironment(Maker(FILE, "Seeing"), FIELDS, Discrete(3), workers=2, patience=3.0)


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays() -> Iterator[None]:
    yield
    close_all()
    assert not _open


@pytest.fixture(scope="module")
def agent() -> Agent:
    actions = distribution(SEEING.action_space)
    network = ActorCritic(Vector(), CORES["gru"](4), actions.outputs, 4, constants=actions.constants)
    return Agent(network, actions, normalise_observations=True)


def levels_of(*shape: int, trouble: int = 0) -> dict[str, Any]:
    limits = np.random.default_rng(0).integers(3, 7, shape)
    troubles = np.zeros(shape, np.int32)
    troubles[..., -1] = trouble
    return {"limit": limits.astype(np.int32), "trouble": troubles}


def shown(obs: dict[str, Any]) -> dict[str, Any]:
    """What a student should see of an observation of ``Seeing``, written by hand."""
    return {
        "image": obs["image"],
        "body": {"pose": obs["body"]["pose"].astype(np.float32), "speed": np.float32(obs["body"]["speed"])},
        "mode": np.eye(3, dtype=np.float32)[obs["mode"]],
        "pair": {"0": obs["pair"][0].astype(np.float32), "1": obs["pair"][1]},
    }


def assert_same(ours: Any, theirs: Any) -> None:
    def same(mine: Any, other: Any) -> None:
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other)

    jax.tree.map(same, ours, theirs)


def test_fields_are_those_of_the_space_and_make_the_tree():
    assert tuple(one.field for one in observed(Seeing.observation_space)) == FIELDS
    spec = observation_spec(SEEING, None)
    assert jax.tree.map(lambda x: (x.shape, str(x.dtype)), spec) == {
        "image": ((8, 8, 3), "uint8"),
        "body": {"pose": ((4,), "float32"), "speed": ((), "float32")},
        "mode": ((3,), "float32"),
        "pair": {"0": ((2,), "float32"), "1": ((2,), "int32")},
    }
    assert hash(SEEING) == hash(HostEnvironment(Maker(FILE, "Seeing"), FIELDS, Discrete(3), 2, 3.0))


@pytest.mark.parametrize("batch", [3, 4], ids=["as one", "in halves"])
def test_a_rollout_has_the_observations_of_one_plain_environment(agent: Agent, batch: int, monkeypatch):
    """Every trajectory is played again, alone and in this process, with the actions that were recorded."""
    monkeypatch.setattr(play, "ENOUGH", 4)
    count, steps, key = 2, 15, jax.random.key(3)
    state = jax.vmap(lambda key: agent.init(key, SEEING.observation_spec))(jax.random.split(key, count))
    levels = levels_of(count, batch)
    rollout = HostCollector(SEEING, agent, steps)(key, state, levels)
    seeds = play.random_seeds(jax.random.split(key)[0], count * batch).reshape(count, batch)
    done, cuts = 0, 0
    for s in range(count):
        mine = jax.tree.map(lambda x, s=s: x[s], state)
        for b in range(batch):
            env, seed = Seeing(), int(seeds[s, b])
            level = {name: value[s, b] for name, value in levels.items()}
            obs, memory, first = env.reset(seed=seed, options={"level": level})[0], agent.initial_carry(1), True
            for t in range(steps):
                assert_same(jax.tree.map(lambda x, at=(s, t, b): x[at], rollout.obs), shown(obs))
                alone = jax.tree.map(lambda x: x[None], shown(obs))
                memory, chosen = agent.act(mine, agent.noise(key, 1), memory, alone, np.array([first]))
                np.testing.assert_allclose(rollout.value[s, t, b], chosen.value[0], atol=1e-5)
                obs, reward, terminated, truncated, _ = env.step(int(rollout.action[s, t, b]))
                assert rollout.reward[s, t, b] == np.float32(reward)
                if not terminated:
                    after = jax.tree.map(lambda x: x[None], shown(obs))
                    following = agent.value(mine, memory, after, np.zeros(1, bool))
                    np.testing.assert_allclose(rollout.next_value[s, t, b], following[0], atol=1e-5)
                first = terminated or truncated
                done, cuts = done + terminated, cuts + (truncated and not terminated)
                if first:
                    seed = (seed * 1_103_515_245 + 12_345) % 2**31
                    obs = env.reset(seed=seed, options={"level": level})[0]
    assert done > 0
    assert cuts > 0


def test_where_an_episode_ends_both_its_last_observation_and_the_next_one_are_given():
    levels, seeds = levels_of(4), np.arange(4)
    fleet = get_fleet(SEEING, levels, 4)
    fleet.reset(levels, seeds)
    lone, ended = [Seeing() for _ in seeds], 0
    for env, seed in zip(lone, seeds.tolist(), strict=True):
        env.reset(seed=seed, options={"level": {name: value[seed] for name, value in levels.items()}})
    over = np.zeros(4, bool)
    for _ in range(6):
        fleet.send(np.ones(4, np.int32))
        answer = fleet.receive()
        for at in np.flatnonzero(~over).tolist():
            obs, _, terminated, truncated, _ = lone[at].step(1)
            assert_same(jax.tree.map(lambda x, at=at: x[at], answer["final_obs"]), shown(obs))
            over[at] = terminated or truncated
            if over[at]:
                ended += 1
                following = (at * 1_103_515_245 + 12_345) % 2**31
                level = {name: value[at] for name, value in levels.items()}
                obs = lone[at].reset(seed=following, options={"level": level})[0]
            assert_same(jax.tree.map(lambda x, at=at: x[at], answer["obs"]), shown(obs))
    assert ended == 4


def test_an_evaluation_acts_on_trees(agent: Agent):
    """Every episode is played again by itself, by the same agent, in a plain environment."""
    state = agent.init(jax.random.key(1), SEEING.observation_spec)

    def sample(key: Any) -> Any:
        return {"limit": jax.random.randint(key, (), 3, 7), "trouble": jnp.int32(0)}

    task = Task("seeing", SEEING, sample, 10)
    (found,) = evaluate(agent, state, Suite("s", (task,)), episodes=5, greedy=True).tasks
    for number in range(5):
        episode = record(agent, state, task, number=number, greedy=True)
        env, memory, first, rewards = Seeing(), agent.initial_carry(1), True, []
        obs = env.reset(seed=int(episode.states["seed"][0]), options={"level": episode.level})[0]
        over = False
        while not over:
            alone = jax.tree.map(lambda x: x[None], shown(obs))
            memory, decision = agent.act(state, agent.noise(jax.random.key(0), 1), memory, alone, np.array([first]))
            action, first = int(agent.actions.mode(decision.policy)[0]), False
            assert action == episode.actions[len(rewards)]
            obs, reward, terminated, truncated, _ = env.step(action)
            rewards.append(reward)
            over = terminated or truncated
        assert found.lengths[number] == len(rewards)
        assert found.returns[number] == pytest.approx(sum(rewards))


def test_a_student_learns_from_trees(agent: Agent):
    """Moments of every array of an observation, integers too."""
    learner = ppo_learner(agent, PPOSettings(normalise_observations=True, minibatches=1))
    state = jax.vmap(lambda key: learner.init(key, SEEING.observation_spec))(jax.random.key(1)[None])
    rollout = HostCollector(SEEING, agent, 8)(jax.random.key(0), state.agent, levels_of(1, 4))
    one, alone = jax.tree.map(lambda x: x[0], (rollout, state))
    after, metrics = learner.update(jax.random.key(2), alone, one, jnp.float32(0))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((after, metrics)))
    for moments, seen in (
        (after.agent.observations["image"], one.obs["image"]),
        (after.agent.observations["pair"]["1"], one.obs["pair"]["1"]),
    ):
        np.testing.assert_allclose(moments.mean, seen.mean((0, 1), np.float64), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(moments.deviation, seen.astype(np.float64).std((0, 1)), rtol=1e-3, atol=1e-3)


def test_flat_puts_arrays_one_after_the_other():
    tree = {"b": np.uint8([[[1, 2]], [[3, 4]]]), "a": {"c": np.float32([5, 6])}}
    flat = Vector().apply({}, tree)
    assert flat.dtype == jnp.float32
    np.testing.assert_array_equal(flat, [[5, 1, 2], [6, 3, 4]])
    np.testing.assert_array_equal(Vector().apply({}, np.float32([[[1], [2]]])), [[1, 2]])


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (1, "'image' of an observation has the shape (7, 8, 3), and the observation space says (8, 8, 3)"),
        (2, "'body/pose' of an observation has an entry that is not finite"),
        (3, "'pair/1' of an observation is of float32, and the observation space says int32"),
        (4, "an observation has no 'body/speed'"),
    ],
    ids=["shape", "not finite", "dtype", "missing"],
)
def test_what_is_wrong_in_an_observation_is_named(trouble: int, words: str):
    levels = levels_of(4, trouble=trouble)
    levels["limit"][:] = 100
    fleet = get_fleet(SEEING, levels, 4)
    fleet.reset(levels, np.array([1, 2, 3, 7]))

    def steps() -> None:
        for _ in range(2):
            fleet.send(np.zeros(4, np.int32))
            fleet.receive()

    with pytest.raises(UserError) as problem:
        steps()
    assert words in str(problem.value)
    assert f"in environment 3. Its level: limit = 100, trouble = {trouble}." in str(problem.value)


def test_an_environment_with_other_entries_than_announced_is_refused():
    other = HostEnvironment(Maker(FILE, "Seeing"), FIELDS[:2], Discrete(3), workers=1)
    with pytest.raises(UserError, match=r"has the entries \['body/pose', .*'pair/1'\], and not \['body/pose', "):
        get_fleet(other, levels_of(2), 2)


def test_spaces_of_which_no_tree_can_be_made_are_refused_in_a_sentence():
    from gymnasium import spaces

    box = spaces.Box(0, 1)
    with pytest.raises(UserError, match="At 'a/1' the observation space is Sequence.*no fixed size"):
        observed(spaces.Dict({"a": spaces.Tuple([box, spaces.Sequence(box)])}))
    with pytest.raises(UserError, match="entries 'a' and 'a/b'.*rename one"):
        observed(spaces.Dict({"a/b": box, "a": box}))
    with pytest.raises(UserError, match="which is empty"):
        observed(spaces.Dict({}))
    assert [one.field.name for one in observed(spaces.Dict({"arm/angle": box, "arm/speed": box}))] == [
        "arm/angle",
        "arm/speed",
    ]
