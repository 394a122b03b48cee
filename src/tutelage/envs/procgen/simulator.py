"""Procgen's games, a batch of slots in one call. No JAX here: workers start fast.

Procgen starts an episode anew by itself, and gives the reward of the old one with the picture of the new one. Here the
picture that ended an episode is never shown, because nobody has it: where the rules have ended one, ``final`` is the
last picture before.
"""

from __future__ import annotations

import numpy as np

from ...hosts.simulator import Slots
from .games import NO_OP, GameName, Mode
from .images import averaged
from .states import make, states


class Procgen:
    """Plays a game on the level of each slot, up to ``limit`` steps, in images with ``resolution`` pixels a side.
    Keeps the states of ``cache`` levels.
    """

    def __init__(self, slots: int, game: GameName, mode: Mode, limit: int, resolution: int, cache: int) -> None:
        self._env = make(game, mode, slots)
        self._states = states(game, mode, cache)
        self._resolution = resolution
        self._limit, self._time = limit, np.zeros(slots, np.int64)
        self._actions = np.full(slots, NO_OP, np.int32)

    def reset(self, slots: Slots, which: list[int]) -> None:
        seeds = slots.level["seed"]
        for slot in which:
            slots.busy(slot)
            state = self._states.of(int(seeds[slot]))
            self._env.call_c_func("set_state", slot, state, len(state))
        self._time[which] = 0
        _, seen, _ = self._env.observe()
        slots.obs[""][which] = averaged(seen["rgb"][which], self._resolution)

    def step(self, slots: Slots, which: list[int]) -> None:
        self._actions[which] = slots.action[which]
        self._env.act(self._actions)
        reward, seen, ended = self._env.observe()
        self._time[which] += 1
        ended, picture = ended[which], averaged(seen["rgb"][which], self._resolution)
        picture[ended] = slots.obs[""][which][ended]
        slots.final[""][which] = picture
        slots.reward[which] = reward[which]
        slots.terminated[which] = ended
        slots.truncated[which] = (self._time[which] >= self._limit) & ~ended
