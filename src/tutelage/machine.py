"""What this process runs on. No JAX here."""

from __future__ import annotations

import os


def cores() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
