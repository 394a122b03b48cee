"""How an agent learns from rollouts: minibatches, a list of loss terms, and an optimiser.

A term may change a minibatch (mixreg), add a loss (PPO itself, DrAC) and carry a state from one update to the next (the
bandit of UCB-DrAC). Plain PPO is the list with PPO's term alone. Teachers that learn are students too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..devices import ONE, Devices
from ..settings import PPOSettings
from ..types import Metrics, Observation, Rollout, State
from .advantages import gae
from .agent import Agent, AgentState, Output
from .moments import Moments, seen


class Minibatch(NamedTuple):
    """What losses read, ``[T, B, ...]``; values and targets in the network's unit."""

    obs: Observation
    """As the network sees them."""
    first: Bool[Array, "T B"]
    action: Any
    log_prob: Float[Array, "T B"]
    value: Float[Array, "T B"]
    target: Float[Array, "T B"]
    advantage: Float[Array, "T B"]
    extra: Any = ()
    """What a term has added for its own loss: arrays ``[T, B, ...]``."""


class Forward(Protocol):
    """The network with the parameters that are being learned, on other observations of the same minibatch."""

    def __call__(self, obs: Observation, first: Bool[Array, "T B"]) -> Output: ...


class LossTerm(Protocol):
    """One part of what a learner minimises. Frozen dataclasses; their state is a tree of arrays."""

    def init(self, key: PRNGKeyArray) -> State:
        """The state before the first update; ``()`` for most."""
        ...

    def before(self, key: PRNGKeyArray, state: State, batch: Minibatch) -> tuple[State, Metrics]:
        """The state for an update, and figures. Once an update, before all else, with all that will be learned from."""
        ...

    def change(self, key: PRNGKeyArray, state: State, batch: Minibatch) -> Minibatch:
        """The minibatch that all terms learn from. Called with whole minibatches, also where devices share them."""
        ...

    def loss(self, state: State, batch: Minibatch, output: Output, forward: Forward) -> tuple[Array, Metrics]:
        """A loss that is a mean over the minibatch, and figures. ``output`` is the network's on ``batch.obs``."""
        ...


class Average(NamedTuple):
    """An exponential average of weights over updates."""

    params: Any
    updates: Float[Array, ""]


class StudentState(NamedTuple):
    """All that a student learns and remembers between rollouts."""

    agent: AgentState
    optimiser: Any
    terms: tuple[State, ...]
    average: Any
    """An ``Average`` of the weights; ``()`` where none is kept."""

    @property
    def product(self) -> AgentState:
        """The student to be evaluated and kept: the averaged one where there is one. The one that acts is ``agent``."""
        return self.agent if self.average == () else self.agent._replace(params=self.average.params)


