"""`python -m tutelage` is `tutelage`."""

from __future__ import annotations

from .cli import __main__ as __main__
