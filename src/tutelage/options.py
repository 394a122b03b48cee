"""How settings are declared: a field with a sentence for the help page, and refusals of its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import require

WIDEST, DEEPEST = 65_536, 64
"""Units of a layer; layers."""


def option(default: Any, help: str, **bounds: int) -> Any:
    """A field with a default and a sentence for the help page. A whole number is at most ``most`` (``config.MOST``)."""
    return field(default=default, metadata={"help": help, **bounds})


def section(kind: Callable[..., Any], **insists: Any) -> Any:
    """A field of a method's settings: a section of some kind. An environment's preset may recommend its values, except
    for those that the method insists on.
    """
    return field(default_factory=lambda: kind(**insists), metadata={"section": kind, "insists": insists})


def share(name: str, value: float) -> None:
    """Refuse what is no probability."""
    require(0.0 <= value <= 1.0, f"{name} is {value}; it is a probability, so give a number from 0 to 1.")


def positive(name: str, value: float) -> None:
    """Refuse what is not greater than 0."""
    require(value > 0, f"{name} is {value}; give a number greater than 0.")


@dataclass(frozen=True)
class NoSettings:
    """A section with nothing to set."""
