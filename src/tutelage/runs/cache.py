"""Compiled programs kept between processes, so that a second start is quick."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from ..machine import user_directory


def cache_directory() -> Path | None:
    """Where this user's compiled programs are kept; None for one without a home."""
    folder = user_directory("XDG_CACHE_HOME", ".cache")
    return None if folder is None else folder / "xla"


def keep_compiled_programs() -> None:
    """Let JAX read and write compiled programs there, unless the user has chosen another place. Where nothing can be
    kept, nothing is: a start then takes longer.
    """
    import jax

    chosen = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    folder = Path(chosen) if chosen else cache_directory()
    usable = folder is not None and _can_be_written(folder)
    if not (chosen and usable):
        jax.config.update("jax_compilation_cache_dir", str(folder) if usable else None)


def _can_be_written(folder: Path) -> bool:
    """Is it there, or can it be made, and can files be made in it?"""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError:
        return False
    return True
