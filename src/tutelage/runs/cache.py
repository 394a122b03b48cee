"""Compiled programs kept between processes, so that a second start is quick."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Where this user's compiled programs are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tutelage" / "xla"


def keep_compiled_programs() -> None:
    """Let JAX read and write compiled programs there, unless the user has chosen another place."""
    import jax

    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        jax.config.update("jax_compilation_cache_dir", str(cache_directory()))
