"""On games whose answer is known, each method comes close to the answer that the theory gives it.

Policies are averaged over the last half of training: two sides that chase each other cycle around their equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from tutelage import override, preset
from tutelage.evaluation.games import GameResult, play_game

ITERATIONS = 3000


def long(*case: Any) -> Any:
    """A game that a method plays by default in another version: it takes a minute to find out the same."""
    return pytest.param(*case, marks=pytest.mark.long)


@pytest.fixture
def play(optimised: ProcessPoolExecutor) -> Callable[..., GameResult]:
    def play(method: str, game: str, changes: dict[str, str] | None = None, iterations: int = ITERATIONS) -> GameResult:
        settings = override(preset("matrix", method), {"env.game": game} | (changes or {}))
        return optimised.submit(play_game, settings, iterations).result()

    return play


def test_domain_randomisation_finds_the_expected_utility_policy(play):
    result = play("dr", "ice-cream")
    assert result.mean_payoff > 0.99 * result.best_mean_payoff
    assert result.policy[1] > 0.95
    assert result.worst_regret > 2 * result.best_worst_regret  # and pays for it where it is wrong


@pytest.mark.parametrize(("game", "never"), [("ice-cream", [2]), long("corollary-1", [0, 1])])
def test_a_minimax_teacher_leads_close_to_the_maximin_policy(play, game, never):
    """Its entropy bonus keeps it curious, and keeps it from the last few per cent."""
    result = play("minimax", game, iterations=4500)
    assert result.worst_payoff > 0.93 * result.best_worst_payoff
    assert (result.policy[never] < 0.02).all()
    assert result.worst_regret > 1.3 * result.best_worst_regret  # maximin is another answer than least regret


@pytest.mark.parametrize(
    ("method", "within", "game"),
    [
        ("robust-plr", 1.15, "ice-cream"),
        long("robust-plr", 1.15, "corollary-1"),
        long("repaired", 1.25, "ice-cream"),
        ("repaired", 1.25, "corollary-1"),
    ],
)
def test_robust_replay_of_regret_finds_the_minimax_regret_policy(play, method, within, game):
    """REPAIRED's teacher never stops trying columns, which costs its students up to a fifth (docs/games.md)."""
    result = play(method, game)
    assert result.worst_regret < within * result.best_worst_regret


@pytest.mark.parametrize("p", [long(0.8), 0.5])
def test_plain_replay_pays_the_extra_regret_of_corollary_1_more_the_rarer_replay_is(play, p):
    result = play("plr", "corollary-1", {"env.p": str(p), "replay.rate": str(p)})
    predicted = (1 - p) / 2 - 0.02
    assert result.worst_regret - result.best_worst_regret == pytest.approx(predicted, abs=0.04)
