"""Transitions apart from episodes, and levels that are prepared once: by hand, on environments made for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Continuous, Discrete, HiddenParameters
from tutelage.envs.wrappers import ActionRepeat, FrameStack, Grounded, Resampled
from tutelage.errors import UserError
from tutelage.rl.advantages import gae
from tutelage.rl.agent import Agent, AgentState
from tutelage.rl.distributions import Gaussian
from tutelage.rl.moments import none_yet
from tutelage.rollout import JaxCollector
from tutelage.types import TimeStep, Transition, played

STEPS, BATCH = 7, 2


class SeesItsValue(nn.Module):
    """In the place of a network: the value of an observation is its first number, and actions are zero."""

    outputs: int = 1
    recurrent = False

    def initial_carry(self, batch: int) -> Any:
        return ()

    def __call__(self, carry: Any, obs: Any, first: Any) -> Any:
        return carry, jnp.zeros((*first.shape, 2)), obs[..., 0]


def agent() -> tuple[Agent, AgentState]:
    network: Any = SeesItsValue()
    return Agent(network, Gaussian(1)), AgentState({}, none_yet(), ())


def played_by(env: Any, levels: Any, steps: int = STEPS) -> Any:
    """One student on levels ``[B]``; arrays ``[T, B]``."""
    who, state = agent()
    one = jax.tree.map(lambda x: jnp.asarray(x)[None], (state, levels))
    return jax.tree.map(lambda x: np.asarray(x[0]), jax.jit(JaxCollector(env, who, steps))(jax.random.key(0), *one))


# --- a fictitious environment whose answers are known


@dataclass(frozen=True)
class TwoTales:
    """The episode counts 1, 2, 3 and ends after three steps. What is paid is another story: 10 a step, its successor is
    100 more than the count, and at every second step of an episode it ends, by the rules or by a limit as the level
    says.
    """

    fictitious = True

    @property
    def action_space(self) -> Continuous:
        return Continuous(1)

    def prepare(self, level: Any) -> Any:
        return level

    def reset(self, key: Any, level: Any) -> tuple[Any, Any]:
        return jnp.int32(0), jnp.zeros(1)

    def step(self, key: Any, state: Any, action: Any, level: Any) -> tuple[Any, TimeStep]:
        state = state + 1
        obs = state.astype(jnp.float32)[None]
        ends = state == 2
        paid = Transition(jnp.float32(10), ends & (level == 0), ends & (level == 1), obs + 100)
        return state, TimeStep(obs, state == 3, paid)


@pytest.fixture(scope="module")
def tales() -> Any:
    return played_by(TwoTales(), jnp.array([0, 1]))


def test_values_come_from_the_transitions_successor(tales):
    counted = np.array([0, 1, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(tales.value, np.stack([counted, counted], 1))
    np.testing.assert_array_equal(tales.next_value, tales.value + 101)


def test_endings_come_from_the_transition_and_resets_from_the_episode(tales):
    second = np.array([False, True, False, False, True, False, False])
    third = np.array([False, False, True, False, False, True, False])
    np.testing.assert_array_equal(tales.terminated[:, 0], second)
    np.testing.assert_array_equal(tales.truncated[:, 1], second)
    assert not tales.terminated[:, 1].any()
    np.testing.assert_array_equal(tales.done, np.stack([third, third], 1))
    np.testing.assert_array_equal(tales.first[1:], tales.done[:-1])


def test_advantages_of_fictitious_transitions_by_hand(tales):
    """delta = r' + gamma V(s') - V(s), nothing flows back over the end of a transition or of the episode."""
    gamma, decay = 0.9, 0.5
    found = gae(tales.reward, tales.value, tales.next_value, tales.terminated, tales.cut, gamma, decay)
    bootstrapped = [10 + gamma * (v + 101) - v for v in (0, 1, 2)]
    ended = [bootstrapped[0], 10 - 1, bootstrapped[2]]  # at the second step, by the rules
    kept = gamma * decay
    np.testing.assert_allclose(found[:3, 0], [ended[0] + kept * ended[1], ended[1], ended[2]], rtol=1e-6)
    cut = bootstrapped
    np.testing.assert_allclose(found[:3, 1], [cut[0] + kept * cut[1], cut[1], cut[2]], rtol=1e-6)


def test_a_plain_environment_pays_no_forward_pass_for_its_successors():
    """Only at time limits, behind a conditional: a grounded environment alone values every successor apart."""
    who, state = agent()

    @dataclass(frozen=True)
    class Plain(TwoTales):
        fictitious = False

    def conditionals(env: Any) -> int:
        one = jax.tree.map(lambda x: jnp.asarray(x)[None], (state, jnp.array([0, 1])))
        return str(jax.make_jaxpr(JaxCollector(env, who, STEPS))(jax.random.key(0), *one)).count("cond[")

    assert conditionals(Plain()) == 1
    assert conditionals(TwoTales()) == 0


# --- grounding


class Coin(NamedTuple):
    heads: Any
    """Hidden: what a guess is paid by."""
    shown: Any
    """Has it been seen? Then the posterior knows it."""
    time: Any


@dataclass(frozen=True)
class CoinGame:
    """The level chooses a coin; truly it falls heads one time in four. The first step shows nothing, the second shows
    the coin, the third ends the episode. Each step pays 1 if the coin is heads.
    """

    @property
    def action_space(self) -> Continuous:
        return Continuous(1)

    def prepare(self, level: Any) -> Any:
        return level

    def reset(self, key: Any, level: Any) -> tuple[Coin, Any]:
        state = Coin(level, jnp.array(False), jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Any, state: Coin, action: Any, level: Any) -> tuple[Coin, TimeStep]:
        state = Coin(state.heads, state.time >= 1, state.time + 1)
        reward = state.heads.astype(jnp.float32)
        return state, played(self._observe(state), reward, state.time >= 3, jnp.array(False))

    def _observe(self, state: Coin) -> Any:
        return jnp.stack([state.time, state.shown & state.heads]).astype(jnp.float32)

    def prior(self, key: Any, level: Any) -> Any:
        return jax.random.bernoulli(key, 0.25)

    def posterior(self, key: Any, state: Coin, level: Any) -> Any:
        return jnp.where(state.shown, state.heads, self.prior(key, level))

    def impose(self, state: Coin, hidden: Any) -> Coin:
        return state._replace(heads=hidden)


MANY = jnp.ones(4000, bool)


def test_a_grounded_environment_pays_by_the_posterior_and_goes_on_with_its_level():
    """All levels say heads. Before the coin is seen a quarter is paid, afterwards what was seen is certain."""
    rollout = played_by(Grounded(CoinGame()), MANY, 3)
    np.testing.assert_allclose(rollout.reward[:2].mean(axis=1), 0.25, atol=0.03)
    np.testing.assert_array_equal(rollout.reward[2], 1.0)
    np.testing.assert_array_equal(rollout.obs[2, :, 1], 1.0)  # the episode's own coin was shown
    assert isinstance(CoinGame(), HiddenParameters)


def test_naive_grounding_draws_the_hidden_parameters_anew_for_every_episode():
    rollout = played_by(Resampled(CoinGame()), MANY, 6)
    assert set(np.unique(rollout.reward[:3].sum(axis=0))) == {0.0, 3.0}  # one coin for a whole episode
    np.testing.assert_allclose(rollout.reward.mean(), 0.25, atol=0.03)
    assert (rollout.reward[0] != rollout.reward[3]).any()  # and another for the next one on the same level


def test_what_hides_nothing_cannot_be_grounded():
    for wrapper in (Grounded, Resampled):
        with pytest.raises(UserError, match="TwoTales has no hidden parameters"):
            wrapper(TwoTales())


# --- action repeat and frame stack


def test_a_repeated_action_adds_up_rewards_and_stops_at_the_end():
    rollout = played_by(ActionRepeat(CoinGame(), 2), jnp.array([True]), 3)
    np.testing.assert_array_equal(rollout.reward[:, 0], [2.0, 1.0, 2.0])  # of three steps the second action plays one
    np.testing.assert_array_equal(rollout.done[:, 0], [False, True, False])
    np.testing.assert_array_equal(rollout.obs[:, 0, 0], [0.0, 2.0, 0.0])


def test_frames_are_stacked_newest_last_and_start_as_copies_of_the_first():
    rollout = played_by(FrameStack(CoinGame(), 3), jnp.array([True]), 4)
    np.testing.assert_array_equal(rollout.obs[:, 0, ::2], [[0, 0, 0], [0, 0, 1], [0, 1, 2], [0, 0, 0]])


def test_grounding_reaches_through_the_other_wrappers():
    """Two steps an action: the first action is paid by one draw, the second knows the coin."""
    rollout = played_by(Grounded(FrameStack(ActionRepeat(CoinGame(), 2), 2)), MANY, 2)
    assert set(np.unique(rollout.reward[0])) == {0.0, 2.0}
    np.testing.assert_allclose(rollout.reward[0].mean(), 0.5, atol=0.05)
    np.testing.assert_array_equal(rollout.reward[1], 1.0)
    with pytest.raises(UserError, match="outside of its frame stack"):
        FrameStack(Grounded(CoinGame()), 2)


# --- prepared levels

PREPARED: list[int] = []


@dataclass(frozen=True)
class Dear:
    """A level is a seed; what it takes to play it is a large table."""

    size: int = 5000

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def prepare(self, level: Any) -> Any:
        jax.debug.callback(lambda seed: PREPARED.append(int(seed)), level)
        return jnp.arange(self.size, dtype=jnp.float32) + level

    def reset(self, key: Any, level: Any) -> tuple[Any, Any]:
        return jnp.int32(0), level[:1]

    def step(self, key: Any, state: Any, action: Any, level: Any) -> tuple[Any, TimeStep]:
        state = state + 1
        obs = level[state][None]
        return state, played(obs, obs[0], state >= 3, jnp.array(False))


@pytest.fixture(scope="module")
def collect() -> Any:
    who, state = agent()
    who = Agent(who.network, Gaussian(1))
    one = jax.tree.map(lambda x: jnp.asarray(x)[None], (state, jnp.array([3, 8])))
    return JaxCollector(Dear(), who, STEPS), one


def test_a_level_is_prepared_once_a_rollout_however_often_it_restarts(collect):
    play, arguments = collect
    PREPARED.clear()
    rollout = jax.jit(play)(jax.random.key(0), *arguments)
    jax.effects_barrier()
    assert sorted(PREPARED) == [3, 8]
    np.testing.assert_array_equal(rollout.reward[0, :, 0], [4, 5, 6, 4, 5, 6, 4])


def test_the_loop_carries_no_copy_of_a_prepared_level(collect):
    play, arguments = collect
    jaxpr = jax.make_jaxpr(play)(jax.random.key(0), *arguments)
    (scan,) = [equation for equation in jaxpr.eqns if equation.primitive.name == "scan"]
    constants, carried = scan.params["num_consts"], scan.params["num_carry"]
    sizes = [int(np.prod(x.aval.shape)) for x in scan.invars]
    assert max(sizes[:constants]) == BATCH * Dear().size  # closed over
    assert max(sizes[constants : constants + carried]) < Dear().size
    assert max(int(np.prod(x.aval.shape)) for x in scan.outvars) < Dear().size  # and not kept for every step
