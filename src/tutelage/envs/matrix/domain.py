"""The matrix game as one thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...errors import UserError, unknown
from ..base import Box, Design, Domain, Levels, Rules, Suite, Suites, Task, Vectors, Viewer
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


def _parse(text: str, columns: int) -> Column:
    found = re.fullmatch(r"column (\d+)", text.strip())
    if found is None or int(found[1]) >= columns:
        raise UserError(f"'{text}' is not a level of this game; give one from 'column 0' to 'column {columns - 1}'.")
    return jnp.int32(int(found[1]))


def build(settings: MatrixSettings) -> Domain:
    """A game, its columns, and the choice between them."""
    payoffs = matrix(settings)
    space = Columns(payoffs)
    return Domain(
        env=MatrixGame(payoffs),
        levels=Levels(
            sample=space.sample,
            metrics=space.metrics,
            edit=space.edit,
            vectors=Vectors(Box((0.0,), (float(space.number),)), space.at),
            design=Design(encoder=lambda eyes, task: Constant(), build=ColumnChoice(space.number)),
        ),
        encoder=lambda eyes: Constant(),
        suites=Suites(("columns",), partial(_suite, payoffs=payoffs)),
        rules=Rules(optimum=space.optimum, limit=1),
        viewer=Viewer(text=lambda level: f"column {int(level)}", parse=partial(_parse, columns=space.number)),
    )
