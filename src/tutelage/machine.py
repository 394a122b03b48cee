"""What this process runs on. No JAX here."""

from __future__ import annotations

import os
from pathlib import Path


def cores() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def waited(process: int | None = None) -> float:
    """Seconds for which the main thread of a process, or of this one, was ready to run but had no core, since it
    started. 0 where the system does not say (all but Linux).
    """
    try:
        return int(Path(f"/proc/{process or os.getpid()}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def user_directory(variable: str, usual: str) -> Path | None:
    """This user's directory for some kind of files: in what a variable names, or in the home. None without either."""
    chosen = os.environ.get(variable)
    try:
        return (Path(chosen) if chosen else Path.home() / usual) / "tutelage"
    except RuntimeError:  # neither HOME nor an entry for this user id
        return None
