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


@dataclass(frozen=True)
class GlyphEncoder:
    """A map of glyphs, whole and as a crop around the agent, and numbers beside it: NLE's student unless told otherwise
    (Küttler et al., 2020).
    """

    embedding: int = option(32, "size of the glyph embedding, in both views")
    whole: bool = option(True, "encode the whole map")
    crop: int = option(9, "side of the crop around the agent in cells; 0 for none")
    layers: int = option(5, "3x3 convolutions over each view; 0 for none")
    channels: int = option(16, "channels of all convolutions except the last")
    last: int = option(8, "channels of the last convolution")
    stats: int = option(32, "units of the two layers for the status numbers")
    hidden: int = option(512, "units of the dense layer that combines them; 0 for none")
    features: int = option(256, "units of the layer after that one")

    def __post_init__(self) -> None:
        for name in ("embedding", "channels", "last", "stats", "features"):
            _positive(name, getattr(self, name))
        for name in ("layers", "hidden"):
            require(getattr(self, name) >= 0, f"encoder.{name} is {getattr(self, name)}; give 0 or more.")
        require(
            self.crop == 0 or (self.crop > 0 and self.crop % 2 == 1),
            f"encoder.crop is {self.crop}; give an odd number of cells, with the agent in the middle, or 0 for none.",
        )
        require(self.whole or self.crop > 0, "encoder.whole is off and encoder.crop is 0; a student needs one of them.")

    def idle(self) -> dict[str, str]:
        few = {0: ("channels", "last"), 1: ("channels",)}.get(self.layers, ())
        return dict.fromkeys(few, f"encoder.layers is {self.layers}")


EncoderSettings = VectorEncoder | GridEncoder | ImageEncoder
