"""An environment that a user brings, as the registry offers it. JAX is imported by who defines it, not here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...hosts.settings import HostSettings
from ...plugins import Plugin
from ...settings import NoSettings
from ..presets import Preset
from .definition import Gymnasium, Jax
from .settings import standard

if TYPE_CHECKING:
    from ..base import Domain
    from ..published import Published


@dataclass(frozen=True)
class CustomEntry:
    """What the registry offers for a file or an entry point, as for an environment of ours."""

    name: str
    """Of a file the absolute path: a run can be resumed from elsewhere."""
    plugin: Plugin
    default_preset: str = "standard"
    published: tuple[Published, ...] = ()

    @property
    def definition(self) -> Gymnasium | Jax:
        return self.plugin.value

    @property
    def summary(self) -> str:
        return f"the environment of {self.plugin.where}"

    @property
    def presets(self) -> Mapping[str, Preset]:
        """One, with what the definition changes."""
        from .probe import chosen_encoder, probed

        definition = self.definition
        encoder, as_it_is = chosen_encoder(self.plugin)
        env = HostSettings() if isinstance(definition, Gymnasium) else NoSettings()
        preset = standard(env, encoder, as_it_is, definition.network, probed(self.plugin).limit)
        return {"standard": replace(preset, overrides=definition.settings)}

    def build(self, settings: Any) -> Domain:
        from .domain import build

        return build(self.plugin, settings)
