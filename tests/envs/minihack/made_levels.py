"""Small levels drawn by hand, and scripts to play them."""

from __future__ import annotations

import numpy as np

N, E, S, W, NE, SE, SW, NW, KICK, EAT = range(10)

TWO_ROOMS = """
######
#@...###
#....+a#
######b#
     ###
"""
ONE_ROOM = """
#####
#@ab#
#...#
#####
"""


def fruit_level(text: str = TWO_ROOMS, right: bool = True) -> dict[str, np.ndarray]:
    """``right``: is it the apple?"""
    rows = text.strip("\n").splitlines()
    grid = np.array([list(row.ljust(max(map(len, rows)))) for row in rows])
    tiles = np.zeros(grid.shape, np.uint8)
    for character, tile in {".": 2, "@": 2, "a": 2, "b": 2, "#": 1, "+": 3}.items():
        tiles[grid == character] = tile
    places = {name: np.argwhere(grid == character)[0][::-1].astype(np.int32) for name, character in PLACES.items()}
    return {"tiles": tiles, "apple_pays": np.array(right), **places}


PLACES = {"start": "@", "apple": "a", "banana": "b"}
