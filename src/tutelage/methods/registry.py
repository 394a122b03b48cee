"""Methods by name, by file, and from installed packages. No JAX here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from ..errors import UserError, unknown
from ..plugins import Plugin, from_file, installed, is_file
from .base import Method

GROUP, NAME = "tutelage.methods", "method"


@lru_cache(maxsize=1)
def built_in() -> Mapping[str, Method]:
    """The methods of this package: every module here that has one."""
    package = __name__.rpartition(".")[0]
    modules = (import_module(f"{package}.{info.name}") for info in iter_modules([str(Path(__file__).parent)]))
    found = [module.method for module in modules if isinstance(getattr(module, NAME, None), Method)]
    return {method.name: method for method in found}


def names() -> list[str]:
    """Every method that can be named."""
    return sorted({*built_in(), *installed(GROUP)})


def find(name: str) -> Method:
    """A method by its name, or by the path of a Python file that defines one."""
    if is_file(name):
        return _method(from_file(name, NAME))
    if name in built_in():
        return built_in()[name]
    plugins = installed(GROUP)
    if name not in plugins:
        raise unknown("method", name, names())
    return _method(plugins[name].load())


def _method(plugin: Plugin) -> Method:
    found = plugin.value
    if not isinstance(found, Method):
        raise UserError(
            f"'{NAME}' in {plugin.where} is of type {type(found).__name__}; make it a tutelage.Method(name=..., "
            "summary=..., settings=..., build=...)."
        )
    return found
