"""What each part of a user's environment may be, before any of it is used. No JAX here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...config import MOST
from ...errors import require
from ...settings import NetworkSettings
from ...visible import one_line
from .definition import Definition

LONGEST_NAME = 100


def check_fields(where: str, definition: Definition) -> None:
    """Refuse what is of another kind than it should be."""
    for name, (right, wanted) in _RULES.items():
        if hasattr(definition, name):
            value = getattr(definition, name)
            require(right(value), f"{name} in {where} is {_shown(value)}; give {wanted}.")
    for name in definition.tests:
        require(
            isinstance(name, str)
            and 0 < len(name) <= LONGEST_NAME
            and name == one_line(name)
            and "/" not in name
            and name not in ("fresh", "tests"),
            f"A test level in {where} is called {_shown(name)}; give it a name of up to {LONGEST_NAME} letters without "
            "'/', and other than fresh and tests.",
        )


def check_metrics(where: str, figures: Mapping[str, Any]) -> None:
    """``figures`` has the shape of each."""
    for name, value in figures.items():
        require(
            value.shape == (),
            f"metrics() in {where} gives {name} of the shape {list(value.shape)}; give one number by each name.",
        )


def _shown(value: Any) -> str:
    try:
        said = repr(value)
    except Exception:  # theirs
        said = f"a {type(value).__name__}"
    said = one_line(said)
    return said if len(said) <= 80 else said[:77] + "..."


def _function(value: Any) -> bool:
    return callable(value)


def _function_or_none(value: Any) -> bool:
    return value is None or callable(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _count_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST)


def _texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(x, str) for pair in value.items() for x in pair)


def _bounds(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Sequence) and len(value) == 2 and all(map(_point, value))


def _point(value: Any) -> bool:
    try:
        return not isinstance(value, str | bytes) and all(math.isfinite(float(x)) for x in value)
    except (TypeError, ValueError):
        return False


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "make": (_function, "a function that makes an environment"),
    "reset": (_function, "a function, reset(key, level) -> state, obs"),
    "step": (_function, "a function, step(key, state, action) -> state, obs, reward, terminated, truncated"),
    "sample": (_function, "a function from a random key to a level"),
    "prepare": (_function_or_none, "a function of a level, or leave it out"),
    "edit": (_function_or_none, "a function, edit(key, level) -> level, or leave it out"),
    "easy": (_function_or_none, "a function from a random key to a level, or leave it out"),
    "metrics": (_function_or_none, "a function from a level to a dictionary of numbers, or leave it out"),
    "tests": (lambda value: isinstance(value, Mapping), "a dictionary of levels by name"),
    "bounds": (_bounds, "two lists of finite numbers, the lowest and the highest, as in ([0.0], [1.0])"),
    "success": (_number, "a finite number: the return above which an episode is solved"),
    "max_steps": (_count_or_none, f"a whole number of steps, at most {MOST:,}"),
    "settings": (_texts, 'a dictionary of text by name, as in {"train.steps": "2M"}'),
    "network": (
        lambda value: value is None or isinstance(value, NetworkSettings),
        "tutelage.NetworkSettings(...), or leave it out",
    ),
}
