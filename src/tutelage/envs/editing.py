"""How people draw levels and play them by hand: what an environment says of itself to a page. No JAX here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class Form(NamedTuple):
    """One of several ways in which a tile stands in a cell, such as the colours of a key."""

    char: str
    name: str
    colour: str
    letter: str = ""


class Tile(NamedTuple):
    """Something that can be drawn into a cell of a grid."""

    char: str
    """As the environment's text form has it: a character, or a word where cells are words."""
    name: str
    colour: str
    """As a style sheet has it, or a colour of the pages' own, such as ``--cell-wall``."""
    unique: bool = False
    """There is exactly one: placing it moves it."""
    directions: tuple[str, ...] = ()
    """Of who looks somewhere: the characters for right, down, left and up."""
    variants: tuple[Form, ...] = ()
    shape: str = ""
    """``block``, ``tile`` or ``disc``; as it seems best without."""
    letter: str = ""


@dataclass(frozen=True)
class GridEditor:
    """Levels are texts of cells in rows. The first tile is the floor, which is what erasing leaves."""

    palette: tuple[Tile, ...]
    border: str = ""
    """The character of an outer ring that nobody may change; empty for none."""
    words: bool = False
    """Cells are words with spaces between."""
    smallest: int = 0
    """Cells a side, the border included, between which a level may have any size; 0 where the size is fixed."""
    largest: int = 0
    together: tuple[tuple[str, str], ...] = ()
    """Pairs of forms of two tiles that occur together: drawing one turns the other tile to its partner."""


class Slider(NamedTuple):
    """A number between bounds."""

    name: str
    low: float
    high: float
    step: float


@dataclass(frozen=True)
class SliderEditor:
    """A level is a vector, a seed and perhaps a switch, each a field of its own."""

    vector: str
    sliders: tuple[Slider, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    """Sliders of which the first may not exceed the second."""
    seed: str = ""
    switch: str = ""


@dataclass(frozen=True)
class TrackEditor:
    """A level is a closed track of control points, whose tiles may be icy."""

    outline: Callable[[Any], dict[str, Any]]
    """Of a level: its ``points``, the ``line`` of its tiles' middles and which tiles are icy (``ice``), as numbers."""
    reach: float
    """Control points have coordinates from minus this to this."""


Editor = GridEditor | SliderEditor | TrackEditor


class Control(NamedTuple):
    """A key by which a person acts."""

    name: str
    keys: tuple[str, ...]
    """As browsers call them."""
    action: int | tuple[float, ...]
    """One of the actions; or numbers that are added to ``Controls.rest`` while the key is held."""


@dataclass(frozen=True)
class Controls:
    """How a person plays."""

    keys: tuple[Control, ...]
    rest: tuple[float, ...] = ()
    """For actions that are numbers: what is done while no key is held. Time then goes on by itself."""


def described(editor: Editor | None) -> dict[str, Any]:
    """An editor as JSON has it."""
    match editor:
        case GridEditor():
            palette = [
                {name: value for name, value in tile._asdict().items() if value}
                | ({"variants": [form._asdict() for form in tile.variants]} if tile.variants else {})
                for tile in editor.palette
            ]
            return {"kind": "grid", **asdict(editor), "palette": palette}
        case SliderEditor():
            return {"kind": "sliders", **asdict(editor), "sliders": [slider._asdict() for slider in editor.sliders]}
        case TrackEditor():
            return {"kind": "track", "reach": editor.reach}
        case None:
            return {"kind": "fields"}
