"""Expected scores and expected policy gradients of hidden games, without any sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tutelage.envs.hidden_games import solve
from tutelage.envs.hidden_games.settings import Game
from tutelage.envs.hidden_games.solve import History, Policy


def value(game: Game, policy: Policy, history: History) -> Any:
    """Of a history under the true distribution."""
    if len(history) == game.number:
        return 0
    second = solve.chance(game, history)
    now = solve.mixed(policy[history], *solve.action_values(game, history))
    following = [value(game, policy, (*history, tile)) for tile in (0, 1)]
    return now + (1 - second) * following[0] + second * following[1]


def outcomes(game: Game, policy: Policy, level: History) -> Iterator[tuple[Any, list[Any]]]:
    """Probability and rewards of all that a student may do on a level."""
    seen = [policy[history] for history, _ in solve.along(level)]
    for actions in product((0, 1), repeat=game.number):
        chances = [1 - p if action else p for p, action in zip(seen, actions, strict=True)]
        yield np.prod(chances), [solve.pay(game, tile, a) for tile, a in zip(level, actions, strict=True)]


def score(
    game: Game, policy: Policy, level: History, of: Callable[[Any], Any], critic: Callable[[History], Any] | None = None
) -> Any:
    """The mean over steps of a function of the advantage, with lambda = 1 and real rewards; values are exact, or the
    critic's.
    """
    known = {history: critic(history) if critic else value(game, policy, history) for history, _ in solve.along(level)}
    total = 0
    for chance, rewards in outcomes(game, policy, level):
        advantages = [sum(rewards[time:]) - known[history] for time, (history, _) in enumerate(solve.along(level))]
        total += chance * sum(map(of, advantages)) / game.number
    return total


def pvl(game: Game, policy: Policy, level: History) -> Any:
    return score(game, policy, level, lambda advantage: max(advantage, 0))


def fictitious_pvl(game: Game, policy: Policy, level: History) -> list[Any]:
    """At each step of a level, the positive part of the one-step error of fictitious transitions, with exact values."""
    found = []
    for history, _ in solve.along(level):
        second, first, before = solve.chance(game, history), policy[history], value(game, policy, history)
        total = 0
        for tile, action in product((0, 1), repeat=2):
            weight = (second if tile else 1 - second) * (1 - first if action else first)
            after = value(game, policy, (*history, tile))
            total += weight * max(solve.pay(game, tile, action) + after - before, 0)
        found.append(total)
    return found


class Training(NamedTuple):
    policies: list[dict[History, float]]
    """Before the first step, and after every step."""
    shown: list[History]
    """Levels, or first tiles."""


Gaps = dict[History, float]
"""By how much the first action is worth more than the other, times how often the history is seen."""
Teacher = Callable[[dict[History, float]], tuple[Any, Gaps]]
"""From a policy to what it is shown, and what it learns from that."""


def train(game: Game, teacher: Teacher, steps: int, rate: float, start: float = 0.5) -> Training:
    """Gradient ascent on the log odds of the first action, one for each history."""
    odds = {history: float(np.log(start / (1 - start))) for history in solve.histories(game)}
    result = Training([_policy(odds)], [])
    for _ in range(steps):
        policy = result.policies[-1]
        shown, gaps = teacher(policy)
        for history, gap in gaps.items():
            odds[history] += rate * policy[history] * (1 - policy[history]) * gap
        result.policies.append(_policy(odds))
        result.shown.append(shown)
    return result


def _policy(odds: dict[History, float]) -> dict[History, float]:
    return {history: float(1 / (1 + np.exp(-x))) for history, x in odds.items()}


def real_gaps(game: Game, level: History) -> Gaps:
    """Of the rewards that a level really pays."""
    return {history: float(solve.pay(game, t, 0) - solve.pay(game, t, 1)) for history, t in solve.along(level)}


def true_gap(game: Game, history: History) -> float:
    """Under the true distribution."""
    first, other = solve.action_values(game, history)
    return float(first - other)


def domain_randomisation(game: Game) -> Teacher:
    """Levels of the true distribution, all at once. Naive grounding is the same, whatever the levels are."""
    every: Gaps = dict.fromkeys(solve.histories(game), 0.0)
    for level in solve.levels(game):
        for history, gap in real_gaps(game, level).items():
            every[history] += float(solve.probability(game, level)) * gap
    return lambda policy: (None, every)


def highest(game: Game, score: Callable[[Game, Policy, History], Any]) -> Teacher:
    """The level that scores highest, and its real rewards; the first of equals."""
    gaps = {level: real_gaps(game, level) for level in solve.levels(game)}

    def teach(policy: dict[History, float]) -> tuple[History, Gaps]:
        level = max(gaps, key=lambda level: score(game, policy, level))
        return level, gaps[level]

    return teach


def grounded(game: Game, first_tiles: Callable[[dict[History, float]], float]) -> Teacher:
    """A game of two tiles, and fictitious rewards. How often the first is of the second kind depends on the policy."""
    start, first, second = solve.histories(game)
    gaps = {history: true_gap(game, history) for history in (start, first, second)}

    def teach(policy: dict[History, float]) -> tuple[float, Gaps]:
        share = first_tiles(policy)
        return share, {start: gaps[start], first: (1 - share) * gaps[first], second: share * gaps[second]}

    return teach
