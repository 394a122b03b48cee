"""The rules of Stochastic Fruit Choice once more, in Python, from the text and from NetHack's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

MOVES = [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)]
ROCK, WALL, FLOOR, DOOR, BROKEN = range(5)


class Game:
    """One episode. Whoever plays it says how the dice fall."""

    def __init__(self, level: Any, strength: int, tough: bool, agile: bool, limit: int, penalty: bool) -> None:
        self.tiles = np.array(level.tiles)
        self.at = tuple(int(x) for x in level.start)
        self.apple, self.banana = (tuple(int(x) for x in fruit) for fruit in (level.apple, level.banana))
        self.apple_pays = bool(level.apple_pays)
        self.strength, self.tough, self.agile = strength, tough, agile
        self.limit, self.penalty = limit, penalty
        self.hp, self.legs, self.asked, self.turn, self.steps = 12, 0, "", 1, 0

    def step(self, action: int, dice: Any) -> tuple[float, bool, bool]:
        """Reward, end by the rules, end by time."""
        opens, hurts, wounds, lasts = dice
        self.steps += 1
        time_passes, reward, over = False, 0.0, False
        if self.asked == "kick":
            self.asked = ""
            if action < 8:
                time_passes = True
                self._kick(action, opens, hurts, wounds, lasts)
        elif self.asked == "eat":
            if action == 7:
                self.asked, time_passes, over = "", True, True
                if self.apple_pays and self.at == self.apple:
                    reward = 3.0
                if not self.apple_pays and self.at == self.banana:
                    reward = 10.0
            elif action == 5:
                self.asked = ""
        elif action == 8:
            self.asked = "" if self.legs else "kick"
        elif action == 9:
            self.asked = "eat" if self.at in (self.apple, self.banana) else ""
        else:
            x, y = self._beside(action)
            if self.tiles[y, x] in (FLOOR, BROKEN):
                self.at, time_passes = (x, y), True
        over = over or self.hp <= 0
        if time_passes:
            self.turn += 1
            self.legs = max(self.legs - 1, 0)
            if self.turn % 15 == 0 and 0 < self.hp < 12:
                self.hp += 1
        elif self.penalty:
            reward -= 0.01
        return reward, over, self.steps >= self.limit

    def _beside(self, action: int) -> tuple[int, int]:
        return self.at[0] + MOVES[action][0], self.at[1] + MOVES[action][1]

    def _kick(self, action: int, opens: float, hurts: float, wounds: float, lasts: float) -> None:
        x, y = self._beside(action)
        tile = self.tiles[y, x]
        if tile == DOOR:
            if opens < self.strength / 35:
                self.tiles[y, x] = BROKEN
            return
        if (x, y) in (self.apple, self.banana):
            return
        if tile in (WALL, ROCK):
            self.hp -= 1 + int(hurts * (3 if self.tough else 5))
        elif self.agile:
            return
        if wounds < 1 / 3:
            self.legs = 5 + 1 + int(lasts * 5)
