"""Trained with grounding, students of hidden games come to what the theory says; without, a regret teacher biases them.

Exact regret is the score, PPO is the learner, and a run is half a million steps. Policies are the probability of the
first action: apple, or fast at the start, after a dry tile and after ice.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build, override, preset
from tutelage.envs.hidden_games import solve
from tutelage.envs.hidden_games.settings import fruit, icy_road

ITERATIONS = 500
ROAD = icy_road(1, 15)


def trained(method: str, **changes: str) -> np.ndarray:
    """The policy after each history, averaged over the last half of training: a regret teacher makes it cycle."""
    settings = override(preset("hidden-games", method), {name.replace("_", "."): x for name, x in changes.items()})
    trainer = build(settings)
    agent, histories = trainer.learner.agent, 3 if settings.env.game == "icy-road" else 1

    def step(state: Any, _: None) -> tuple[Any, Any]:
        state, _report = trainer.step(state)
        first = jax.tree.map(lambda x: x[0], state.students.agent)
        noise, memory = agent.noise(state.key, histories), agent.initial_carry(histories)
        _, decision = agent.act(first, noise, memory, jnp.eye(histories), jnp.ones(histories, bool))
        return state, jax.nn.softmax(decision.policy)[:, 0]

    policies = jax.jit(lambda state: jax.lax.scan(step, state, None, length=ITERATIONS)[1])(trainer.init(0))
    return np.asarray(policies)[ITERATIONS // 2 :].mean(axis=0)


def lost(game: Any, policy: np.ndarray) -> float:
    """Of the Bayes-optimal utility."""
    known = dict(zip(solve.histories(game), map(float, policy), strict=True))
    return float(solve.utility(game, solve.bayes(game)) - solve.utility(game, known))


@pytest.mark.parametrize(("method", "grounding"), [("dr", "none"), ("robust-plr", "naive"), ("samplr", "samplr")])
def test_domain_randomisation_and_grounded_regret_find_the_bayes_optimal_fruit(method, grounding):
    policy = trained(method, train_grounding=grounding)
    assert policy[0] < 0.01
    assert lost(fruit(0.7), policy) < 0.01


def test_a_regret_teacher_without_grounding_holds_the_student_near_its_equilibrium():
    policy = trained("robust-plr")
    assert policy[0] == pytest.approx(3 / 13, abs=0.06)
    assert lost(fruit(0.7), policy) > 0.1


def test_the_same_teacher_makes_drivers_too_careful():
    policy = trained("robust-plr", env_game="icy-road")
    assert policy == pytest.approx([0.1] * 3, abs=0.1)
    assert lost(ROAD, policy) > 0.5


def test_fictitious_transitions_teach_the_bayes_optimal_driver_also_what_is_rare():
    """Naive grounding sees ice as seldom as the truth has it, and still drives fast after it."""
    samplr = trained("samplr", env_game="icy-road", replay_staleness="0.3")
    assert np.abs(samplr - [1, 1, 0]).max() < 0.2
    assert lost(ROAD, samplr) < 0.005
    naive = trained("robust-plr", env_game="icy-road", train_grounding="naive")
    assert naive[:2].min() > 0.98
    assert naive[2] > samplr[2] + 0.3
