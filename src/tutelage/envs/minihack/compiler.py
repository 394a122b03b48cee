"""NetHack's level compiler: from a level's description to the bytes that the game reads. No JAX here.

MiniHack compiles a description and packs it with the game's other data into an archive of 120 KB, by a shell script,
whenever a level changes. NetHack also reads a level from a file of its own beside the archive, so here the archive is
made once a process, and a level is the kilobyte that ``lev_comp`` makes of its description.
"""

from __future__ import annotations

import atexit
import subprocess
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from ...errors import UserError
from .install import minihack_base

LEVEL = "mylevel"
"""What MiniHack's dungeon calls its only level."""

KEPT = 20_000
"""Compiled levels that a process remembers, about a kilobyte each: more than any preset's level buffer holds."""


@lru_cache(maxsize=1)
def _folder() -> Path:
    """Where this process compiles; gone with it."""
    folder = mkdtemp(prefix="tutelage-minihack-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache(maxsize=1)
def archive() -> Path:
    """NetHack's data files as MiniHack has them, without a level."""
    base = minihack_base()
    path = _folder() / "nhdat"
    files = sorted(file.name for file in Path(base.LIB_DIR).iterdir())
    subprocess.run([Path(base.HACKDIR, "dlb"), "cf", path, *files], cwd=base.LIB_DIR, check=True)
    return path


@lru_cache(maxsize=KEPT)
def compiled(description: str) -> bytes:
    """A level as NetHack reads it, from its description in MiniHack's language."""
    source = _folder() / f"{LEVEL}.des"
    source.write_text(description)
    done = subprocess.run(
        [Path(minihack_base().HACKDIR, "lev_comp"), source.name], cwd=source.parent, capture_output=True, text=True
    )
    if done.returncode != 0 or done.stdout or done.stderr:
        said = " ".join(f"{done.stdout} {done.stderr}".split())
        raise UserError(f"NetHack's level compiler refused a level: {said or 'it gave no reason'}.\n{description}")
    return source.with_suffix(".lev").read_bytes()
