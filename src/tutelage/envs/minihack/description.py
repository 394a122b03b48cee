"""Levels in MiniHack's language, from which NetHack's compiler makes its own. No JAX here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_HEAD = """MAZE: "mylevel", ' '
FLAGS:hardfloor{flags}
INIT_MAP: solidfill,' '
GEOMETRY:center,center
MAP
{map}
ENDMAP
REGION:(0,0,{right},{bottom}),lit,"ordinary"
BRANCH:({x},{y},{x},{y}),(0,0,0,0)
"""


def description(rows: Sequence[str], start: tuple[int, int], more: Iterable[str] = (), seen: bool = False) -> str:
    """A lit map in the middle of the screen. ``seen`` shows all of it from the beginning.

    Rows are in NetHack's characters (``.`` floor, ``|`` wall, ``L`` lava, ``+`` door, blank for rock); ``more`` are
    lines about what is on the map. Positions are columns and rows of it.
    """
    x, y = start
    head = _HEAD.format(
        flags=",premapped" if seen else "",
        map="\n".join(rows),
        right=len(rows[0]) - 1,
        bottom=len(rows) - 1,
        x=x,
        y=y,
    )
    return head + "".join(f"{line}\n" for line in more)
