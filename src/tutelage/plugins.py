"""What users bring: objects from Python files, and from installed packages through entry points. No JAX here."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .errors import UserError, require
from .guard import Failed, guarded


class Plugin(NamedTuple):
    """An object that somebody else defined, and where."""

    value: Any
    where: str
    """A file, or an installed package's entry point: for sentences."""
    module: str
    """A file or a module's name, for processes that have to find it again."""
    name: str
    """What it is called in there."""


@dataclass(frozen=True)
class EntryPoint:
    """An entry point that has not been loaded yet."""

    name: str
    value: str
    """Module and object, as ``package.module:name``."""
    _load: Callable[[], Any]

    def load(self) -> Plugin:
        """Import it; what goes wrong is said in a sentence."""
        where = f"the entry point {self.name} ({self.value})"
        try:
            module, _, name = self.value.partition(":")
            return Plugin(guarded(where, "", self._load), where, module.strip(), name.strip())
        except Failed as problem:
            raise UserError(
                f"The entry point {self.name} ({self.value}) of an installed package could not be loaded: "
                f"{problem.reason.removeprefix('could not be run: ')} Or uninstall that package."
            ) from problem


def is_file(name: str) -> bool:
    """Is something given as a path of a Python file, rather than as a name?"""
    return name.endswith(".py")


def absolute(name: str) -> str:
    """What a run keeps of a name: of a file the absolute path, so that it can be resumed from elsewhere."""
    return str(_whole(name)) if is_file(name) else name


def _whole(path: str) -> Path:
    # Unlike Path.expanduser, this leaves `~nobody` as it is, which is then a file that does not exist.
    return Path(os.path.expanduser(path)).resolve()


def label(name: str) -> str:
    """A short name, to call files after and to show."""
    return Path(name).stem if is_file(name) else name


@lru_cache(maxsize=8)
def installed(group: str) -> Mapping[str, EntryPoint]:
    """What installed packages offer in a group of entry points, by name. Nothing is imported yet."""
    from importlib.metadata import entry_points

    return {point.name: EntryPoint(point.name, point.value, point.load) for point in entry_points(group=group)}


def from_file(path: str, name: str) -> Plugin:
    """What a Python file calls ``name``."""
    file = _whole(path)
    require(
        file.is_file(),
        f"There is no file {path}; give the path of a Python file that defines '{name}', or a name.",
    )
    module = _run(str(file))
    require(
        hasattr(module, name),
        f"{file} defines no {name}: give it a line such as `{name} = {_EXAMPLES.get(name, '...')}`.",
    )
    return Plugin(getattr(module, name), str(file), str(file), name)


_EXAMPLES = {
    "environment": "tutelage.Gymnasium(make=..., sample=...)` or `environment = tutelage.Jax(reset=..., step=..., ...)",
    "method": "tutelage.Method(name=..., summary=..., settings=..., build=...)",
}


def _run(path: str) -> ModuleType:
    return guarded(path, "", lambda: load_file(path))


def load_file(path: str) -> ModuleType:
    """A Python file as a module, run once in every process."""
    name = f"_tutelage_{Path(path).stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == path:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
