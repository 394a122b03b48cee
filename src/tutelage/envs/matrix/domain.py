"""The matrix game as one thing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import unknown
from ..base import Box, Domain, Parameters, Suite, Task
from .env import Column, ColumnChoice, Columns, Constant, MatrixGame
from .settings import MatrixSettings, Payoffs, matrix


@dataclass(frozen=True)
class _Always:
    column: int

    def __call__(self, key: PRNGKeyArray) -> Column:
        return jnp.int32(self.column)


def _suite(name: str, payoffs: Payoffs) -> Suite:
    if name != "columns":
        raise unknown("suite", name, ("columns",))
    env = MatrixGame(payoffs)
    return Suite(name, tuple(Task(f"column-{i}", env, _Always(i), 1) for i in range(len(payoffs[0]))))


def build(settings: MatrixSettings) -> Domain:
    """A game, its columns, and the choice between them."""
    payoffs = matrix(settings)
    space = Columns(payoffs)
    return Domain(
        env=MatrixGame(payoffs),
        space=space,
        encoder=lambda network: Constant(),
        suite=partial(_suite, payoffs=payoffs),
        suites=("columns",),
        optimum=space.optimum,
        parameters=Parameters(Box((0.0,), (float(space.number),)), space.at),
        design=ColumnChoice(space.number),
        design_encoder=lambda teacher, task: Constant(),
        to_text=lambda level: f"column {int(level)}",
    )
