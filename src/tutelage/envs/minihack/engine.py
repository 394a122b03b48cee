"""NetHack as MiniHack sets it up, without what MiniHack's own class does around a step. No JAX here.

MiniHack asks NetHack for fourteen arrays at every step and copies each twice, which takes longer than the game
itself. Here the game is asked for what a student sees and for what it takes to play; a test holds every step against
MiniHack's own.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .compiler import LEVEL, archive, compiled
from .install import minihack_base

Calendar = Literal["seed", "clock"]

CHARACTER = "rog-hum-cha-mal"
"""MiniHack's for navigation: a chaotic human male Rogue."""

SCREEN, STATS = (21, 79), 27
X, Y, HIT_POINTS, TURN = 0, 1, 10, 20
"""Where the numbers of ``stats`` are that somebody here reads."""

MOVES = tuple(b"kljhunby")
"""The keys for N, E, S, W, NE, SE, SW and NW, in the order of NLE's compass."""
KICK, EAT = 4, ord("e")

_SPACE, _ESCAPE = ord(" "), 27
_YES_OR_NO, _LINE, _WAITING, _DOWNSTAIRS = 1, 2, 3, 4
"""Where ``internal`` has what the game is waiting for, and whether the hero stands on stairs that lead down."""
_IN_GAME = 3
_ANSWERED = (b"eat", b"attack", b"direction?", b"pray")
"""Questions that are the player's to answer, by a word of each; NLE declines all others."""


class Engine:
    """One game of NetHack at a time."""

    def __init__(self, calendar: Calendar = "seed", pictures: bool = False) -> None:
        nethack: Any = import_module("nle.nethack")
        names = ("glyphs", "blstats", "message", "program_state", "internal", *(("chars",) if pictures else ()))
        self._game = nethack.Nethack(
            names,
            playername=f"Agent-{CHARACTER}",
            ttyrec=None,
            options=(*minihack_base().MH_NETHACKOPTIONS, "!autopickup", "pettype:none"),
            spawn_monsters=False,
            fix_moon_phase=calendar == "seed",
        )
        self._folder = Path(self._game._vardir)
        (self._folder / "nhdat").unlink()
        (self._folder / "nhdat").symlink_to(archive())
        # The game writes into these arrays: they are always the present.
        self.glyphs, self.stats, self._message, self._program, self._internal = self._game._obs[:5]
        self._pixels = np.zeros(nethack.TILE_RENDER_SHAPE, np.uint8) if pictures else None
        if pictures:
            self._game.setup_tiles()

    def start(self, description: str, seed: int) -> None:
        """Begin a game on a level. All its dice follow from the seed, and by the calendar ``clock`` from the date."""
        (self._folder / f"{LEVEL}.lev").write_bytes(compiled(description))
        self._game.set_initial_seeds(seed, seed, False)
        self._game.reset()
        while not self._program[_IN_GAME]:  # a line about the moon, perhaps
            self._game.step(_SPACE)

    def press(self, key: int) -> bool:
        """Press a key, and those that only turn pages or decline a question nobody asked for. Is the game over?"""
        _, over = self._game.step(key)
        while not over:
            waiting = self._internal
            if waiting[_WAITING]:
                _, over = self._game.step(_SPACE)
            elif waiting[_LINE]:
                _, over = self._game.step(_ESCAPE)
            else:
                if waiting[_YES_OR_NO] and not any(word in self.message for word in _ANSWERED):
                    _, over = self._game.step(_ESCAPE)
                break
        return over

    @property
    def observation(self) -> dict[str, np.ndarray]:
        """What a student sees."""
        return {"blstats": self.stats.astype(np.int32), "glyphs": self.glyphs}

    @property
    def message(self) -> bytes:
        """The line at the top of the screen."""
        return self._message.tobytes().split(b"\0", 1)[0]

    @property
    def asked(self) -> bytes:
        """The question that the game waits to have answered, or nothing."""
        return self.message if self._internal[_YES_OR_NO] else b""

    @property
    def downstairs(self) -> bool:
        """Does the hero stand on stairs that lead down?"""
        return bool(self._internal[_DOWNSTAIRS])

    def picture(self) -> np.ndarray:
        """The map in NetHack's own tiles, ``uint8 [H, W, 3]``."""
        assert self._pixels is not None, "make the engine with pictures"
        self._game.draw_frame(self._pixels)
        return self._pixels.copy()

    def close(self) -> None:
        self._game.close()
