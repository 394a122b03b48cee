"""Loss terms: what each is given, what all of them see, and what becomes of their losses and states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.curricula.random import DomainRandomization
from tutelage.rl.agent import Output
from tutelage.rl.learner import Learner, Minibatch, StudentState
from tutelage.rl.ppo import PPO, ppo_learner
from tutelage.settings import PPOSettings
from tutelage.trainer import Trainer

from .made_rollouts import BATCH, STEPS, experience

SETTINGS = PPOSettings(epochs=1, learning_rate=0.01, max_grad_norm=1e9, discount=0.9, gae_lambda=0.8)
KEY, START, OBS = jax.random.key(0), jnp.float32(0), np.zeros(4, np.float32)


@dataclass(frozen=True)
class Nothing:
    """A term that adds nothing and changes nothing."""

    def init(self, key: Any) -> Any:
        return ()

    def before(self, key: Any, state: Any, batch: Minibatch) -> tuple[Any, dict[str, Any]]:
        return state, {}

    def change(self, key: Any, state: Any, batch: Minibatch) -> Minibatch:
        return batch

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        return jnp.float32(0), {}


@pytest.fixture(scope="module")
def learner(toy_agent) -> Learner:
    """Plain PPO."""
    return ppo_learner(toy_agent(), SETTINGS)


@pytest.fixture(scope="module")
def learn(random_state):
    """One update from random parameters, compiled."""

    def update(learner: Learner, state: Any = None) -> tuple[StudentState, dict[str, Any]]:
        state = random_state(learner, OBS) if state is None else state
        return jax.jit(learner.update)(KEY, state, experience(), START)

    return update


def with_terms(learner: Learner, *more: Any, first: tuple[Any, ...] = (), **changes: Any) -> Learner:
    """The same learner with terms after PPO's own, and before it."""
    return replace(learner, terms=(*first, *learner.terms, *more), ppo=replace(learner.ppo, **changes))


def gradient(state: StudentState) -> Any:
    """The only gradient that an optimiser has seen: Adam remembers a tenth of it."""
    (adam,) = [s for s in jax.tree.leaves(state.optimiser, is_leaf=lambda x: hasattr(x, "mu")) if hasattr(s, "mu")]
    return jax.tree.map(lambda m: np.asarray(m) / 0.1, adam.mu)


def assert_close(a: Any, b: Any) -> None:
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6), a, b)


# --- a term that does nothing


@pytest.mark.parametrize("core", ["none", "gru"])
def test_a_term_that_does_nothing_changes_no_bit(toy_agent, learn, core):
    """Nor does it change what is drawn: minibatches are the same."""
    plain = with_terms(ppo_learner(toy_agent(core), SETTINGS), epochs=2, minibatches=2)
    after, metrics = learn(plain)
    again, more = learn(with_terms(plain, Nothing(), first=(Nothing(),)))
    jax.tree.map(np.testing.assert_array_equal, after._replace(terms=()), again._replace(terms=()))
    jax.tree.map(np.testing.assert_array_equal, metrics, more)
    assert (after.terms, again.terms) == (((),), ((), (), ()))


def test_plain_ppo_is_its_term_alone(toy_agent, learner):
    agent = toy_agent()
    assert learner == Learner(agent, (PPO(agent.actions, SETTINGS),), SETTINGS)


# --- terms that change the minibatch


@dataclass(frozen=True)
class Watching(Nothing):
    """Says what it sees of the advantages."""

    name: str

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        return jnp.float32(0), {self.name: batch.advantage.mean(), f"{self.name}/value": output.value.mean()}


@dataclass(frozen=True)
class Constant(Nothing):
    """All advantages are one number, and all that is seen is another."""

    advantage: float
    seen: float = 0.5

    def change(self, key: Any, state: Any, batch: Minibatch) -> Minibatch:
        obs = jnp.full_like(batch.obs, self.seen)
        return batch._replace(advantage=jnp.full_like(batch.advantage, self.advantage), obs=obs)


