"""States of levels at their start: how a game is put on a level. No JAX here.

Procgen has no call for that. But its environments can be saved and loaded, so a level is built once, by an environment
that knows no other, and then loaded into whichever slot is to play it.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections import OrderedDict
from contextlib import redirect_stderr
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import UserError, require
from .games import GAMES, MODES, GameName, Mode

RELEASE = "0.10.7"
VERSION = 0
"""Of the states that this release writes."""
NEVER = 2**30
"""A time limit that no episode reaches. Whoever plays a game cuts it off: the game itself would start anew at once, and
the last picture, whose value the student goes on with, would be lost.
"""

_MODE, _LOW, _NUMBERS = 7, 13, 17
"""Among the numbers after a state's name: where the distribution mode is, where the range of seeds, and how many."""


class Header(NamedTuple):
    """What a state says of itself."""

    version: int
    game: str
    mode: int
    seeds: range
    """From which its game draws a level when it starts anew."""
    limit: int
    seed: int
    limit_at: int
    """Where the time limit is, in bytes."""


def procgen() -> Any:
    """The class of environments. To import it says much about gym, which is of no use to anybody here."""
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            from procgen import ProcgenGym3Env
    except ImportError as problem:
        raise UserError(
            f"Procgen is not installed ({problem}): pip install 'tutelage[procgen]', and then, because they ask for an "
            f"older NumPy than they need, pip install --no-deps procgen-mirror=={RELEASE} gym3==0.3.3."
        ) from None
    return ProcgenGym3Env


def make(game: GameName, mode: Mode, number: int = 1, seed: int = 0, **more: Any) -> Any:
    """Environments of a game, all on one level, and none but it. Without threads: workers are processes."""
    return procgen()(
        number, game, distribution_mode=mode, num_levels=1, start_level=seed, num_threads=0, rand_seed=0, **more
    )


def read_header(state: bytes) -> Header:
    """Of a state as this release writes it. What is not one fails somewhere, with a ``struct.error`` mostly."""
    version, length = struct.unpack_from("<2i", state)
    at = 8 + length
    game = state[8:at].decode("ascii")
    numbers = struct.unpack_from(f"<{_NUMBERS}i", state, at)
    at += 4 * _NUMBERS
    for _ in range(2):  # two generators of random numbers, as text
        at += 8 + struct.unpack_from("<2i", state, at)[1]
    at += 16  # the last reward, two flags and the last action
    limit, seed = struct.unpack_from("<2i", state, at)
    return Header(version, game, numbers[_MODE], range(*numbers[_LOW : _LOW + 2]), limit, seed, at)


def check(state: bytes, game: GameName, mode: Mode, seed: int) -> Header:
    """Refuse a state that is not this level's, as this release writes it: loading it would end the process."""
    try:
        header = read_header(state)
    except (struct.error, UnicodeDecodeError, TypeError, ValueError):
        header = None
    known = header is not None and header.version == VERSION and header.limit in (GAMES[game].limit, NEVER)
    if header is None or not known:
        says = "cannot be read" if header is None else f"is of version {header.version} with a limit of {header.limit}"
        raise UserError(
            f"The state of level {seed} of {game} {says}: it is of another release of Procgen than {RELEASE}. Install "
            f"that: pip install --no-deps procgen-mirror=={RELEASE}."
        )
    expected = (game, MODES[mode], seed)
    found = (header.game, header.mode, header.seed)
    require(
        found == expected and header.seeds == range(seed, seed + 1),
        f"The state is of {header.game}, mode {header.mode}, level {header.seed}, and not of {game}, mode "
        f"{MODES[mode]} ({mode}), level {seed}; build it with the settings that it is played with.",
    )
    return header


def build(game: GameName, mode: Mode, seed: int) -> bytes:
    """The state of a level at its start, without a time limit. Takes about half a millisecond."""
    env = make(game, mode, seed=seed)
    (state,) = env.get_state()
    env.close()
    at = check(state, game, mode, seed).limit_at
    return state[:at] + struct.pack("<i", NEVER) + state[at + 4 :]


class LevelStates:
    """A cache of states. Of more than ``capacity`` the one is forgotten that was not used for longest."""

    def __init__(self, game: GameName, mode: Mode, capacity: int) -> None:
        self._game: GameName = game
        self._mode: Mode = mode
        self._capacity = capacity
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, seed: int) -> bytes:
        """The state of a level."""
        state = self._kept.pop(seed, None)
        self._kept[seed] = state = build(self._game, self._mode, seed) if state is None else state
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        return state


@lru_cache(maxsize=4)
def states(game: GameName, mode: Mode, capacity: int) -> LevelStates:
    """One cache in a process, for all who play the game there."""
    return LevelStates(game, mode, capacity)
