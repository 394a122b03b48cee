"""`python -m tutelage.cli` is `tutelage`."""

from __future__ import annotations

import sys

from . import program

sys.exit(program())
