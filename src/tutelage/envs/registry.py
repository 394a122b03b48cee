"""Environments by name, by file, and from installed packages. Nothing is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import UserError, unknown
from ..plugins import Plugin, absolute, from_file, installed, is_file
from .presets import Preset

if TYPE_CHECKING:
    from .base import Domain
    from .published import Published

GROUP, NAME = "tutelage.environments", "environment"


class EnvironmentEntry(Protocol):
    """What is known of an environment before it is built. No JAX."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def presets(self) -> Mapping[str, Preset]: ...

    @property
    def default_preset(self) -> str: ...

    @property
    def published(self) -> tuple[Published, ...]:
        """Figures from the literature."""
        ...

    def build(self, settings: Any) -> Domain:
        """The environment from its part of the settings (``Settings.env``)."""
        ...


@dataclass(frozen=True)
class DomainEntry:
    """A whole domain from outside: presets, and a function from settings to a ``Domain``."""

    name: str
    summary: str
    presets: Mapping[str, Preset]
    make: Callable[[Any], Domain]
    default_preset: str = ""
    published: tuple[Published, ...] = ()

    def __post_init__(self) -> None:
        if not self.presets:
            raise UserError(f"The environment {self.name} has no presets; give at least one.")
        if not self.default_preset:
            object.__setattr__(self, "default_preset", next(iter(self.presets)))

    def build(self, settings: Any) -> Domain:
        return self.make(settings)


@dataclass(frozen=True)
class PackageEntry:
    """Where an environment of ours lives. Its package has ``settings`` (presets) and ``domain`` (the environment
    itself), and may have ``published`` (figures from the literature).
    """

    name: str
    summary: str
    package: str = field(repr=False)

    @property
    def presets(self) -> Mapping[str, Preset]:
        return import_module(f"{self.package}.settings").PRESETS

    @property
    def default_preset(self) -> str:
        return import_module(f"{self.package}.settings").DEFAULT_PRESET

    @property
    def published(self) -> tuple[Published, ...]:
        name = f"{self.package}.published"
        return import_module(name).PUBLISHED if find_spec(name) else ()

    def build(self, settings: Any) -> Domain:
        return import_module(f"{self.package}.domain").build(settings)


ENVIRONMENTS: dict[str, EnvironmentEntry] = {
    entry.name: entry
    for entry in [
        PackageEntry("maze", "partially observable mazes with MiniGrid's rules", "tutelage.envs.maze"),
        PackageEntry(
            "minigrid", "MiniGrid's rooms, doors, keys, boxes and balls, fully observed", "tutelage.envs.minigrid"
        ),
        PackageEntry("lava", "a small, fully observed room with lava: LavaGrid of chapter 5", "tutelage.envs.lava"),
        PackageEntry(
            "minihack-lava", "LavaGrid in MiniHack itself, in worker processes", "tutelage.envs.minihack_lava"
        ),
        PackageEntry("fruit", "locked rooms and two fruits; which one pays is hidden", "tutelage.envs.fruit"),
        PackageEntry(
            "minihack-fruit", "the same rooms in MiniHack itself, in worker processes", "tutelage.envs.minihack_fruit"
        ),
        PackageEntry("walker", "BipedalWalker on terrains of eight parameters", "tutelage.envs.walker"),
        PackageEntry("racing", "car racing from pictures on designed tracks, with black ice", "tutelage.envs.racing"),
        PackageEntry(
            "procgen", "Procgen's sixteen games from pictures, a level for each seed", "tutelage.envs.procgen"
        ),
        PackageEntry("matrix", "one-step games given by a payoff matrix, with exact answers", "tutelage.envs.matrix"),
        PackageEntry("hidden-games", "games with something hidden, with exact answers", "tutelage.envs.hidden_games"),
    ]
}


def names() -> list[str]:
    """Every environment that can be named: ours first."""
    return [*ENVIRONMENTS, *sorted(set(installed(GROUP)) - set(ENVIRONMENTS))]


def environment(name: str) -> EnvironmentEntry:
    """Look up an environment by its name, or by the path of a Python file that defines one."""
    if is_file(name):
        return _entry(absolute(name), from_file(name, NAME))
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    plugins = installed(GROUP)
    if name not in plugins:
        raise unknown("environment", name, names())
    return _entry(name, plugins[name].load())


def _entry(name: str, plugin: Plugin) -> EnvironmentEntry:
    """What somebody else has defined, under the name by which a run will find it again."""
    from .custom.definition import Gymnasium, Jax
    from .custom.entry import CustomEntry

    found = plugin.value
    if isinstance(found, DomainEntry):
        return DomainEntry(name, found.summary, found.presets, found.make, found.default_preset, found.published)
    if isinstance(found, Gymnasium | Jax):
        return CustomEntry(name, plugin)
    raise UserError(
        f"'{NAME}' in {plugin.where} is of type {type(found).__name__}; make it a tutelage.Gymnasium(...), a "
        "tutelage.Jax(...) or a tutelage.DomainEntry(...)."
    )