def test_a_change_of_the_minibatch_is_seen_by_all_terms(learner, learn, random_state):
    """Also by those before, and by PPO: the losses come after all changes."""
    changed = with_terms(learner, Constant(2.0), Watching("after"), first=(Watching("before"),))
    _, metrics = learn(changed)
    assert metrics["before"] == metrics["after"] == 2
    state = random_state(changed, OBS).agent
    value = learner.agent.value(state, (), np.full((1, 4), 0.5, np.float32), np.zeros(1, bool))
    assert metrics["before/value"] == pytest.approx(float(value[0]), rel=1e-5), "what is seen was changed too"
    assert learn(with_terms(learner, Constant(0.0)))[1]["policy_loss"] == 0, "without an advantage there is none"


@dataclass(frozen=True)
class Adding(Nothing):
    number: float

    def change(self, key: Any, state: Any, batch: Minibatch) -> Minibatch:
        return batch._replace(advantage=self.number - 2 * batch.advantage)


def test_changes_are_made_one_after_the_other(learner, learn):
    terms = (Constant(5.0), Adding(1.0), Adding(3.0), Watching("after"))
    assert learn(with_terms(learner, *terms))[1]["after"] == 3 - 2 * (1 - 2 * 5)


# --- terms that add a loss


@dataclass(frozen=True)
class Rising(Nothing):
    """Pays for high values, whatever is seen."""

    weight: float

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        return -self.weight * output.value.mean(), {"mean_value": output.value.mean()}


def test_a_linear_loss_adds_its_gradient_by_hand(learner, learn):
    """The derivative of the mean value is 1 by the last bias, and 0 by all that leads to the policy only."""
    plain, rising = (gradient(learn(chosen)[0])["params"] for chosen in (learner, with_terms(learner, Rising(3.0))))
    np.testing.assert_allclose(rising["value"]["bias"] - plain["value"]["bias"], [-3.0], rtol=1e-4)
    for name in ("policy", "policy_hidden_0"):
        assert_close(rising[name], plain[name])
    assert (np.abs(rising["value"]["kernel"] - plain["value"]["kernel"]) > 1e-3).any()


@dataclass(frozen=True)
class Calm(Nothing):
    """What is seen a little differently should be valued alike: it asks the network once more."""

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        other = forward(batch.obs + 0.5, batch.first)
        distance = jnp.square(other.value - output.value).mean()
        return distance, {"distance": distance}


@pytest.mark.parametrize("core", ["none", "gru"])
def test_the_gradient_of_all_terms_is_that_of_the_sum_of_their_losses(toy_agent, learn, random_state, core):
    """The plain sum is differentiated by JAX, through the network itself."""
    plain = ppo_learner(toy_agent(core), SETTINGS)
    both = with_terms(plain, Calm(), Rising(0.5))
    after, metrics = learn(both)
    params, rollout, agent = random_state(both, OBS).agent.params, experience(), plain.agent

    def loss(params: Any) -> Any:
        def value(obs: Any) -> Any:
            return agent.network.apply(params, agent.initial_carry(BATCH), obs, rollout.first)[2]

        first, second = value(rollout.obs), value(rollout.obs + 0.5)
        return jnp.square(second - first).mean() - 0.5 * first.mean(), jnp.square(second - first).mean()

    (_, distance), more = jax.jit(jax.value_and_grad(loss, has_aux=True))(params)
    expected = jax.tree.map(lambda a, b: a + np.asarray(b), gradient(learn(plain)[0]), more)
    assert_close(gradient(after), expected)
    assert metrics["distance"] == pytest.approx(float(distance), rel=1e-4)
    assert {"policy_loss", "mean_value", "grad_norm"} <= set(metrics), "the figures of all terms"


# --- terms with a state


@dataclass(frozen=True)
class Counting(Nothing):
    """Counts updates; its loss and its changes see the state that an update began with, of all that is learned from."""

    def init(self, key: Any) -> Any:
        return {"updates": jnp.int32(10), "target": jnp.zeros(())}

    def before(self, key: Any, state: Any, batch: Minibatch) -> tuple[Any, dict[str, Any]]:
        state = {"updates": state["updates"] + 1, "target": batch.target.sum()}
        return state, {"updates": state["updates"]}

    def change(self, key: Any, state: Any, batch: Minibatch) -> Minibatch:
        return batch._replace(extra=jnp.full(batch.first.shape, state["updates"]))

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        return jnp.float32(0), {"seen": state["updates"] + 0.0, "changed": batch.extra.mean()}


