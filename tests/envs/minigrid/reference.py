"""MiniGrid itself: with a level of ours in it, and with its own generators at the sizes of the thesis."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from minigrid.core.constants import COLOR_TO_IDX, IDX_TO_COLOR
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.roomgrid import RoomGrid
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall
from minigrid.envs.multiroom import MultiRoomEnv
from minigrid.envs.obstructedmaze import ObstructedMaze_1Dlhb, ObstructedMaze_Full, ObstructedMazeEnv
from minigrid.envs.obstructedmaze_v1 import ObstructedMaze_Full_V1
from minigrid.minigrid_env import MiniGridEnv

from tutelage.envs.minigrid.env import DROP, FORWARD, LEFT, PICKUP, RIGHT, STEPS, TOGGLE
from tutelage.envs.minigrid.level import GridLevel

Place = tuple[int, int]


class Fixed(MiniGridEnv):
    """A level of ours. Observations are of the whole grid."""

    obj: Any = None

    def __init__(self, level: GridLevel, max_steps: int) -> None:
        self.level = level
        width, height, _ = level.cells.shape
        mission = MissionSpace(mission_func=lambda: "reach the goal")
        MiniGridEnv.__init__(self, mission_space=mission, width=width, height=height, max_steps=max_steps)

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        for x in range(width):
            for y in range(height):
                self.grid.set(x, y, thing(*(int(number) for number in self.level.cells[x, y])))
                if isinstance(found := self.grid.get(x, y), Ball) and found.color == "blue":
                    self.obj = found
        self.agent_pos = tuple(int(c) for c in self.level.start)
        self.agent_dir = int(self.level.direction)
        self.mission = ""

    def gen_obs(self) -> Any:
        image = self.grid.encode()
        image[self.agent_pos[0], self.agent_pos[1]] = (10, 0, self.agent_dir)
        return image


class FixedMaze(Fixed, ObstructedMazeEnv):
    """The same with the rule of the obstructed mazes: picking up the ball is the end."""

    step = ObstructedMazeEnv.step


def thing(kind: int, colour: int, state: int) -> Any:
    """MiniGrid's object for three of our numbers."""
    name = IDX_TO_COLOR[colour]
    match kind:
        case 1:
            return None
        case 2:
            return Wall()
        case 4:
            return Door(name, is_open=state == 0, is_locked=state == 2)
        case 5:
            return Key(name)
        case 6:
            return Ball(name)
        case 7:
            return Box(name, Key(IDX_TO_COLOR[state // 16 - 1]) if state else None)
        case 8:
            return Goal()
    raise AssertionError(kind)


# --- its own generators


class Rooms(MultiRoomEnv):
    """MultiRoom as in the thesis. ``tries`` counts the chains that it began."""

    tries = 0

    def __init__(self, rooms: int) -> None:
        super().__init__(rooms, rooms, maxRoomSize=7, width=13, height=13)

    def _placeRoom(self, numLeft: int, roomList: Any, *args: Any, **options: Any) -> Any:
        self.tries += len(roomList) == 0
        return super()._placeRoom(numLeft, roomList, *args, **options)

    def gen_obs(self) -> Any:
        return None


def _large(maze: Any, rows: int, columns: int, **fields: Any) -> None:
    """Rooms of seven cells, where MiniGrid's own mazes have six."""
    mission = MissionSpace(mission_func=lambda: "pick up the ball")
    for name, value in fields.items():
        setattr(maze, name, value)
    RoomGrid.__init__(maze, room_size=7, num_rows=rows, num_cols=columns, mission_space=mission)


class Near(ObstructedMaze_1Dlhb):
    def __init__(self, hidden: bool, blocked: bool) -> None:
        _large(self, 1, 2, key_in_box=hidden, blocked=blocked)

    def gen_obs(self) -> Any:
        return None


class Far(ObstructedMaze_Full):
    def __init__(self, hidden: bool, blocked: bool) -> None:
        _large(self, 3, 3, agent_room=(2, 1), key_in_box=hidden, blocked=blocked, num_quarters=1)

    def gen_obs(self) -> Any:
        return None


class FarRepaired(ObstructedMaze_Full_V1):
    def __init__(self, hidden: bool, blocked: bool) -> None:
        _large(self, 3, 3, agent_room=(2, 1), key_in_box=hidden, blocked=blocked, num_quarters=1)

    def gen_obs(self) -> Any:
        return None


def drawn(env: Any, seed: int, size: int) -> GridLevel:
    """A level that MiniGrid drew, as one of ours."""
    env.reset(seed=seed)
    cells = np.tile(np.array([1, 0, 0], np.uint8), (size, size, 1))
    cells[: env.width, : env.height] = env.grid.encode()
    for x in range(env.width):
        for y in range(env.height):
            if isinstance(box := env.grid.get(x, y), Box):
                cells[x, y, 2] = 16 * (1 + COLOR_TO_IDX[box.contains.color])
    arrays: Any = (cells, np.array(env.agent_pos, np.uint8), np.uint8(env.agent_dir))
    return GridLevel(*arrays)


# --- somebody who plays


class Player:
    """Knows the level and plays it in MiniGrid. Objects that it does not need are obstacles."""

    def __init__(self, env: Fixed, rng: np.random.Generator) -> None:
        self.env, self.rng = env, rng
        self.actions: list[int] = []
        image, _ = env.reset()
        self.seen: list[Any] = [image]
        self.paid: list[tuple[float, bool, bool]] = []

    @property
    def done(self) -> bool:
        return bool(self.paid) and (self.paid[-1][1] or self.paid[-1][2])

    def do(self, *actions: int) -> None:
        for action in actions:
            if self.done:
                return
            image, reward, terminated, truncated, _ = self.env.step(action)
            self.actions.append(action)
            self.seen.append(image)
            self.paid.append((float(reward), bool(terminated), bool(truncated)))

    def places(self, kind: type, colour: str = "") -> list[Place]:
        grid = self.env.grid
        cells = ((x, y) for x in range(grid.width) for y in range(grid.height))
        return [p for p in cells if isinstance(o := grid.get(*p), kind) and colour in ("", o.color)]

    def poses(self) -> Iterator[tuple[Place, Place, list[int]]]:
        """Where the agent can get, nearest first: its cell, the cell ahead, and the actions to get there. Closed doors
        that are not locked are opened on the way.
        """
        x, y = (int(c) for c in self.env.agent_pos)
        first = (x, y, self.env.agent_dir, False)
        # The last entry: has the door ahead been opened?
        ways: dict[Any, list[int]] = {first: []}
        queue = deque([first])
        while queue:
            x, y, direction, opened = pose = queue.popleft()
            dx, dy = STEPS[direction].tolist()
            ahead = (x + dx, y + dy)
            yield (x, y), ahead, ways[pose]
            found = self.env.grid.get(*ahead)
            closed = isinstance(found, Door) and not found.is_open and not found.is_locked and not opened
            moves = [(LEFT, (x, y, (direction - 1) % 4, False)), (RIGHT, (x, y, (direction + 1) % 4, False))]
            if closed:
                moves.append((TOGGLE, (x, y, direction, True)))
            elif found is None or found.can_overlap() or opened:
                moves.append((FORWARD, (*ahead, direction, False)))
            for action, after in moves:
                if after not in ways:
                    ways[after] = [*ways[pose], action]
                    queue.append(after)

    def face(self, *targets: Place) -> bool:
        """Stand before one of some cells, the nearest; False where there is no way."""
        for _, ahead, way in self.poses():
            if ahead in targets:
                self.do(*way)
                return True
        return False

    def drop_on_the_way(self, target: Place, keep_free: list[Place]) -> bool:
        """Put down what is carried and stand before a cell, in the fewest actions."""
        x, y = (int(c) for c in self.env.agent_pos)
        first: Any = (x, y, self.env.agent_dir, None)  # the last entry: where the thing was put
        ways: dict[Any, list[int]] = {first: []}
        queue = deque([first])
        while queue:
            x, y, direction, put = pose = queue.popleft()
            dx, dy = STEPS[direction].tolist()
            ahead = (x + dx, y + dy)
            if put is not None and ahead == target:
                return self._did(*ways[pose])
            found = self.env.grid.get(*ahead)
            moves = [(LEFT, (x, y, (direction - 1) % 4, put)), (RIGHT, (x, y, (direction + 1) % 4, put))]
            if (found is None or found.can_overlap()) and ahead != put:
                moves.append((FORWARD, (*ahead, direction, put)))
            if put is None and found is None and ahead not in keep_free:
                moves.append((DROP, (x, y, direction, ahead)))
            for action, after in moves:
                if after not in ways:
                    ways[after] = [*ways[pose], action]
                    queue.append(after)
        return False

    def _did(self, *actions: int) -> bool:
        self.do(*actions)
        return True

    def solve_rooms(self) -> None:
        """Straight to the goal."""
        if self.face(*self.places(Goal)):
            self.do(FORWARD)

    def solve_maze(self) -> bool:
        """Ball out of the way, key, door, ball; False where that does not work."""
        (goal,) = self.places(Ball, "blue")
        locked = [p for p in self.places(Door) if self.env.grid.get(*p).is_locked]
        door = min(locked, key=lambda place: place[1])  # that of the goal is above
        colour = self.env.grid.get(*door).color
        way = [(door[0] + dx, door[1] + dy) for dx, dy in STEPS.tolist()]
        holders = [p for p in self.places(Box) if self.env.grid.get(*p).contains.color == colour]
        holders += self.places(Key, colour)
        loose = [p for kind in (Ball, Box, Key) for p in self.places(kind) if p in way and p not in (goal, *holders)]
        if not holders:
            return False
        if loose:  # all the others are in the agent's room, so that there is but one
            ready = self.face(*loose) and self._did(PICKUP) and self.drop_on_the_way(holders[0], [*way, *holders])
        else:
            ready = self.face(*holders)
        if ready and isinstance(self.env.grid.get(*holders[0]), Box):
            self.do(TOGGLE)
        if not (ready and self._did(PICKUP) and self.face(door) and self._did(TOGGLE)):
            return False
        return self.drop_on_the_way(goal, []) and self._did(PICKUP)

    def meddle(self, errands: int) -> None:
        """Go to things and to empty cells, and do whatever comes to mind. The goal is not touched."""
        for _ in range(errands):
            if self.done:
                return
            things = [
                p for kind in (Door, Key, Ball, Box) for p in self.places(kind) if p not in self.places(Ball, "blue")
            ]
            reachable = [p for _, p, _ in self.poses()]
            loose = [p for p in things if p in reachable] or reachable
            pool = loose if self.rng.random() < 0.7 else [p for p in reachable if self.env.grid.get(*p) is None]
            self.face(pool[int(self.rng.integers(len(pool)))])
            ahead = self.env.grid.get(*self.env.front_pos)
            if isinstance(ahead, Ball) and ahead.color == "blue":
                continue
            for _ in range(int(self.rng.integers(1, 4))):
                self.do(int(self.rng.choice([PICKUP, DROP, TOGGLE, TOGGLE, 6, LEFT, RIGHT])))
