"""How observations become vectors: the settings of each encoder. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import require, unknown
from ..settings import option

IMAGE_KINDS = ("small", "impala")


def _positive(name: str, value: int) -> None:
    require(isinstance(value, int) and value > 0, f"encoder.{name} is {value}; give a whole number greater than 0.")


@dataclass(frozen=True)
class VectorEncoder:
    """Every number of an observation, side by side: nothing to set."""


@dataclass(frozen=True)
class GridEncoder:
    """A 3x3 convolution over a small grid of codes."""

    filters: int = option(16, "filters of the 3x3 convolution over the grid")

    def __post_init__(self) -> None:
        _positive("filters", self.filters)


@dataclass(frozen=True)
class ImageEncoder:
    """A convolutional network over an image."""

    kind: Literal["small", "impala"] = option(
        "small", "three convolutions as in DQN, or 'impala': the deeper and much slower residual network of Procgen"
    )
    channels: int = option(16, "channels of the first convolution; the later ones have twice as many")
    features: int = option(256, "units of the dense layer after the convolutions")

    def __post_init__(self) -> None:
        if self.kind not in IMAGE_KINDS:
            raise unknown("kind of image encoder", self.kind, IMAGE_KINDS)
        for name in ("channels", "features"):
            _positive(name, getattr(self, name))


EncoderSettings = VectorEncoder | GridEncoder | ImageEncoder
