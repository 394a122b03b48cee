"""The maze against MiniGrid itself, step by step."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Goal, Wall
from minigrid.minigrid_env import MiniGridEnv

from tutelage.envs.base import Discrete, observation_spec
from tutelage.envs.maze.env import HeldOutMaze, Maze, Trial
from tutelage.envs.maze.level import MazeLevel, from_ascii, pad
from tutelage.envs.maze.space import MazeSpace
from tutelage.errors import UserError

KEY = jax.random.key(0)


class Reference(MiniGridEnv):
    """MiniGrid with a level of ours in it."""

    def __init__(self, level: MazeLevel, **options: Any) -> None:
        self.level = level
        self.seen: dict[tuple[int, int, int], dict[str, Any]] = {}
        height, width = level.walls.shape
        super().__init__(
            mission_space=MissionSpace(mission_func=lambda: "reach the goal"),
            width=width + 2,
            height=height + 2,
            **options,
        )

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for y, x in np.argwhere(self.level.walls):
            self.grid.set(int(x) + 1, int(y) + 1, Wall())
        self.put_obj(Goal(), *(int(c) + 1 for c in self.level.goal))
        self.agent_pos = tuple(int(c) + 1 for c in self.level.start)
        self.agent_dir = int(self.level.direction)

    def gen_obs(self) -> dict[str, Any]:
        """MiniGrid's own view, drawn once from where an agent stands: drawing is nearly all that MiniGrid does,
        and in a level of nothing but walls and a goal no action can change it."""
        pose = (*self.agent_pos, self.agent_dir)
        if pose not in self.seen:
            self.seen[pose] = super().gen_obs()
        return self.seen[pose]


NAMES = ("image", "direction", "next_image", "next_direction", "reward", "terminated", "truncated")


def play_reference(levels: MazeLevel, actions: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
    """Observations before and after each step, and how it ended; an episode that ends is started again.
    ``actions`` are [level, step], as is the result."""
    record: list[tuple] = []
    for i, row in enumerate(actions.tolist()):
        env = Reference(jax.tree.map(lambda leaf, i=i: leaf[i], levels), **options)
        obs, _ = env.reset()
        cells = env.grid.encode()
        for action in row:
            before = obs
            obs, reward, terminated, truncated, _ = env.step(action)
            record.append(
                (before["image"], before["direction"], obs["image"], obs["direction"], reward, terminated, truncated)
            )
            if terminated or truncated:
                assert (env.grid.encode() == cells).all()
                assert env.carrying is None
                obs, _ = env.reset()
    columns = (np.stack(column) for column in zip(*record, strict=True))
    return {name: column.reshape(actions.shape + column.shape[1:]) for name, column in zip(NAMES, columns, strict=True)}


def play_ours(env: Maze | HeldOutMaze, levels: Any, actions: np.ndarray) -> dict[str, np.ndarray]:
    """The same, as one program."""

    def one(level: Any, actions: jax.Array) -> dict[str, jax.Array]:
        prepared = env.prepare(level)
        first = env.reset(KEY, prepared)

        def step(carry: Any, action: jax.Array) -> Any:
            state, obs = carry
            state, after = env.step(KEY, state, action, prepared)
            record = (obs.image, obs.direction, after.obs.image, after.obs.direction)
            paid = after.transition
            record = dict(zip(NAMES, (*record, after.reward, paid.terminated, paid.truncated), strict=True))
            return jax.tree.map(lambda a, b: jnp.where(after.done, a, b), first, (state, after.obs)), record

        return lax.scan(step, first, actions)[1]

    return jax.device_get(jax.jit(jax.vmap(one))(levels, jnp.asarray(actions)))


def random_actions(rng: np.random.Generator, levels: int, steps: int) -> np.ndarray:
    """Mostly forward, so that agents get about; every action occurs."""
    return rng.choice(7, size=(levels, steps), p=[0.17, 0.17, 0.58, 0.02, 0.02, 0.02, 0.02]).astype(np.int32)


def compare(ours: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> None:
    for name, expected in reference.items():
        if name == "reward":
            np.testing.assert_allclose(ours[name], expected, atol=1e-6)
        else:
            np.testing.assert_array_equal(ours[name], expected, err_msg=name)


@cache
def sample(size: int, blocks: int, count: int) -> MazeLevel:
    return jax.device_get(
        jax.jit(jax.vmap(MazeSpace(size, blocks).sample))(jax.random.split(jax.random.key(size), count))
    )


@pytest.mark.parametrize("see_through_walls", [True, False])
@pytest.mark.parametrize(
    ("size", "blocks", "count", "max_steps", "view"), [(13, 60, 180, 250, 5), (7, 20, 90, 40, 5), (4, 6, 40, 20, 7)]
)
def test_plays_as_minigrid(see_through_walls: bool, size: int, blocks: int, count: int, max_steps: int, view: int):
    levels = sample(size, blocks, count)
    actions = random_actions(np.random.default_rng(size), count, 300)
    assert set(np.unique(actions)) == set(range(7))
    ours = play_ours(Maze(max_steps, view, see_through_walls), levels, actions)
    options = {"max_steps": max_steps, "agent_view_size": view, "see_through_walls": see_through_walls}
    compare(ours, play_reference(levels, actions, **options))
    # Rewards and both ends were there to be compared.
    assert (ours["reward"] > 0).sum() > count / 2
    assert ours["truncated"].sum() > count / 2


def test_rectangular_maze_plays_as_minigrid() -> None:
    level = from_ascii("#######\n#.#...#\n#.#.#G#\n#>..#.#\n#######")
    levels = jax.tree.map(lambda leaf: leaf[None], level)
    actions = random_actions(np.random.default_rng(0), 1, 300)
    for see in (True, False):
        ours = play_ours(Maze(60, see_through_walls=see), levels, actions)
        compare(ours, play_reference(levels, actions, max_steps=60, agent_view_size=5, see_through_walls=see))


@pytest.mark.parametrize("see_through_walls", [True, False])
def test_trials_play_as_the_maze_they_hold(see_through_walls: bool) -> None:
    """Padded, with limit and vision as data: the same episodes."""
    levels, actions = sample(7, 20, 40), random_actions(np.random.default_rng(1), 40, 100)
    padded = jax.vmap(lambda level: pad(level, 11))(levels)
    trials = Trial(padded, jnp.full(40, 30), jnp.full(40, see_through_walls))
    compare(play_ours(HeldOutMaze(), trials, actions), play_ours(Maze(30, 5, see_through_walls), levels, actions))


def test_trials_of_different_rules_run_together() -> None:
    level = from_ascii("#####\n#..G#\n#.#.#\n#>..#\n#####")
    limits, see = jnp.array([3, 9]), jnp.array([True, False])
    two = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), level)
    ours = play_ours(HeldOutMaze(), Trial(two, limits, see), np.full((2, 9), 6))
    assert ours["truncated"].tolist() == [[t % 3 == 2 for t in range(9)], [t == 8 for t in range(9)]]
    assert (ours["image"][0] != 0).any(-1).all()
    assert (ours["image"][1] == 0).all(-1).any()


@pytest.mark.parametrize(("reward", "paid"), [("minigrid", 0.1), ("appendix", 0.0)])
def test_goal_at_the_limit_is_both_ends(reward: Any, paid: float) -> None:
    level = from_ascii("######\n#>..G#\n######")
    ours = play_ours(Maze(max_steps=3, reward=reward), jax.tree.map(lambda leaf: leaf[None], level), np.full((1, 3), 2))
    assert ours["terminated"].tolist() == ours["truncated"].tolist() == [[False, False, True]]
    assert ours["reward"][0] == pytest.approx([0, 0, paid], abs=1e-6)


@pytest.mark.parametrize(("reward", "paid"), [("minigrid", 1 - 0.9 * 2 / 8), ("appendix", 1 - 2 / 8)])
def test_reward_shrinks_with_time(reward: Any, paid: float) -> None:
    level = jax.tree.map(lambda leaf: leaf[None], from_ascii("#####\n#>.G#\n#####"))
    ours = play_ours(Maze(max_steps=8, reward=reward), level, np.full((1, 2), 2))
    assert ours["reward"][0] == pytest.approx([0, paid], abs=1e-6)
    assert ours["terminated"].tolist() == [[False, True]]
    assert not ours["truncated"].any()


def test_contract() -> None:
    env, level = Maze(), jax.jit(MazeSpace().sample)(KEY)
    assert env.action_space == Discrete(7)
    assert Maze() == Maze()
    assert hash(Maze()) == hash(Maze())
    spec = observation_spec(env, level)
    assert (spec.image.shape, spec.image.dtype) == ((5, 5, 3), jnp.uint8)
    assert (spec.direction.shape, spec.direction.dtype) == ((), jnp.int32)
    prepared = env.prepare(level)
    state, _ = jax.jit(env.reset)(KEY, prepared)
    after, step = jax.jit(env.step)(KEY, state, jnp.int32(2), prepared)
    assert jax.tree.map(lambda a: (a.shape, a.dtype), after) == jax.tree.map(lambda a: (a.shape, a.dtype), state)
    paid = step.transition
    assert (paid.reward.dtype, paid.terminated.dtype, paid.truncated.dtype) == (jnp.float32, jnp.bool_, jnp.bool_)


@pytest.mark.parametrize("wrong", [{"view": 4}, {"view": 1}, {"max_steps": 0}, {"reward": "more"}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=str(next(iter(wrong.values())))):
        Maze(**wrong)