@dataclass(frozen=True)
class Learner:
    """An agent and the rule by which it learns. All functions are of one student, without an ``S`` axis."""

    agent: Agent
    terms: tuple[LossTerm, ...]
    ppo: PPOSettings
    devices: Devices = ONE
    """Over which the levels it plays and learns from are sharded."""

    def init(self, key: PRNGKeyArray, obs: Observation) -> StudentState:
        """A new student. ``obs`` is one observation (or its shapes), without a batch."""
        agent = self.agent.init(key, obs)
        states = tuple(term.init(jax.random.fold_in(key, i)) for i, term in enumerate(self.terms))
        # No two fields share an array: a state may be donated to a compiled function.
        average = Average(jax.tree.map(jnp.copy, agent.params), jnp.zeros(())) if self.ppo.average else ()
        return StudentState(agent, self._optimiser.init(agent.params), states, average)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        # The step size is applied by hand: it follows the progress of the run, which is not a count of updates.
        return optax.chain(
            optax.clip_by_global_norm(self.ppo.max_grad_norm), optax.scale_by_adam(eps=self.ppo.adam_epsilon)
        )

    def update(
        self, key: PRNGKeyArray, state: StudentState, rollout: Rollout, progress: Float[Array, ""]
    ) -> tuple[StudentState, Metrics]:
        """Learn from a rollout ``[T, B, ...]``. ``progress`` is the share of the run that is done, from 0 to 1."""
        ppo, agent = self.ppo, state.agent
        if self.agent.normalise_returns:
            discount = ppo.return_discount or ppo.discount
            agent = agent._replace(returns=_observe_returns(agent.returns, rollout, discount))
        k_change, k_before = jax.random.split(jax.random.fold_in(key, 1))
        batch = self._batch(state.agent, agent, rollout)
        terms, figures = self._before(k_before, state.terms, batch)
        # A minibatch is drawn from all levels, so every device needs them all; the whole batch stays where it is.
        batch = self.devices.shard(batch) if ppo.minibatches == 1 else self.devices.replicate(batch)
        gradients = self.devices.pmean(self._gradients)
        rate = ppo.learning_rate * ((1.0 - progress) if ppo.anneal else 1.0)
        columns = batch.first.shape[1]

        def minibatch(carry: tuple[Any, Any], draw: tuple[Array, PRNGKeyArray]) -> tuple[tuple[Any, Any], Metrics]:
            params, optimiser = carry
            index, k_terms = draw
            part = batch if ppo.minibatches == 1 else jax.tree.map(lambda x: jnp.take(x, index, axis=1), batch)
            for i, (term, own) in enumerate(zip(self.terms, terms, strict=True)):
                part = term.change(jax.random.fold_in(k_terms, i), own, part)
            (_, metrics), gradient = gradients((params, terms), part)
            update, optimiser = self._optimiser.update(gradient, optimiser, params)
            params = jax.tree.map(lambda p, u: p - rate * u, params, update)
            return (params, optimiser), {**metrics, "grad_norm": optax.tree.norm(gradient)}

        def shuffled(key: PRNGKeyArray) -> Int[Array, "m b"]:
            return jax.random.permutation(key, columns).reshape(ppo.minibatches, -1)

        number = ppo.epochs * ppo.minibatches
        order = jax.vmap(shuffled)(jax.random.split(key, ppo.epochs)).reshape(number, -1)
        draws = (order, jax.random.split(k_change, number))
        (params, optimiser), metrics = jax.lax.scan(minibatch, (agent.params, state.optimiser), draws)
        if self.agent.normalise_observations:
            agent = agent._replace(observations=_observe(agent.observations, rollout.obs))
        metrics = jax.tree.map(jnp.mean, metrics)
        agent, average = agent._replace(params=params), self._averaged(state.average, params)
        return StudentState(agent, optimiser, terms, average), metrics | figures

    def _averaged(self, average: Any, params: Any) -> Any:
        """With new weights added. The decay grows to its full length, so that the first weights are soon forgotten."""
        if not self.ppo.average:
            return average
        decay = jnp.minimum(self.ppo.average, (1 + average.updates) / (10 + average.updates))
        mixed = jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, average.params, params)
        return Average(mixed, average.updates + 1)

    def _batch(self, acted: AgentState, agent: AgentState, rollout: Rollout) -> Minibatch:
        """A rollout as losses read it. ``acted`` is the agent that played it, ``agent`` knows its returns."""
        # Rewards are measured in the unit of now, values were in the unit of then: what the network said stays what it
        # is. The units differ much after rollouts without any reward, whose unit is close to 0.
        unit, then, most = self.agent.unit(agent), self.agent.unit(acted), self.ppo.reward_clip
        reward, value, next_value = rollout.reward / unit, rollout.value / then, rollout.next_value / then
        advantage = gae(
            jnp.clip(reward, -most, most) if self.agent.normalise_returns and most > 0 else reward,
            value,
            next_value,
            rollout.terminated,
            rollout.cut,
            self.ppo.discount,
            self.ppo.gae_lambda,
        )
        batch = Minibatch(
            # As they were seen when it acted; what is learned about observations is for the next rollout.
            obs=self.agent.perceive(agent, rollout.obs),
            first=rollout.first,
            action=rollout.action,
            log_prob=rollout.log_prob,
            value=value,
            target=value + advantage,
            # Over the whole batch, before it is split.
            advantage=(advantage - advantage.mean()) / (advantage.std() + 1e-5),
        )
        if not self.agent.network.recurrent:  # every transition is a trajectory of its own
            batch = jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), batch)
        return batch

    def _gradients(self, replicated: tuple[Any, tuple[State, ...]], part: Minibatch) -> Any:
        params, states = replicated

        def loss(params: Any) -> tuple[Float[Array, ""], Metrics]:
            def forward(obs: Observation, first: Array) -> Output:
                return self.agent.forward(params, obs, first)

            output = forward(part.obs, part.first)
            found = [term.loss(own, part, output, forward) for term, own in zip(self.terms, states, strict=True)]
            return reduce(add, [value for value, _ in found]), reduce(lambda a, b: a | b, [m for _, m in found])

        return jax.value_and_grad(loss, has_aux=True)(params)

    def _before(
        self, key: PRNGKeyArray, states: tuple[State, ...], batch: Minibatch
    ) -> tuple[tuple[State, ...], Metrics]:
        found = [
            term.before(jax.random.fold_in(key, i), own, batch)
            for i, (term, own) in enumerate(zip(self.terms, states, strict=True))
        ]
        return tuple(own for own, _ in found), reduce(lambda a, b: a | b, [figures for _, figures in found], {})


def _observe(statistics: Any, obs: Observation) -> Any:
    """Add the observations of a rollout."""
    return jax.tree.map(lambda x, moments: seen(moments, x.astype(jnp.float32)), obs, statistics)


def _observe_returns(statistics: Moments, rollout: Rollout, discount: float) -> Moments:
    """Add a rollout's discounted returns-so-far, which start anew with every episode."""

    def forward(return_tm1: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        r_t, first_t = step
        return_t = r_t + discount * jnp.where(first_t, 0.0, return_tm1)
        return return_t, return_t

    _, returns = jax.lax.scan(forward, jnp.zeros_like(rollout.reward[0]), (rollout.reward, rollout.first))
    return seen(statistics, returns)
