"""What people can draw into a level, and the keys they play with. No JAX here."""

from __future__ import annotations

from ..editing import Control, Controls, Form, GridEditor, Tile

ACTIONS = (
    "north", "east", "south", "west", "north-east", "south-east (no)", "south-west", "north-west (yes)", "kick", "eat",
)  # fmt: skip

EDITOR = GridEditor(
    palette=(
        Tile(".", "floor", "--cell-floor"),
        Tile("#", "wall", "--cell-wall"),
        Tile("_", "rock", "--cell-rock"),
        Tile("+", "locked door", "--cell-door", shape="block", letter="+"),
        Tile("<", "start", "--cell-agent", unique=True),
        Tile(
            "A", "apple", "--cell-apple", unique=True, shape="disc",
            variants=(
                Form("A", "apple that pays", "--cell-apple", "✓"), Form("a", "apple that pays nothing", "--cell-apple"),
            ),
        ),
        Tile(
            "b", "banana", "--cell-banana", unique=True, shape="disc",
            variants=(
                Form("b", "banana that pays nothing", "--cell-banana"),
                Form("B", "banana that pays", "--cell-banana", "✓"),
            ),
        ),
    ),
    together=(("A", "b"), ("a", "B")),
)  # fmt: skip

# NetHack's keys, and arrows for the four moves that have one. To kick is Control-D there, which browsers keep.
_KEYS = (
    ("ArrowUp", "k"), ("ArrowRight", "l"), ("ArrowDown", "j"), ("ArrowLeft", "h"), ("u",), ("n",), ("b",), ("y",),
    ("d",), ("e",),
)  # fmt: skip
CONTROLS = Controls(tuple(Control(name, keys, i) for i, (name, keys) in enumerate(zip(ACTIONS, _KEYS, strict=True))))
