"""What this process runs on. No JAX here."""

from __future__ import annotations

import os
from pathlib import Path


def cores() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def user_directory(variable: str, usual: str) -> Path | None:
    """This user's directory for some kind of files: in what a variable names, or in the home. None without either."""
    chosen = os.environ.get(variable)
    try:
        return (Path(chosen) if chosen else Path.home() / usual) / "tutelage"
    except RuntimeError:  # neither HOME nor an entry for this user id
        return None
