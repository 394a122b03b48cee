"""Environments in worker processes: that a rollout is what one plain environment would have given, and what is said
when something goes wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Continuous, Discrete, Suite, Task
from tutelage.errors import UserError
from tutelage.evaluation.evaluate import evaluate
from tutelage.evaluation.record import record
from tutelage.hosts import play
from tutelage.hosts.environment import HostEnvironment
from tutelage.hosts.fields import Field, nested
from tutelage.hosts.fleet import _open, close_all, get_fleet
from tutelage.hosts.play import HostCollector, by_name
from tutelage.hosts.simulator import Maker
from tutelage.hosts.spaces import observed, played
from tutelage.plugins import load_file
from tutelage.rl.agent import Agent
from tutelage.rl.distributions import distribution
from tutelage.rl.encoders import Vector
from tutelage.rl.moments import Moments
from tutelage.rl.networks import CORES, ActorCritic

FILE = str(Path(__file__).with_name("simulators.py"))
Counting, Reaching = load_file(FILE).Counting, load_file(FILE).Reaching
VECTOR = (Field("", (3,), "float32"),)
COUNTING = HostEnvironment(Maker(FILE, "Counting"), VECTOR, Discrete(3), workers=2, patience=3.0)
REACHED = (Field("at", (2,), "float32"), Field("mode", (3,), "float32"))
REACHING = HostEnvironment(Maker(FILE, "Reaching"), REACHED, Continuous(2), workers=1)


def student(env: HostEnvironment, core: str = "gru") -> Agent:
    actions = distribution(env.action_space)
    network = ActorCritic(Vector(), CORES[core](4), actions.outputs, 4, constants=actions.constants)
    return Agent(network, actions, normalise_returns=True, normalise_observations=True)


def students(one: Agent, env: HostEnvironment, count: int) -> Any:
    state = jax.vmap(lambda key: one.init(key, env.observation_spec))(jax.random.split(jax.random.key(1), count))
    # Statistics that are not those of a beginner.
    moments = jax.tree.map(
        lambda m: m._replace(number=m.number + 10, mean=m.mean + 1, squares=m.squares + 40),
        state.observations,
        is_leaf=lambda x: isinstance(x, Moments),
    )
    return state._replace(observations=moments)


def counting_levels(*shape: int, trouble: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    whole = {"goal": rng.integers(3, 9, shape), "limit": rng.integers(4, 7, shape), "trouble": np.zeros(shape)}
    whole["trouble"][..., -1] = trouble
    return {name: value.astype(np.int32) for name, value in whole.items()}


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays():
    yield
    close_all()
    assert not _open


@pytest.mark.parametrize("batch", [3, 4], ids=["as one", "in halves"])
def test_a_rollout_is_what_one_plain_environment_gives(batch, monkeypatch):
    """Every trajectory is played again, alone and in this process, with the actions that were recorded."""
    monkeypatch.setattr(play, "ENOUGH", 4)
    one, count, steps = student(COUNTING), 2, 20
    state, levels = students(one, COUNTING, count), counting_levels(count, batch)
    key = jax.random.key(3)
    rollout = HostCollector(COUNTING, one, steps)(key, state, levels)
    assert jax.tree.map(np.shape, rollout.reward) == (count, steps, batch)
    seeds = np.asarray(jax.random.randint(jax.random.split(key)[0], (count * batch,), 0, 2**31 - 1)).reshape(
        count, batch
    )
    done, cuts = 0, 0
    for s in range(count):
        mine = jax.tree.map(lambda x, s=s: x[s], state)
        for b in range(batch):
            env, seed = Counting(), int(seeds[s, b])
            level = {name: value[s, b] for name, value in levels.items()}
            obs, memory, first = env.reset(seed=seed, options={"level": level})[0], one.initial_carry(1), True
            for t in range(steps):
                np.testing.assert_array_equal(rollout.obs[s, t, b], obs)
                assert rollout.first[s, t, b] == first
                memory, decision = one.act(mine, one.noise(key, 1), memory, obs[None], np.array([first]))
                np.testing.assert_allclose(rollout.policy[s, t, b], decision.policy[0], atol=1e-5)
                np.testing.assert_allclose(rollout.value[s, t, b], decision.value[0], atol=1e-5)
                action = rollout.action[s, t, b]
                expected = one.actions.log_prob(decision.policy[0], action)
                np.testing.assert_allclose(rollout.log_prob[s, t, b], expected, atol=1e-5)
                obs, reward, terminated, truncated, _ = env.step(int(action))
                assert rollout.reward[s, t, b] == np.float32(reward)
                assert (rollout.terminated[s, t, b], rollout.truncated[s, t, b]) == (terminated, truncated)
                assert rollout.done[s, t, b] == (terminated or truncated)
                if not terminated:  # what comes after an end by the rules is read by nobody
                    following = one.value(mine, memory, obs[None], np.zeros(1, bool))
                    np.testing.assert_allclose(rollout.next_value[s, t, b], following[0], atol=1e-5)
                first = terminated or truncated
                done, cuts = done + terminated, cuts + (truncated and not terminated)
                if first:
                    seed = (seed * 1_103_515_245 + 12_345) % 2**31
                    obs = env.reset(seed=seed, options={"level": level})[0]
    assert done > 0
    assert cuts > 0


def test_the_same_key_gives_the_same_rollout_after_any_history():
    one = student(COUNTING)
    state, levels = students(one, COUNTING, 1), counting_levels(1, 6)
    collect = HostCollector(COUNTING, one, 5)
    before = collect(jax.random.key(0), state, levels)
    other = collect(jax.random.key(1), state, levels)
    close_all()
    after = collect(jax.random.key(0), state, levels)
    jax.tree.map(np.testing.assert_array_equal, before, after)
    assert not np.array_equal(before.action, other.action)


def test_continuous_actions_reach_the_bounds():
    one = student(REACHING, "none")
    rollout = HostCollector(REACHING, one, 7)(
        jax.random.key(0), students(one, REACHING, 1), np.full((1, 4), 2, np.int32)
    )
    np.testing.assert_array_equal(rollout.obs["mode"][0, 0], np.tile([0, 0, 1], (4, 1)))
    scaled = np.clip([5, 0] + np.array([5, 4]) * rollout.action, [0, -4], [10, 4])
    np.testing.assert_allclose(rollout.reward, scaled[..., 0], rtol=1e-5)
    np.testing.assert_allclose(rollout.obs["at"][0, 1], scaled[0, 0] / 10, rtol=1e-5)


def test_every_episode_of_an_evaluation_counts_whatever_the_fleet_has():
    one = student(COUNTING)
    state = jax.tree.map(lambda x: x[0], students(one, COUNTING, 1))

    def sample(key: Any) -> Any:
        return {"goal": jax.random.randint(key, (), 3, 9), "limit": jnp.int32(6), "trouble": jnp.int32(0)}

    suite = Suite("s", (Task("a", COUNTING, sample, 50), Task("b", COUNTING, sample, 50)))
    close_all()
    few = evaluate(one, state, suite, episodes=11)
    level = {name: value[0] for name, value in by_name(counting_levels(1, 6)).items()}
    get_fleet(COUNTING, level, 5)
    again = evaluate(one, state, suite, episodes=11)
    for mine, theirs in zip(few.tasks, again.tasks, strict=True):
        np.testing.assert_array_equal(mine.returns, theirs.returns)
        np.testing.assert_array_equal(mine.lengths, theirs.lengths)
        assert len(mine.returns) == 11
        assert (mine.lengths <= 6).all()
    episode = record(one, state, suite.tasks[1], number=4)
    assert episode.length == few.tasks[1].lengths[4]
    assert episode.total == pytest.approx(few.tasks[1].returns[4])
    env = Counting()
    env.reset(seed=int(episode.states["seed"][0]), options={"level": episode.level})
    assert [env.step(int(action))[1] for action in episode.actions] == pytest.approx(episode.rewards.tolist())


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (1, ["has died (exit code 3) while playing a step"]),
        (2, ["has not answered for 3 s while playing a step"]),
        (3, ["failed with RuntimeError: the physics exploded", "in _misbehave"]),
        (4, ["shape (7,)", "observation space says (3,)"]),
        (5, ["a reward of nan"]),
        (6, ["ValueError: this level is outside of the space", "while starting an episode"]),
    ],
)
def test_a_worker_that_dies_hangs_or_errs_is_named_with_its_level(trouble: int, words: list[str]):
    levels = {name: value[0] for name, value in counting_levels(1, 4, trouble=trouble).items()}
    fleet = get_fleet(COUNTING, levels, 4)

    def play() -> None:
        fleet.reset(levels, np.arange(4))
        for _ in range(3):
            fleet.send(np.zeros(4, np.int32))
            fleet.receive()

    with pytest.raises(UserError) as problem:
        play()
    shown = (
        f"in environment 3. Its level: goal = {levels['goal'][3]}, limit = {levels['limit'][3]}, trouble = {trouble}."
    )
    for part in ("Worker 1", shown, *words):
        assert part in str(problem.value)
    assert not _open  # the next who asks gets a new fleet
    healthy = {name: value[0] for name, value in counting_levels(1, 4).items()}
    if trouble == 1:
        assert get_fleet(COUNTING, healthy, 4).reset(healthy, np.arange(4)).shape == (4, 3)


def test_a_level_keeps_its_structure():
    assert nested({"": 3}) == 3
    assert nested({"a": 1, "b/c": 2, "b/d": 3}) == {"a": 1, "b": {"c": 2, "d": 3}}
    assert list(by_name({"b": {"c": np.zeros(2)}, "a": (np.ones(2),)})) == ["a/0", "b/c"]
    assert list(by_name(np.zeros(3))) == [""]


def test_spaces_that_cannot_be_modelled_are_refused_in_a_sentence():
    from gymnasium import spaces

    with pytest.raises(UserError, match="The action space is MultiDiscrete.*Discrete or a Box"):
        played(spaces.MultiDiscrete([2, 3]))
    with pytest.raises(UserError, match="The observation space is .*no fixed size"):
        observed(spaces.Sequence(spaces.Discrete(2)))
    assert played(spaces.Discrete(4, start=-1)).actions(np.int32([0, 3])) == [-1, 2]
    unbounded = played(spaces.Box(-np.inf, np.inf, (2, 2)))
    np.testing.assert_array_equal(unbounded.actions(np.arange(4.0)[None]), [[[0, 1], [2, 3]]])
    assert tuple(one.field for one in observed(Reaching.observation_space)) == REACHED
