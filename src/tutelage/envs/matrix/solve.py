"""Exact answers to a matrix game, by linear programming."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from ...errors import require
from .settings import Payoffs


class Solution(NamedTuple):
    """A mixed policy over rows, and what it guarantees."""

    policy: np.ndarray
    value: float


def expected_utility(payoffs: Payoffs) -> Solution:
    """The best policy against columns drawn uniformly: what domain randomisation should find."""
    means = np.mean(payoffs, axis=1)
    policy = (means == means.max()).astype(float)
    return Solution(policy / policy.sum(), float(means.max()))


def maximin(payoffs: Payoffs) -> Solution:
    """The policy with the highest payoff in the worst column: what a minimax teacher should lead to."""
    return _guarantee(np.asarray(payoffs, float))


def minimax_regret(payoffs: Payoffs) -> Solution:
    """The policy with the least regret in the worst column. ``value`` is that regret."""
    matrix = np.asarray(payoffs, float)
    solution = _guarantee(matrix - matrix.max(axis=0))
    return Solution(solution.policy, -solution.value)


def worst_regret(payoffs: Payoffs, policy: np.ndarray) -> float:
    """The regret of a policy in the column where it is highest."""
    matrix = np.asarray(payoffs, float)
    return float((matrix.max(axis=0) - policy @ matrix).max())


def worst_payoff(payoffs: Payoffs, policy: np.ndarray) -> float:
    """The payoff of a policy in the column where it is lowest."""
    return float((policy @ np.asarray(payoffs, float)).min())


def _guarantee(matrix: np.ndarray) -> Solution:
    """Maximise v over policies x such that every column pays at least v."""
    rows, columns = matrix.shape
    answer = linprog(
        c=np.r_[np.zeros(rows), -1.0],
        A_ub=np.c_[-matrix.T, np.ones(columns)],
        b_ub=np.zeros(columns),
        A_eq=np.r_[np.ones(rows), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    require(answer.success, f"The game could not be solved: {answer.message}")
    return Solution(answer.x[:rows], float(answer.x[rows]))
