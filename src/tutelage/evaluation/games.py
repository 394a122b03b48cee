"""How close a method comes to the exact answer of a matrix game."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..envs.matrix.settings import matrix
from ..envs.matrix.solve import expected_utility, maximin, minimax_regret, worst_payoff, worst_regret
from ..experiment import build
from ..rl.distributions import Categorical
from ..settings import Settings
from ..trainer import TrainState


class GameResult(NamedTuple):
    """A student's policy on a matrix game, averaged over the last half of training, beside the exact answers."""

    policy: np.ndarray
    mean_payoff: float
    """Against columns drawn uniformly; ``best_mean_payoff`` is the highest possible."""
    best_mean_payoff: float
    worst_payoff: float
    best_worst_payoff: float
    worst_regret: float
    best_worst_regret: float


def play_game(settings: Settings, iterations: int) -> GameResult:
    """Train on a matrix game and compare. Play of two sides that chase each other cycles; its average need not."""
    trainer = build(settings)
    agent = trainer.learner.agent
    actions = agent.actions
    assert isinstance(actions, Categorical)

    def step(state: TrainState, _: None) -> tuple[TrainState, jax.Array]:
        state, _metrics = trainer.step(state)
        first = jax.tree.map(lambda x: x[0], state.students.agent)
        noise = agent.noise(state.key, 1)
        _, decision = agent.act(first, noise, agent.initial_carry(1), jnp.ones((1, 1)), jnp.ones(1, bool))
        return state, actions.probabilities(decision.policy)[0]

    run = jax.jit(lambda state: jax.lax.scan(step, state, None, length=iterations)[1])
    policies = np.asarray(run(trainer.init(settings.train.seed, settings.train.shared_seed)), np.float64)
    policy = policies[iterations // 2 :].mean(axis=0)
    payoffs = matrix(settings.env)
    return GameResult(
        policy=policy,
        mean_payoff=float((policy @ np.asarray(payoffs, float)).mean()),
        best_mean_payoff=expected_utility(payoffs).value,
        worst_payoff=worst_payoff(payoffs, policy),
        best_worst_payoff=maximin(payoffs).value,
        worst_regret=worst_regret(payoffs, policy),
        best_worst_regret=minimax_regret(payoffs).value,
    )
