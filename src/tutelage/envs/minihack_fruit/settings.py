"""Settings of Stochastic Fruit Choice in MiniHack: those of ``fruit``, and those of simulators. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...hosts.settings import HostSettings
from ...settings import option
from ..fruit.settings import DEFAULT_PRESET as DEFAULT_PRESET
from ..fruit.settings import PRESETS as FRUIT
from ..fruit.settings import FruitSettings


@dataclass(frozen=True)
class MiniHackFruitSettings(FruitSettings, HostSettings):
    """Stochastic Fruit Choice in MiniHack itself."""

    calendar: Literal["seed", "clock"] = option(
        "seed",
        "the date that NetHack's Luck follows: drawn from an episode's 'seed', or by the 'clock', as published",
    )
    stats: Literal["raw", "scaled"] = option(
        "raw", "NetHack's numbers beside the map as they are, or 'scaled' to the order of one"
    )

    def __post_init__(self) -> None:
        FruitSettings.__post_init__(self)
        HostSettings.__post_init__(self)


_FAST = FRUIT["fast"]

PRESETS = {
    "thesis-fruit": replace(FRUIT["thesis-fruit"], env=MiniHackFruitSettings()),
    "fast": replace(
        _FAST,
        summary="Not in the thesis: up to two rooms and a small student that sees a crop, for one core.",
        env=MiniHackFruitSettings(rooms=2, size=13, longest=4, penalty="none", max_steps=120, stats="scaled"),
        ppo=replace(_FAST.ppo, epochs=4, minibatches=8),
        train=replace(_FAST.train, steps=5_000_000, evaluate_every=50, log_every=1, checkpoint_every=10, episodes=50),
    ),
}