def test_a_terms_state_is_the_students_and_goes_from_one_update_to_the_next(learner, learn):
    counting = with_terms(learner, Counting(), first=(Nothing(),), epochs=2, minibatches=2, gae_lambda=0.0)
    state = jax.jit(lambda key: counting.init(key, OBS))(KEY)
    for number in (10, 11, 12):
        assert state.terms[0] == state.terms[1] == ()
        assert state.terms[2]["updates"] == number
        state, metrics = learn(counting, state)
        assert metrics["seen"] == metrics["changed"] == number + 1, "the same in every minibatch of an update"
        assert metrics["updates"] == number + 1
    played = experience()
    target = played.reward + 0.9 * np.where(played.terminated, 0, played.next_value)
    assert state.terms[2]["target"] == pytest.approx(target.sum(), rel=1e-4), "of the whole batch, before it is split"


def test_every_student_of_a_run_has_a_state_of_each_term(toy, learner):
    counting = with_terms(learner, Counting())
    curriculum = DomainRandomization(toy.levels.sample, 4, students=2)
    trainer = Trainer(toy, counting, curriculum, students=2, levels=4, rollout=6, iterations=10)
    state = jax.eval_shape(trainer.init, 0)
    assert state.students.terms[1]["updates"].shape == (2,)
    after, report = jax.eval_shape(trainer.step, state)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(lambda x: (x.shape, x.dtype), state)
    assert {"ppo/seen", "ppo/updates"} <= set(report.metrics)


# --- what a term adds to the minibatch


@dataclass(frozen=True)
class Noting(Nothing):
    """Adds arrays to the minibatch, and noise to tell draws apart."""

    def change(self, key: Any, state: Any, batch: Minibatch) -> Minibatch:
        return batch._replace(extra={"double": 2 * batch.obs, "noise": jax.random.normal(key, batch.first.shape)})


@dataclass(frozen=True)
class Reading(Nothing):
    """Reads what another term has added."""

    heard: list

    def loss(self, state: Any, batch: Minibatch, output: Output, forward: Any) -> tuple[Any, dict[str, Any]]:
        extra = batch.extra
        jax.debug.callback(lambda noise: self.heard.append(np.asarray(noise)), extra["noise"])
        error = jnp.abs(extra["double"] - 2 * batch.obs).max()
        # A loss on what was added, which has the axes of the minibatch: the network's values should be its sum.
        return jnp.square(output.value - extra["double"].sum(-1)).mean(), {"error": error}


@pytest.mark.parametrize(("core", "shape"), [("none", (1, STEPS * BATCH // 2)), ("gru", (STEPS, BATCH // 2))])
def test_what_a_term_adds_to_a_minibatch_is_there_for_all_losses(toy_agent, learn, core, shape):
    plain, heard = ppo_learner(toy_agent(core), SETTINGS), []
    _, metrics = jax.block_until_ready(learn(with_terms(plain, Noting(), Reading(heard), epochs=2, minibatches=2)))
    jax.effects_barrier()
    assert metrics["error"] == 0
    assert np.isfinite(metrics["grad_norm"])
    assert {noise.shape for noise in heard} == {shape}
    assert len(np.unique(np.stack(heard))) == 4 * np.prod(shape), "each minibatch has random numbers of its own"


def test_averaged_weights_follow_the_acting_ones_and_do_not_change_them(learner, learn):
    """The decay grows as (1 + n) / (10 + n) up to its full length; here that is reached at the second update."""
    averaging = replace(learner, ppo=replace(SETTINGS, average=0.15))
    first = averaging.init(KEY, OBS)
    second, _ = learn(averaging, first)
    third, _ = learn(averaging, second)
    expected = first.agent.params
    for decay, state in ((0.1, second), (0.15, third)):
        expected = jax.tree.map(lambda old, new, d=decay: d * old + (1 - d) * new, expected, state.agent.params)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), state.average.params, expected)
        jax.tree.map(np.testing.assert_array_equal, state.product.params, state.average.params)
    plain, _ = learn(learner, learner.init(KEY, OBS))
    jax.tree.map(np.testing.assert_array_equal, second.agent, plain.agent)
    assert plain.average == ()
    assert plain.product is plain.agent
