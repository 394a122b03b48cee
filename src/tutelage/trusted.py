"""Which Python files this user has chosen to run. A run directory is data: what it names is not run for being named.

A file is known by its path and its content. It becomes known when this user trains with it, checks it or says so; the
list is kept outside of run directories, so that none can bring its own.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from .errors import UserError
from .machine import user_directory
from .regular import read_regular

LIST = "trusted.jsonl"
_here: set[tuple[str, str]] = set()
"""Known in this process, also where no list can be kept."""


class Untrusted(UserError):
    """Something names a file that this user does not know."""

    def __init__(self, path: Path | str, source: str) -> None:
        super().__init__(
            f"{source} names the Python file {path}, which you have not run as it is now; it could do all that you may "
            "do. Look at it, and if you trust it, give --trust (from Python, call tutelage.trust(path))."
        )
        self.file: str = str(path)


def trust(path: Path | str) -> None:
    """Let a Python file be run that a run, a config or a study names."""
    sign = _sign(path)
    if sign in _here or sign in _listed():
        return
    _here.add(sign)
    file = _list()
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(sign) + "\n")
    except OSError:  # it is known in this process, and will be asked for again in another
        return


def is_trusted(path: Path | str) -> bool:
    """Has this user run the file as it is now?"""
    sign = _sign(path)
    return sign in _here or sign in _listed()


def require_trusted(path: Path | str, source: str) -> None:
    """Refuse a file that something else names, unless this user knows it."""
    if not is_trusted(path):
        raise Untrusted(path, source)


def _sign(path: Path | str) -> tuple[str, str]:
    file = Path(path).resolve()
    try:
        return str(file), hashlib.sha256(read_regular(file)).hexdigest()
    except OSError:
        return str(file), ""


def _list() -> Path | None:
    folder = user_directory("XDG_STATE_HOME", ".local/state")
    return None if folder is None else folder / LIST


def _listed() -> set[tuple[str, str]]:
    file = _list()
    known: set[tuple[str, str]] = set()
    try:
        lines = [] if file is None else read_regular(file).decode(errors="replace").splitlines()
    except OSError:
        return known
    for line in lines:
        try:
            path, digest = json.loads(line)
            known.add((str(path), str(digest)))
        except (ValueError, TypeError, RecursionError):  # not ours
            continue
    return known
