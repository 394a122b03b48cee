"""LavaGrid from its teacher's side: the maze's own design tasks, where walls are lava."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Array, Int, PRNGKeyArray

from ...types import TimeStep
from ..base import Brief, Discrete
from ..maze.design import DesignObs, DesignState, MazeDesign, MazeEditing
from ..maze.level import MazeLevel
from .level import LavaLevel
from .space import from_maze, to_maze


def _finished(state: DesignState) -> LavaLevel:
    return from_maze(MazeLevel(state.walls, state.start, state.direction, state.goal))


@dataclass(frozen=True)
class LavaDesign:
    """Places lava, then the goal, then the agent (thesis, appendix B.3). An action is a cell; lava on lava changes
    nothing, and a goal or an agent on a taken cell goes to a random free one.
    """

    size: int
    tiles: int

    @property
    def _maze(self) -> MazeDesign:
        return MazeDesign(self.size, self.tiles)

    @property
    def steps(self) -> int:
        return self._maze.steps

    @property
    def action_space(self) -> Discrete:
        return self._maze.action_space

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        return self._maze.reset(key, level)

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        return self._maze.step(key, state, action, level)

    def level(self, state: DesignState) -> LavaLevel:
        """The finished room."""
        return _finished(state)


@dataclass(frozen=True)
class LavaEditing:
    """Changes a room a few times. An action is a cell whose lava is added or removed; what stood under new lava moves
    to a random free cell after all edits.
    """

    size: int
    edits: int

    @property
    def _maze(self) -> MazeEditing:
        return MazeEditing(self.size, self.edits)

    @property
    def steps(self) -> int:
        return self.edits

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.size**2)  # the maze's first half: its second half moves the goal

    def prepare(self, level: Brief) -> Brief:
        return level

    def reset(self, key: PRNGKeyArray, level: Brief) -> tuple[DesignState, DesignObs]:
        return self._maze.reset(key, level._replace(start=to_maze(level.start)))

    def step(
        self, key: PRNGKeyArray, state: DesignState, action: Int[Array, ""], level: Brief
    ) -> tuple[DesignState, TimeStep]:
        return self._maze.step(key, state, action, level)

    def level(self, state: DesignState) -> LavaLevel:
        """The edited room."""
        return _finished(state)
