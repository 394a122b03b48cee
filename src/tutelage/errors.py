"""The one exception for mistakes that a person can mend, and the sentence it carries."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Something a person asked for cannot be done. The message says what was given, what is allowed, what to do."""


def unknown(kind: str, given: str, allowed: Iterable[str]) -> UserError:
    """A name that does not exist, with the nearest ones that do."""
    names = sorted(allowed)
    near = get_close_matches(given, names, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UserError(f"There is no {kind} called '{given}'. {hint}Available: {', '.join(names)}.")


def require(condition: bool, message: str) -> None:
    """Refuse a setting where it is built."""
    if not condition:
        raise UserError(message)
