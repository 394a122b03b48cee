"""Held-out levels: the true distribution, each number of rooms, and each fruit."""

from __future__ import annotations

from ...errors import unknown
from ..base import Suite, Task
from .env import Fruit
from .space import FruitSpace, SomeRooms

NAMES = ("true", "choices", "rooms")


def suite(name: str, env: Fruit, space: FruitSpace) -> Suite:
    """A suite, or one of its tasks.

    The student cannot tell levels of ``choices`` apart, so that its solved rates are how often it takes each fruit.
    """
    rooms = {f"Rooms-{count}": SomeRooms(space, count) for count in range(1, space.rooms + 1)}
    choices = {"Apple": SomeRooms(space, apple_pays=True), "Banana": SomeRooms(space, apple_pays=False)}
    samples = {"True": SomeRooms(space)} | choices | rooms
    members = {"true": ("True",), "choices": tuple(choices), "rooms": tuple(rooms)}.get(name, (name,))
    if name not in (*NAMES, *samples):
        raise unknown("suite", name, (*NAMES, *samples))
    return Suite(name, tuple(Task(member, env, samples[member], env.max_steps) for member in members))
