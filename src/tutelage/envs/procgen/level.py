"""A level of Procgen: a seed, from which a game makes everything else. No JAX here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import UserError, require

if TYPE_CHECKING:
    from jaxtyping import Array, Int

LEVELS = 2**31 - 1
"""Of each game: the seeds are the numbers below this."""


class Level(NamedTuple):
    """The layout, the looks and all dice of an episode follow from the seed: level and actions decide everything."""

    seed: Int[Array, ""]


def make(seed: int) -> Level:
    """A level with the dtype of generated ones. Refuses a seed that Procgen does not know."""
    require(0 <= seed < LEVELS, f"The level's seed is {seed}; give a whole number from 0 to {LEVELS - 1}.")
    array: Any = np.int32(seed)
    return Level(array)


def to_text(level: Level) -> str:
    """One line for a person to read; ``from_text`` reads it back."""
    return f"seed {int(level.seed)}"


def from_text(text: str) -> Level:
    """The level of a line like those of ``to_text``."""
    found = re.fullmatch(r"\s*(?:seed\s+)?(\d+)\s*", text)
    if found is None:
        raise UserError(f"The level '{text.strip()}' cannot be read; write its seed, as in 'seed 7'.")
    return make(int(found[1]))
