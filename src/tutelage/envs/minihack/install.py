"""MiniHack as it is installed, or a sentence that says it is not. No JAX here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import UserError


def require_minihack() -> None:
    """Refuse, in a sentence, to go on without MiniHack and NLE."""
    if find_spec("minihack") is None or find_spec("nle") is None:
        raise UserError(
            "This environment needs MiniHack and NLE, which are not installed: pip install 'tutelage[minihack]'."
        )


def minihack_base() -> Any:
    """The module ``minihack.base``: MiniHack's options of NetHack, and where its files are."""
    require_minihack()
    with _pkg_resources():
        return import_module("minihack.base")


@contextmanager
def _pkg_resources() -> Iterator[None]:
    """While MiniHack is imported: it asks ``pkg_resources`` where packages have their files, which recent versions of
    setuptools no longer have. Where it is missing, this stands in for that one function and is taken away again.
    """
    if "pkg_resources" in sys.modules or find_spec("pkg_resources") is not None:
        yield
        return
    stand_in = ModuleType("pkg_resources", "Of setuptools' module of that name, the one function that MiniHack calls.")
    stand_in.__dict__["resource_filename"] = _resource_filename
    sys.modules["pkg_resources"] = stand_in
    try:
        yield
    finally:
        del sys.modules["pkg_resources"]


def _resource_filename(package: str, name: str) -> str:
    found = find_spec(package)
    assert found, package
    assert found.origin, package
    return str(Path(found.origin).parent / name)
