"""Exact answers to a hidden game, as fractions. A policy is the probability of the first action after each history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from .settings import Game

History = tuple[int, ...]
"""The tiles seen so far, 0 or 1 each; of a whole game, its level."""
Policy = Mapping[History, Any]
"""Fractions or floats."""


class Equilibrium(NamedTuple):
    """Of the zero-sum game between a student and a teacher that is paid with regret and chooses every tile."""

    policy: Fraction
    """The probability of the first action, after every history."""
    share: Fraction
    """The chance with which the teacher makes a tile one of the second kind, each independently."""
    regret: Fraction
    """Of every level."""


def exact(number: float) -> Fraction:
    """The fraction that a decimal number is meant to be."""
    return Fraction(str(number))


def levels(game: Game) -> list[History]:
    """All of them."""
    return list(product((0, 1), repeat=game.number))


def histories(game: Game) -> list[History]:
    """All that a student may have seen before a decision, the shortest first."""
    return [history for length in range(game.number) for history in product((0, 1), repeat=length)]


def along(level: History) -> Iterator[tuple[History, int]]:
    """The histories that a level leads through, and the tile that comes next."""
    return ((level[:time], tile) for time, tile in enumerate(level))


@lru_cache
def pay(game: Game, tile: int, action: int) -> Fraction:
    return exact(game.payoffs[tile][action])


@lru_cache
def chance(game: Game, history: History) -> Fraction:
    """The true probability that the next tile is of the second kind, given what was seen."""
    if not isinstance(game.prior, tuple):
        return exact(game.prior)
    alpha, beta = map(exact, game.prior)
    return (alpha + sum(history)) / (alpha + beta + len(history))


def probability(game: Game, level: History) -> Fraction:
    """Of a level under the true distribution."""
    total = Fraction(1)
    for history, tile in along(level):
        total *= chance(game, history) if tile else 1 - chance(game, history)
    return total


@lru_cache
def action_values(game: Game, history: History) -> tuple[Fraction, Fraction]:
    """What either action is worth on the next tile under the true distribution. What follows does not depend on it."""
    second = chance(game, history)
    first, other = ((1 - second) * pay(game, 0, action) + second * pay(game, 1, action) for action in (0, 1))
    return first, other


def bayes(game: Game) -> Policy:
    """The best policy under the true distribution; one half where both actions are worth the same."""
    values = {history: action_values(game, history) for history in histories(game)}
    return {
        history: Fraction(1, 2) if first == other else Fraction(int(first > other))
        for history, (first, other) in values.items()
    }


def mixed(p: Any, first: Any, other: Any) -> Any:
    return p * first + (1 - p) * other


def level_return(game: Game, policy: Policy, level: History) -> Any:
    """What a policy earns on a level."""
    return sum(mixed(policy[history], pay(game, tile, 0), pay(game, tile, 1)) for history, tile in along(level))


def optimum(game: Game, level: History) -> Fraction:
    """What somebody earns who knows the level."""
    return sum((max(pay(game, tile, 0), pay(game, tile, 1)) for tile in level), Fraction(0))


def regret(game: Game, policy: Policy, level: History) -> Any:
    return optimum(game, level) - level_return(game, policy, level)


def utility(game: Game, policy: Policy) -> Any:
    """What a policy earns under the true distribution: its grounded utility."""
    return sum(probability(game, level) * level_return(game, policy, level) for level in levels(game))


def grounded_return(game: Game, policy: Policy, level: History) -> Any:
    """What a policy is paid in fictitious rewards, on average, along the histories of a level."""
    return sum(mixed(policy[history], *action_values(game, history)) for history, _ in along(level))


def grounded_optimum(game: Game, level: History) -> Fraction:
    """The most that any policy can be paid so."""
    return grounded_return(game, bayes(game), level)


def grounded_regret(game: Game, policy: Policy, level: History) -> Any:
    """How far a policy is from Bayes-optimal on the histories of a level; its worst is robust epsilon-Bayes
    optimality's epsilon.
    """
    return grounded_optimum(game, level) - grounded_return(game, policy, level)


def equilibrium(game: Game) -> Equilibrium:
    """The student's losses are the same on both tiles, and the teacher's tiles make both actions worth the same. The
    true distribution has no part in it.
    """
    losses = [abs(pay(game, tile, 0) - pay(game, tile, 1)) for tile in (0, 1)]
    first_is_best_on = 0 if pay(game, 0, 0) > pay(game, 0, 1) else 1
    return Equilibrium(
        policy=losses[first_is_best_on] / sum(losses),
        share=losses[0] / sum(losses),
        regret=game.number * losses[0] * losses[1] / sum(losses),
    )
