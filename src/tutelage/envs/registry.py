"""Environments by name. Nothing is imported before it is asked for, so that listing them is instant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import unknown
from ..settings import Settings

if TYPE_CHECKING:
    from .base import Domain
    from .custom.entry import FileEntry
    from .published import Published


@dataclass(frozen=True)
class Entry:
    """Where an environment lives. Its package has ``settings`` (presets) and ``domain`` (the environment itself), and
    may have ``published`` (figures from the literature).
    """

    name: str
    summary: str
    package: str

    @property
    def presets(self) -> Mapping[str, Callable[[str], Settings]]:
        """Preset names, each a function from a method's name to settings."""
        return import_module(f"{self.package}.settings").PRESETS

    @property
    def default_preset(self) -> str:
        return import_module(f"{self.package}.settings").DEFAULT_PRESET

    @property
    def published(self) -> tuple[Published, ...]:
        """Figures from the literature; none where the package has no module for them."""
        name = f"{self.package}.published"
        return import_module(name).PUBLISHED if find_spec(name) else ()

    def build(self, settings: Any) -> Domain:
        """Build the environment from its part of the settings (``Settings.env``)."""
        return import_module(f"{self.package}.domain").build(settings)


ENVIRONMENTS = {
    entry.name: entry
    for entry in [
        Entry("maze", "partially observable mazes with MiniGrid's rules", "tutelage.envs.maze"),
        Entry("walker", "BipedalWalker on terrains of eight parameters", "tutelage.envs.walker"),
        Entry("matrix", "one-step games given by a payoff matrix, with exact answers", "tutelage.envs.matrix"),
    ]
}


def environment(name: str) -> Entry | FileEntry:
    """Look up an environment by its name, or by the path of a Python file that defines one."""
    if name.endswith(".py"):
        from .custom.entry import entry

        return entry(name)
    if name not in ENVIRONMENTS:
        raise unknown("environment", name, ENVIRONMENTS)
    return ENVIRONMENTS[name]


def preset(environment_name: str, method: str, name: str = "") -> Settings:
    """The settings of a preset; without a name, the environment's default."""
    entry = environment(environment_name)
    name = name or entry.default_preset
    if name not in entry.presets:
        raise unknown(f"preset of {environment_name}", name, entry.presets)
    return entry.presets[name](method)


def label(environment_name: str) -> str:
    """A short name of an environment, to call files after."""
    return Path(environment_name).stem
