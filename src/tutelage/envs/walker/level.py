"""A walker's level: what obstacles the terrain may have, and the seed that lays them out. No JAX here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import UserError, require

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

ROUGHNESS, PIT_LOW, PIT_HIGH, STUMP_LOW, STUMP_HIGH, STAIR_LOW, STAIR_HIGH, STAIR_STEPS = range(8)
"""Where each number is in ``Level.parameters``."""

PAIRS = ((PIT_LOW, PIT_HIGH), (STUMP_LOW, STUMP_HIGH), (STAIR_LOW, STAIR_HIGH))
"""Ranges from which each obstacle is drawn."""

POET = 5
"""So many parameters come before those of the stairs, which POET does without."""


class Level(NamedTuple):
    """With its seed a level is one terrain and one start: nothing else is left to chance."""

    parameters: Float[Array, "8"]
    """In the order of ``PARAMETERS``. Lengths are in cells of the terrain, 14/30 of Box2D's units."""
    seed: Int[Array, ""]
    """What Gymnasium's random numbers start from."""
    hardcore: Bool[Array, ""]
    """Gymnasium's hardcore terrain instead: the parameters play no part."""


class Parameter(NamedTuple):
    """One number of the design space (thesis, appendix on BipedalWalker)."""

    name: str
    low: float
    high: float
    easy: tuple[float, float]
    """Drawn from here for the simplest levels."""
    edit: tuple[float, float]
    """One edit adds or subtracts a number between these."""


PARAMETERS = (
    Parameter("roughness", 0, 10, easy=(0, 0.6), edit=(0, 0.6)),
    Parameter("pit-gap-low", 0, 10, easy=(0, 0), edit=(0.4, 0.4)),
    Parameter("pit-gap-high", 0, 10, easy=(0.8, 0.8), edit=(0.4, 0.4)),
    Parameter("stump-height-low", 0, 5, easy=(0, 0), edit=(0.2, 0.2)),
    Parameter("stump-height-high", 0, 5, easy=(0.4, 0.4), edit=(0.2, 0.2)),
    Parameter("stair-height-low", 0, 5, easy=(0, 0), edit=(0.2, 0.2)),
    Parameter("stair-height-high", 0, 5, easy=(0.4, 0.4), edit=(0.2, 0.2)),
    Parameter("stair-steps", 1, 9, easy=(1, 1), edit=(1, 1)),
)

PLAIN = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
"""The ground of BipedalWalker-v3: with these parameters and the same seed the terrain is Gymnasium's."""

SLACK = 1e-4
"""Edits add up in single precision, so what should be exactly at a threshold may lie a little below it."""

SMALLEST = {PIT_HIGH: 0.8, STUMP_HIGH: 0.2, STAIR_HIGH: 0.2}
"""A kind of obstacle whose upper end is below this is not there."""

DIFFICULTIES = ("easy", "challenging", "very-challenging", "extremely-challenging")
"""POET's classes, by how many of ``THRESHOLDS`` a level reaches."""

THRESHOLDS = {STUMP_HIGH: 2.4, PIT_HIGH: 6.0, ROUGHNESS: 4.5}

SOLVED = 230.0
"""POET's: an episode is solved if its return exceeds this."""


def difficulty(level: Level) -> Any:
    """POET's class of a level, from 0 to 3 (``DIFFICULTIES``). Takes arrays of NumPy and of JAX, also batches."""
    return sum(level.parameters[..., index] >= least - SLACK for index, least in THRESHOLDS.items())


def has(parameters: Sequence[float], high: int) -> bool:
    """Are there obstacles of the kind whose upper end is the parameter ``high``?"""
    return parameters[high] >= SMALLEST[high] - SLACK


_KINDS: dict[str, tuple[int, ...]] = {
    "pits": (PIT_LOW, PIT_HIGH),
    "stumps": (STUMP_LOW, STUMP_HIGH),
    "stairs": (STAIR_LOW, STAIR_HIGH, STAIR_STEPS),
}
_EXAMPLE = "roughness 1.25, pits 0 to 0.8, no stumps, stairs 1 to 2 of 3 steps, seed 7"


def to_text(level: Level) -> str:
    """One line for a person to read; ``from_text`` reads it back. Obstacles too small to be there are in brackets."""
    seed = f"seed {int(level.seed)}"
    if level.hardcore:
        return f"hardcore, {seed}"
    values = np.asarray(level.parameters, np.float32)
    # As many digits as it takes to get the same number again.
    digits = [np.format_float_positional(value, trim="-") for value in values]
    said = [f"roughness {digits[ROUGHNESS]}"]
    for what, places in _KINDS.items():
        low, high, *steps = (digits[place] for place in places)
        size = f"{low} to {high}" + "".join(f" of {number} steps" for number in steps)
        if has(values.tolist(), places[1]):
            said.append(f"{what} {size}")
        else:
            said.append(f"no {what}" + f" ({size})" * any(values[place] != PLAIN[place] for place in places))
    return ", ".join([*said, seed])


