"""The rules against MiniGrid itself, step by step, on levels of every difficulty."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tutelage.envs.minigrid.domain import environment
from tutelage.envs.minigrid.env import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, MiniGrid
from tutelage.envs.minigrid.level import GridLevel, from_text
from tutelage.envs.minigrid.space import GridSpace

from .reference import Fixed, FixedMaze, Player

KEY = jax.random.key(0)
LEVELS = 42
"""Of each difficulty: a third each for those who solve, meddle and walk about at random."""
LONGEST = 120


@cache
def sampler(space: GridSpace) -> Callable[..., Any]:
    return jax.jit(jax.vmap(space.at, (0, None)))


def levels_of(space: GridSpace, difficulty: int) -> list[GridLevel]:
    batch = jax.device_get(sampler(space)(jax.random.split(jax.random.key(difficulty), LEVELS), difficulty))
    return [jax.tree.map(lambda x, i=i: x[i], batch) for i in range(LEVELS)]


def stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def played(env: MiniGrid, levels: list[GridLevel], actions: list[list[int]]) -> Any:
    """Observations ``[N, T + 1, ...]`` and what was paid ``[N, T]``, as one program."""
    return jax.device_get(_program(env)(stacked(levels), _padded(actions)))


def _padded(actions: list[list[int]]) -> Any:
    return np.array([[*acts, *[6] * (LONGEST - len(acts))] for acts in actions], np.int32)


@cache
def _program(env: MiniGrid) -> Callable[..., Any]:
    def episode(level: GridLevel, acts: Any) -> Any:
        prepared = env.prepare(level)
        state, obs = env.reset(KEY, prepared)

        def step(state: Any, action: Any) -> Any:
            state, answer = env.step(KEY, state, action, prepared)
            return state, (answer.obs, answer.reward, answer.transition.terminated, answer.transition.truncated)

        _, (seen, *paid) = lax.scan(step, state, acts)
        return jnp.concatenate([obs[None], seen]), paid

    return jax.jit(jax.vmap(episode))


def compare(env: MiniGrid, levels: list[GridLevel], players: list[Player]) -> None:
    images, (rewards, terminated, truncated) = played(env, levels, [player.actions for player in players])
    for i, player in enumerate(players):
        steps = len(player.actions)
        np.testing.assert_array_equal(images[i, : steps + 1], np.stack(player.seen))
        paid = np.array(player.paid)
        np.testing.assert_allclose(rewards[i, :steps], paid[:, 0], atol=1e-6)
        np.testing.assert_array_equal(terminated[i, :steps], paid[:, 1].astype(bool))
        np.testing.assert_array_equal(truncated[i, :steps], paid[:, 2].astype(bool))


def wander(player: Player, weights: list[float]) -> None:
    for action in player.rng.choice(7, size=LONGEST, p=weights):
        player.do(int(action))


@pytest.mark.parametrize("rooms", range(1, 5))
def test_rooms_are_played_as_in_minigrid(rooms):
    """To the goal, at random, and past the time limit."""
    space, rng = GridSpace("multiroom"), np.random.default_rng(rooms)
    env, levels, players = environment(space), levels_of(space, rooms - 1), []
    for i, level in enumerate(levels):
        player = Player(Fixed(level, 80), rng)
        if i % 3 == 0:
            player.solve_rooms()
            assert player.paid[-1][1]
        elif i % 3 == 1 and rooms > 1:
            player.meddle(12)
            player.solve_rooms()
        else:
            wander(player, [0.2, 0.2, 0.25, 0.05, 0.05, 0.2, 0.05])
            assert player.done
        players.append(player)
    assert any(player.paid[-1][2] for player in players)
    assert any(player.paid[-1][1] for player in players)
    compare(env, levels, players)


@pytest.mark.parametrize("difficulty", range(6))
def test_obstructed_mazes_are_played_as_in_minigrid(difficulty):
    """Solved with keys, boxes and balls; with everything carried about, opened and shut; and at random."""
    space, rng = GridSpace("omg-medium"), np.random.default_rng(difficulty)
    env, levels, players = environment(space), levels_of(space, difficulty), []
    limit = 392 if difficulty < 3 else 784
    for i, level in enumerate(levels):
        player = Player(FixedMaze(level, limit), rng)
        if i % 3 == 0:
            player.solve_maze()
        elif i % 3 == 1:
            player.meddle(7)
            player.actions, player.seen, player.paid = (
                player.actions[:LONGEST],
                player.seen[: LONGEST + 1],
                player.paid[:LONGEST],
            )
        else:
            wander(player, [0.15, 0.15, 0.3, 0.1, 0.1, 0.15, 0.05])
        players.append(player)
    assert any(player.paid[-1][1] for player in players)
    done = {action for player in players for action in player.actions}
    assert done == set(range(7))
    compare(env, levels, players)


def junk(rng: np.random.Generator) -> GridLevel:
    """A room of 11x11 cells, a third of them with something on it: doors, keys, balls and boxes of all kinds."""
    cells = np.tile(np.array([2, 5, 0], np.uint8), (19, 19, 1))
    cells[1:12, 1:12] = (1, 0, 0)
    for x, y in np.argwhere(rng.random((11, 11)) < 0.35) + 1:
        kind, colour = int(rng.choice([4, 4, 5, 6, 7, 7])), int(rng.integers(6))
        state = int(rng.integers(3)) if kind == 4 else 16 * int(rng.integers(7)) if kind == 7 else 0
        cells[x, y] = (kind, 1 if kind == 6 else colour, state)
    cells[11, 11] = (6, 2, 0)
    cells[6, 6] = (1, 0, 0)
    arrays: Any = (cells, np.array([6, 6], np.uint8), np.uint8(rng.integers(4)))
    return GridLevel(*arrays)


def test_any_heap_of_things_is_played_as_in_minigrid_until_the_time_is_up():
    """Empty boxes and full ones, several keys of a colour, open doors anywhere."""
    rng = np.random.default_rng(0)
    levels = [junk(rng) for _ in range(40)]
    players = [Player(FixedMaze(level, 100), rng) for level in levels]
    for player in players:
        player.meddle(100)
        assert player.paid[-1] == (0.0, False, True)
        assert len(player.actions) == 100
    compare(MiniGrid(limit=100, ball=True), levels, players)


def test_limits_are_20_steps_a_room_or_4_steps_a_cell_of_the_rooms_in_play():
    space = GridSpace("omg-medium")
    limits = jax.jit(environment(space).steps_allowed)
    for difficulty, limit in enumerate([392] * 3 + [784] * 3):
        assert int(limits(levels_of(space, difficulty)[0])) == limit
    rooms = GridSpace("multiroom")
    limits = jax.jit(environment(rooms).steps_allowed)
    assert {int(limits(levels_of(rooms, i)[0])) for i in range(4)} == {80}


# --- by hand

PLAIN = """
#   #   #   #   #   #   #   #   #   #   #   #   #
#   >   Xer .   .   Lr  .   .   .   .   .   Bb  #
#   .   Kb  .   .   #   .   .   .   .   .   .   #
"""


def small(text: str, ball: bool = True) -> GridLevel:
    """A level of the size of the obstructed mazes; all that is not drawn is wall."""
    rows = [line.split() for line in text.strip().splitlines()]
    rows += [[] for _ in range(19 - len(rows))]
    return from_text("\n".join(" ".join([*row, *["#"] * (19 - len(row))]) for row in rows), 19, ball)


@cache
def _step(env: MiniGrid) -> Callable[..., Any]:
    return jax.jit(env.step)


def after(env: MiniGrid, level: GridLevel, actions: list[int]) -> tuple[Any, Any]:
    prepared = env.prepare(level)
    state, _ = env.reset(KEY, prepared)
    answer, step = None, _step(env)
    for action in actions:
        state, answer = step(KEY, state, jnp.int32(action), prepared)
    return state, answer


def test_success_at_the_very_last_step_pays_a_tenth_and_counts():
    level = small("# # # #\n# > Bb #\n# # # #")
    state, answer = after(MiniGrid(limit=3, ball=True), level, [LEFT, RIGHT, PICKUP])
    assert float(answer.reward) == pytest.approx(0.1)
    assert bool(answer.transition.terminated)
    assert bool(answer.transition.truncated)
    assert bool(answer.done)
    assert int(state.time) == 3


def test_what_is_carried_is_seen_only_where_a_setting_says_so():
    level = small(PLAIN)
    for show in (False, True):
        env = MiniGrid(limit=100, ball=True, show_carried=show)
        _, answer = after(env, level, [TOGGLE, PICKUP])
        assert answer.obs.shape == (19, 19, 5 if show else 3)
        others = np.ones((19, 19), bool)
        others[1, 1] = False
        if show:
            assert answer.obs[1, 1, 3:].tolist() == [5, 0]
            assert not np.asarray(answer.obs)[others, 3:].any()
            _, before = after(env, level, [TOGGLE])
            assert not np.asarray(before.obs)[..., 3:].any()


def test_a_box_is_carried_with_what_it_holds_and_hides_it():
    state, _ = after(MiniGrid(limit=100, ball=True), small(PLAIN), [PICKUP, RIGHT, DROP, TOGGLE])
    assert state.cells[2, 1].tolist() == [1, 0, 0]
    assert state.cells[1, 2].tolist() == [5, 0, 0]
    assert state.carried.tolist() == [1, 0, 0]
    _, before = after(MiniGrid(limit=100, ball=True), small(PLAIN), [LEFT])
    assert before.obs[2, 1].tolist() == [7, 5, 0]


def test_a_door_under_the_agent_is_still_there_when_it_walks_on():
    level = small("# # # # # #\n# > Or . Bb #\n# # # # # #")
    _, answer = after(MiniGrid(limit=100, ball=True), level, [FORWARD])
    assert answer.obs[2, 1].tolist() == [10, 0, 0]
    _, answer = after(MiniGrid(limit=100, ball=True), level, [FORWARD, FORWARD])
    assert answer.obs[2, 1].tolist() == [4, 0, 0]


def test_beyond_the_grid_is_wall():
    rows = [["."] * 19 for _ in range(19)]
    rows[0][0], rows[9][9] = "<", "Bb"
    state, _ = after(
        MiniGrid(limit=100, ball=True), from_text("\n".join(map(" ".join, rows)), 19, True), [FORWARD, TOGGLE]
    )
    assert state.position.tolist() == [0, 0]
    assert (np.asarray(state.cells)[..., 0] == 1).sum() == 19 * 19 - 1
