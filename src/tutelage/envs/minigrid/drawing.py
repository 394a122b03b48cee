"""What people can draw into a level, and the keys they play with. No JAX here."""

from __future__ import annotations

from ..editing import Control, Controls, Form, Tile
from .level import HEADINGS

_COLOURS = {
    "r": ("red", "#d84a4a"),
    "g": ("green", "#2f9a4e"),
    "b": ("blue", "#3f63d8"),
    "p": ("purple", "#8a4fc0"),
    "y": ("yellow", "#d9a91a"),
    "e": ("grey", "#8b8e94"),
}

ACTIONS = ("left", "right", "forward", "pick up", "drop", "toggle", "done")

CONTROLS = Controls(
    (
        Control("turn left", ("ArrowLeft", "a"), 0),
        Control("turn right", ("ArrowRight", "d"), 1),
        Control("forward", ("ArrowUp", "w"), 2),
        Control("pick up", ("p", "PageUp"), 3),
        Control("drop", ("o", "PageDown"), 4),
        Control("open or toggle", (" ", "e"), 5),
    )
)


def palette(ball: bool) -> tuple[Tile, ...]:
    """What a task has; ``ball``: its goal is the blue ball."""
    goal = Tile("Bb", "goal ball", _COLOURS["b"][1], unique=True, shape="disc", letter="B")
    agent = Tile(">", "agent", "--cell-agent", unique=True, directions=tuple(HEADINGS))
    plain = (Tile(".", "floor", "--cell-floor"), Tile("#", "wall", "--cell-wall"))
    things = (
        _coloured("D", "closed door", "block"),
        _coloured("O", "open door", "tile"),
        _coloured("L", "locked door", "block"),
        _coloured("K", "key", "disc"),
        _coloured("B", "ball", "disc", without="b" if ball else ""),
        _boxes(),
    )
    return (*plain, goal if ball else Tile("G", "goal", "--cell-goal", unique=True), agent, *things)


def _coloured(kind: str, name: str, shape: str, without: str = "") -> Tile:
    forms = tuple(
        Form(kind + letter, f"{colour} {name}", value, kind)
        for letter, (colour, value) in _COLOURS.items()
        if letter != without
    )
    return Tile(forms[0].char, name, forms[0].colour, variants=forms, shape=shape, letter=kind)


def _boxes() -> Tile:
    empty = [Form("X" + letter, f"{colour} box", value, "X") for letter, (colour, value) in _COLOURS.items()]
    full = [
        Form("X" + letter + key, f"{colour} box with a {inside} key", value, f"X{key}")
        for letter, (colour, value) in _COLOURS.items()
        for key, (inside, _) in _COLOURS.items()
    ]
    return Tile("Xr", "box", empty[0].colour, variants=(*empty, *full), shape="tile", letter="X")
