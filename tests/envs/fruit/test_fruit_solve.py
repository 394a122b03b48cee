"""Shortest ways and highest returns of levels: against searches in plain Python."""

from __future__ import annotations

from collections import deque
from typing import Any

import jax
import numpy as np
import pytest

from tutelage.envs.fruit.domain import build
from tutelage.envs.fruit.level import DOOR, FLOOR, WALL, FruitLevel, from_text
from tutelage.envs.fruit.settings import FruitSettings
from tutelage.envs.fruit.solve import fewest_doors, optimum, shortest_path
from tutelage.envs.fruit.space import FruitSpace

from .plain import MOVES, Game

KEY = jax.random.key(3)
SIDE = 9

HURRY = from_text("\n".join(["#########", "#<+A...b#", *["#.#####.#"] * 5, "#.......#", "#########"]), SIDE)


def scribbled(dice: Any) -> FruitLevel:
    """What somebody may draw: walls, doors and floor anywhere inside."""
    tiles = np.full((SIDE, SIDE), WALL, np.uint8)
    shares = [0.35, 0.4, 0.25] if dice.random() < 0.6 else [0.2, 0.7, 0.1]
    tiles[1:-1, 1:-1] = dice.choice([WALL, FLOOR, DOOR], (SIDE - 2, SIDE - 2), p=shares)
    cells = dice.permutation((SIDE - 2) ** 2)[:3]
    places = [np.array([1 + cell % (SIDE - 2), 1 + cell // (SIDE - 2)], np.int32) for cell in cells]
    for x, y in places:
        tiles[y, x] = FLOOR
    level: Any = (tiles, *places, np.asarray(dice.random() < 0.5))
    return FruitLevel(*level)


def prize(level: Any) -> tuple[int, int]:
    x, y = level.apple if level.apple_pays else level.banana
    return int(x), int(y)


def plain_path(level: Any) -> int:
    """Breadth first."""
    start = tuple(map(int, level.start))
    seen, waiting = {start: 0}, deque([start])
    while waiting:
        x, y = waiting.popleft()
        for dx, dy in MOVES:
            cell = (x + dx, y + dy)
            if cell not in seen and level.tiles[cell[1], cell[0]] in (FLOOR, DOOR):
                seen[cell] = seen[x, y] + 1
                waiting.append(cell)
    return seen.get(prize(level), -1)


def plain_doors(level: Any, most: int) -> int:
    """The fewest steps by cell and by doors opened, searched step by step; then the fewest doors in time."""
    begin = (*map(int, level.start), 0)
    soonest, times = {begin: 0}, {0: [begin]}
    for now in range(most + 1):
        for x, y, doors in times.pop(now, []):
            if soonest[x, y, doors] < now:
                continue
            for dx, dy in MOVES:
                tile = level.tiles[y + dy, x + dx]
                if tile not in (FLOOR, DOOR):
                    continue
                there = (x + dx, y + dy, doors + int(tile == DOOR))
                then = now + (3 if tile == DOOR else 1)
                if then < soonest.get(there, 10**9):
                    soonest[there] = then
                    times.setdefault(then, []).append(there)
    x, y = prize(level)
    found = [doors for (a, b, doors), when in soonest.items() if (a, b) == (x, y) and when <= most]
    return min(found, default=-1)


def test_ways_are_those_of_a_plain_search():
    dice = np.random.default_rng(0)
    levels = [scribbled(dice) for _ in range(150)]
    space = FruitSpace(SIDE, 2, 4)
    drawn = jax.device_get(jax.jit(jax.vmap(space.sample))(jax.random.split(KEY, 30)))
    levels += [jax.tree.map(lambda x, i=i: x[i], drawn) for i in range(30)]
    levels.append(HURRY)
    path = jax.jit(shortest_path)
    doors = {limit: jax.jit(lambda level, limit=limit: fewest_doors(level, limit)) for limit in (6, 12, 200)}
    kinds = set()
    for level in levels:
        assert int(path(level)) == plain_path(level)
        found = {limit: int(program(level)) for limit, program in doors.items()}
        assert found == {limit: plain_doors(level, limit) for limit in doors}
        kinds.add(tuple(doors < 0 for doors in found.values()))
    assert {(False, False, False), (True, False, False), (True, True, True)} <= kinds
    assert min(int(path(level)) for level in levels[150:]) > 0
    # Who is in a hurry opens a door; who has time walks around.
    assert [int(program(HURRY)) for program in doors.values()] == [1, 1, 0]


@pytest.mark.parametrize("penalty", ["frozen", "none"])
def test_nobody_can_do_better_than_the_optimum(penalty: Any):
    """Every sequence of a few actions, with dice that always fall well, in plain Python."""
    dice, most = np.random.default_rng(1), 6
    program = jax.jit(lambda level: optimum(level, penalty, most))
    texts = [
        ("_____", "_###_", "_#<#_", "_###_", "_#Ab#"),  # walled in
        ("_____", "_###_", "_#<+_", "_##A#", "__#b#"),  # nothing but a door beside
    ]
    levels = [from_text("\n".join((*(f"_{row}_" for row in rows), "_______", "_______")), 7) for rows in texts]
    levels += [near(dice) for _ in range(12)]
    found = set()
    for level in levels:
        best = searched(level, penalty == "frozen", most)
        assert float(program(level)) == pytest.approx(best, abs=1e-6)
        found.add(round(best, 2))
    assert len(found) > 2


def near(dice: Any) -> Any:
    """A level whose fruits are at most two moves away: as far as a search of everything gets."""
    while True:
        level = scribbled(dice)
        if max(np.abs(level.start - fruit).max() for fruit in (level.apple, level.banana)) <= 2:
            return level


def searched(level: Any, penalty: bool, most: int) -> float:
    """The highest return of any sequence of actions: all states that differ are looked at once a step."""
    states, best = {}, -1.0
    first = Game(level, 35, False, True, most, penalty)
    states[signature(first)] = (0.0, [])
    for _ in range(most):
        after: dict[Any, tuple[float, list[int]]] = {}
        for total, actions in states.values():
            for action in range(10):
                game = Game(level, 35, False, True, most, penalty)
                for one in actions:
                    game.step(one, LUCK)
                reward, over, late = game.step(action, LUCK)
                if over or late:
                    best = max(best, total + reward)
                elif total + reward > after.get(signature(game), (-9.0,))[0]:
                    after[signature(game)] = (total + reward, [*actions, action])
        states = after
    return best


LUCK = (0.0, 0.999, 0.999, 0.0)
"""Doors open, and walls hurt much but wound no legs."""


def signature(game: Game) -> Any:
    return game.at, game.hp, game.asked, game.tiles.tobytes()


def test_a_domain_says_so():
    domain = build(FruitSettings(size=13, rooms=2, max_steps=60))
    rows = ["#" * 13, "#<..+..A.b..#", *["#" * 13] * 11]
    metrics = jax.device_get(domain.levels.metrics(from_text("\n".join(rows), 13)))
    assert metrics == {"rooms": 2, "apple": 1, "path": 6, "solvable": 1}
    assert domain.rules.optimum is not None
    # A question at the door, and one before the bite.
    assert float(domain.rules.optimum(from_text("\n".join(rows), 13))) == pytest.approx(3 - 0.02)
    assert domain.measured is not None
    told = domain.measured(from_text("\n".join(rows), 13))
    assert told == {"paying_fruit": "apple", "rooms": 2, "path": 6, "solvable": 1}
    shut = [rows[0], "#<..#..A.b..#", *rows[2:]]
    metrics = jax.device_get(domain.levels.metrics(from_text("\n".join(shut), 13)))
    assert metrics == {"rooms": 1, "apple": 1, "path": 0, "solvable": 0}
    assert float(domain.rules.optimum(from_text("\n".join(shut), 13))) == 0