def from_text(text: str) -> Level:
    """The level of a line like those of ``to_text``. A hardcore one gets the parameters of ``PLAIN``: it needs none."""
    *said, last = (" ".join(part.split()) for part in text.split(","))
    seed = re.fullmatch(r"seed (\d+)", last)
    if seed is None:
        raise UserError(f"The level '{text}' does not end with a seed; write one as in '{_EXAMPLE}'.")
    if said == ["hardcore"]:
        return make(seed=int(seed[1]), hardcore=True)
    number = r"(\d+(?:\.\d+)?)"
    forms = [rf"roughness {number}"]
    for what, places in _KINDS.items():
        size = f"{number} to {number}" + f" of {number} steps" * (len(places) == 3)
        forms.append(rf"{what} {size}|no {what}(?: \({size}\))?")
    require(len(said) == len(forms), f"The level '{text}' has too few parts or too many; write one as in '{_EXAMPLE}'.")
    values = list(PLAIN)
    for part, form, places in zip(said, forms, ((ROUGHNESS,), *_KINDS.values()), strict=True):
        found = re.fullmatch(form, part)
        if found is None:
            raise UserError(f"The level's '{part}' cannot be read; write levels as in '{_EXAMPLE}'.")
        numbers = [float(digits) for digits in found.groups() if digits is not None]
        for place, value in zip(places, numbers, strict=False):  # "no pits" has none: they stay those of PLAIN
            values[place] = value
    for part, (_, high) in zip(said[1:], PAIRS, strict=True):
        require(
            not (part.startswith("no ") and has(values, high)),
            f"The level's '{part}' is not none; leave out 'no' and the brackets.",
        )
    return make(values, int(seed[1]))


def make(parameters: Any = PLAIN, seed: Any = 0, hardcore: Any = False) -> Level:
    """A level with the dtypes of generated ones. Refuses one that is outside of the space."""
    arrays: Any = (np.asarray(parameters, np.float32), np.asarray(seed), np.asarray(hardcore))
    level = Level(*arrays)
    check(level)
    return level._replace(seed=arrays[1].astype(np.int32))


_FIELDS = "'parameters' (8 numbers), 'seed' (a whole number) and optionally 'hardcore' (true or false)"


def read(given: Any) -> Level:
    """The level that a simulator was given: a ``Level``, or a mapping from its fields' names."""
    if isinstance(given, Level):
        return make(*given)
    if not isinstance(given, Mapping):
        raise UserError(f"The level is of type {type(given).__name__}; give a mapping with {_FIELDS}.")
    missing = {"parameters", "seed"} - set(given)
    strange = set(given) - set(Level._fields)
    require(not missing, f"The level has no {' and no '.join(sorted(missing))}; give a mapping with {_FIELDS}.")
    require(not strange, f"The level has unknown fields {sorted(strange)}; give a mapping with {_FIELDS}.")
    return make(given["parameters"], given["seed"], given.get("hardcore", False))


def check(level: Level) -> None:
    """Refuse a level that cannot be played. On the host."""
    values, seed = np.asarray(level.parameters), np.asarray(level.seed)
    names = ", ".join(parameter.name for parameter in PARAMETERS)
    require(
        values.shape == (len(PARAMETERS),),
        f"The level's parameters have the shape {list(values.shape)}; give {len(PARAMETERS)} numbers: {names}.",
    )
    for parameter, value in zip(PARAMETERS, values.tolist(), strict=True):
        require(
            parameter.low <= value <= parameter.high,  # false for NaN
            f"The level's {parameter.name} is {value:g}; give {parameter.low:g} to {parameter.high:g}.",
        )
    for low, high in PAIRS:
        require(
            bool(values[low] <= values[high]),
            f"The level's {PARAMETERS[low].name} is {values[low]:g} and its {PARAMETERS[high].name} "
            f"{values[high]:g}; give the smaller number first.",
        )
    steps = values[STAIR_STEPS]
    require(bool(steps == np.rint(steps)), f"The level's stair-steps is {steps:g}; give a whole number from 1 to 9.")
    require(
        seed.shape == () and np.issubdtype(seed.dtype, np.integer) and 0 <= int(seed) < 2**31,
        f"The level's seed is {seed}; give a whole number from 0 to {2**31 - 1}.",
    )
    hardcore = np.asarray(level.hardcore)
    require(hardcore.shape == () and hardcore.dtype == bool, f"The level's hardcore is {hardcore}; give true or false.")
