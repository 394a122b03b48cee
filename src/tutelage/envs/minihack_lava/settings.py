"""Settings of LavaGrid in MiniHack: those of ``lava``, and those of simulators. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...hosts.settings import HostSettings
from ...settings import option
from ..lava.settings import DEFAULT_PRESET as DEFAULT_PRESET
from ..lava.settings import PRESETS as LAVA
from ..lava.settings import LavaSettings


@dataclass(frozen=True)
class MiniHackLavaSettings(LavaSettings, HostSettings):
    """LavaGrid in MiniHack itself."""

    stats: Literal["raw", "scaled"] = option(
        "raw", "NetHack's numbers beside the map as they are, or 'scaled' to the order of one"
    )

    def __post_init__(self) -> None:
        LavaSettings.__post_init__(self)
        HostSettings.__post_init__(self)


PRESETS = {
    "thesis-lava": replace(LAVA["thesis-lava"], env=MiniHackLavaSettings()),
    "fast": replace(LAVA["fast"], env=MiniHackLavaSettings(stats="scaled")),
}
