"""LavaGrid: rules against plain Python, levels, edits and designs, suites, text and presets."""

from __future__ import annotations

from collections import deque
from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.envs.base import Brief
from tutelage.envs.lava.design import LavaDesign, LavaEditing
from tutelage.envs.lava.domain import build
from tutelage.envs.lava.env import MOVES, Lava
from tutelage.envs.lava.level import AGENT, DOWN, FLOOR, LAVA, STONE, UP, WALL, from_text, to_text
from tutelage.envs.lava.settings import LavaSettings
from tutelage.envs.lava.space import LavaSpace, fewest_moves, optimum
from tutelage.envs.lava.suites import LavaCrossing
from tutelage.errors import UserError

KEY = jax.random.key(0)
TEXT = """
.......
.<.}...
..}}...
.#.....
.....>.
}......
.......
"""


def drawn(sample: Any, count: int) -> list[Any]:
    batch = jax.device_get(jax.jit(jax.vmap(sample))(jax.random.split(KEY, count)))
    return [jax.tree.map(lambda x, i=i: x[i], batch) for i in range(count)]


def is_well_formed(level: Any, size: int = 7) -> bool:
    inside, ring = level.tiles[1:-1, 1:-1], level.tiles.sum() - level.tiles[1:-1, 1:-1].sum()
    (x, y), (a, b) = level.start, level.goal
    apart = (x, y) != (a, b)
    return bool(
        np.isin(inside, (FLOOR, LAVA)).all()
        and inside.shape == (size, size)
        and ring == 0
        and apart
        and level.tiles[y, x] == level.tiles[b, a] == FLOOR
    )


# --- rules


class Plain:
    """The rules once more, in Python."""

    def __init__(self, level: Any, every_step: bool) -> None:
        self.tiles, self.goal = np.asarray(level.tiles), tuple(np.asarray(level.goal))
        self.at, self.time, self.every_step = tuple(np.asarray(level.start)), 0, every_step

    def step(self, action: int) -> tuple[float, bool, bool]:
        dx, dy = [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)][action]
        x, y = self.at[0] + dx, self.at[1] + dy
        self.time += 1
        bump = self.tiles[y, x] in (WALL, STONE)
        if not bump:
            self.at = (x, y)
        reward = -0.01 if bump or self.every_step else 0.0
        if self.at == self.goal:
            return reward + 1.0, True, self.time >= 30
        return reward, bool(self.tiles[self.at[1], self.at[0]] == LAVA), self.time >= 30


@pytest.mark.parametrize("penalty", ["bumps", "steps"])
def test_episodes_are_those_of_plain_python(penalty):
    env = Lava(penalty, max_steps=30)
    step = jax.jit(env.step)
    levels = [*drawn(LavaSpace().sample, 20), *drawn(LavaCrossing(), 5), from_text(TEXT, 7)]
    rng, ended = np.random.default_rng(0), []
    for level in levels:
        prepared = env.prepare(level)
        state, _ = env.reset(KEY, prepared)
        plain, over = Plain(level, penalty == "steps"), False
        terminated, reward = False, 0.0
        while not over:
            action = int(rng.integers(8))
            state, answer = step(KEY, state, jnp.int32(action), prepared)
            reward, terminated, truncated = plain.step(action)
            assert tuple(np.asarray(state.position)) == plain.at
            assert float(answer.reward) == pytest.approx(reward)
            assert (bool(answer.transition.terminated), bool(answer.transition.truncated)) == (terminated, truncated)
            over = terminated or truncated
        ended.append((terminated, reward > 0.5))
    assert len(set(ended)) == 3  # at the goal, in lava, and cut off


def test_what_is_seen_is_the_map_with_stairs_and_the_agent():
    env = Lava()
    level = from_text(TEXT, 7)
    prepared = env.prepare(level)
    state, obs = env.reset(KEY, prepared)
    assert obs.glyphs[2, 2] == AGENT
    assert obs.glyphs[5, 6] == DOWN
    assert obs.glyphs[4, 2] == WALL
    assert (np.asarray(obs.glyphs) == LAVA).sum() == 4
    assert (np.asarray(obs.glyphs[0]) == STONE).all()
    state, answer = env.step(KEY, state, jnp.int32(0), prepared)
    assert answer.obs.glyphs[2, 2] == UP  # the stairs that it came from
    assert answer.obs.glyphs[1, 2] == AGENT
    assert answer.obs.position.tolist() == [2, 1]
    assert answer.obs.stats.tolist() == pytest.approx([2 / 9, 1 / 9, 0.01])


# --- levels


def test_levels_have_as_many_tiles_as_is_said():
    cases: list[tuple[Any, int]] = [("uniform", 20), ("fixed", 10), ("placements", 20)]
    for count, tiles in cases:
        levels = drawn(LavaSpace(7, tiles, count).sample, 1000)
        assert all(is_well_formed(level) for level in levels)
        lava = np.array([(level.tiles == LAVA).sum() for level in levels])
        if count == "fixed":
            assert set(lava) == {10}
        elif count == "uniform":
            assert set(lava) == set(range(21))
            assert np.bincount(lava).max() < 2 * 1000 / 21
        else:  # 49 (1 - (48/49)^20)
            assert lava.mean() == pytest.approx(16.56, abs=0.2)


@pytest.mark.parametrize(
    ("tiles", "solvable", "moves", "by_four"), [(0, 1, 3.29, 1), (10, 0.998, 3.36, 0.968), (20, 0.925, 3.66, 0.555)]
)
def test_random_levels_are_as_hard_as_was_counted_elsewhere(tiles, solvable, moves, by_four):
    space = LavaSpace(7, tiles, "fixed")
    found = jax.jit(jax.vmap(lambda key: space.metrics(space.sample(key))))(jax.random.split(KEY, 2000))
    found = {name: np.asarray(value) for name, value in found.items()}
    assert found["solvable"].mean() == pytest.approx(solvable, abs=0.015)
    assert found["path"][found["solvable"] > 0].mean() == pytest.approx(moves, abs=0.12)
    assert (found["path_of_four"] > 0).mean() == pytest.approx(by_four, abs=0.03)


def searched(level: Any) -> int:
    """Fewest moves, by a queue."""
    start, goal = tuple(np.asarray(level.start)), tuple(np.asarray(level.goal))
    known, waiting = {start: 0}, deque([start])
    while waiting:
        x, y = waiting.popleft()
        for dx, dy in MOVES:
            cell = (x + dx, y + dy)
            if level.tiles[cell[1], cell[0]] == FLOOR and cell not in known:
                known[cell] = known[x, y] + 1
                waiting.append(cell)
    return known.get(goal, -1)


def test_shortest_ways_are_those_of_a_search():
    levels = drawn(LavaSpace(7, 24, "fixed").sample, 60)
    moves = jax.jit(fewest_moves)
    assert [int(moves(level)) for level in levels] == [searched(level) for level in levels]
    assert -1 in [searched(level) for level in levels]


def test_the_best_return_is_that_of_the_shortest_way():
    level = from_text(TEXT, 7)
    assert searched(level) == 5  # past the wall: (1, 2), (2, 3), (3, 4), (4, 4), (5, 4)
    assert float(optimum(level, "bumps", 100)) == 1.0
    assert float(optimum(level, "steps", 100)) == pytest.approx(0.95)
    assert float(optimum(level, "bumps", 3)) == 0.0
    # Walled in by lava: at once into it, if every step costs.
    lost = from_text("<}.....\n}}.....\n.......\n.......\n.......\n.......\n......>", 7)
    assert float(optimum(lost, "bumps", 100)) == 0.0
    assert float(optimum(lost, "steps", 100)) == pytest.approx(-0.01)


# --- edits and designs


def test_edits_flip_lava_and_nothing_else():
    space = LavaSpace()
    edit = jax.jit(lambda key, level: space.edit(key, level, 5))
    for i, level in enumerate(drawn(space.sample, 50)):
        edited = jax.device_get(edit(jax.random.key(i), level))
        assert is_well_formed(edited)
        changed = edited.tiles != level.tiles
        assert changed.sum() == 5
        for name in ("start", "goal"):
            x, y = getattr(level, name)
            assert (getattr(edited, name) != getattr(level, name)).any() == (edited.tiles[y, x] == LAVA)


def test_a_full_room_can_still_be_edited():
    space = LavaSpace(2, 2, "fixed")
    for level in drawn(space.sample, 20):
        edited = jax.device_get(space.edit(KEY, level, 1))
        assert is_well_formed(edited, 2)
        assert any((a != b).any() for a, b in zip(edited, level, strict=True))


def test_a_teacher_places_lava_then_goal_then_agent():
    task = LavaDesign(7, 3)
    brief = Brief(jax.random.key_data(KEY), ())
    state, _ = task.reset(KEY, brief)
    for action in (0, 8, 8, 48, 8):  # lava twice on one cell; the agent on lava goes elsewhere
        state, answer = task.step(KEY, state, jnp.int32(action), brief)
    level = jax.device_get(task.level(state))
    assert bool(answer.done)
    assert is_well_formed(level)
    assert np.argwhere(level.tiles == LAVA).tolist() == [[1, 1], [2, 2]]
    assert level.goal.tolist() == [7, 7]


def test_a_learned_editor_flips_lava_where_it_says():
    (level,) = drawn(LavaSpace(7, 5, "fixed").sample, 1)
    task = LavaEditing(7, 2)
    brief = Brief(jax.random.key_data(KEY), level)
    state, _ = task.reset(KEY, brief)
    y, x = np.argwhere(level.tiles == LAVA)[0] - 1
    free = int(np.flatnonzero(level.tiles[1:-1, 1:-1] == FLOOR)[0])
    for action in (7 * y + x, free):
        state, _ = task.step(KEY, state, jnp.int32(action), brief)
    edited = jax.device_get(task.level(state))
    assert is_well_formed(edited)
    assert np.flatnonzero((edited.tiles != level.tiles)[1:-1, 1:-1]).tolist() == sorted([7 * y + x, free])
    assert task.action_space.n == 49


# --- suites, text, presets


def test_lava_crossing_is_minigrids():
    levels = drawn(LavaCrossing(), 300)
    rivers = set()
    for level in levels:
        assert (level.tiles[0] == WALL).all()
        assert (level.tiles[:, -1] == WALL).all()
        assert (level.start.tolist(), level.goal.tolist()) == ([1, 1], [7, 7])
        rows, columns = np.nonzero(level.tiles == LAVA)
        assert len(rows) == 6
        upright = len(set(columns)) == 1
        (line,), along = (set(columns), rows) if upright else (set(rows), columns)
        (opening,) = set(range(1, 8)) - set(along)
        assert line in (2, 4, 6)
        rivers.add((upright, int(line), opening))
        assert searched(level) > 0
    assert len(rivers) == 6 * 7


def test_the_thesis_levels_are_for_rooms_of_seven():
    domain = build(LavaSettings())
    assert [task.name for task in domain.suites["thesis"].tasks] == [
        "Empty",
        "Tiles-10",
        "Tiles-20",
        "LavaCrossing-S9N1",
    ]
    for task, lava in zip(domain.suites["thesis"].tasks, (0, 10, 20, 6), strict=True):
        assert (np.asarray(task.sample(KEY).tiles) == LAVA).sum() == lava
    assert domain.suites["Tiles-10"].tasks[0] == domain.suites["thesis"].tasks[1]
    assert list(build(LavaSettings(size=5, tiles=4)).suites) == ["fresh"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<", ".", r"The level has 0 of '<' \(start\); it needs exactly one"),
        ("#", ">", r"The level has 2 of '>' \(goal\); it needs exactly one"),
        ("#", "x", "Row 4, column 2 of the level is 'x'"),
        ("}......", "}.....", "Row 6 of the level has 6 cells, and there are 7 rows"),
        ("}......\n", "", "The level has 6 rows; draw 7, or 9 with a ring of walls"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(old, new, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(TEXT.replace(old, new), 7)


def test_walled_levels_are_read_back_and_need_their_walls():
    (level,) = drawn(LavaCrossing(), 1)
    text = to_text(level)
    jax.tree.map(np.testing.assert_array_equal, from_text(text, 7), level)
    with pytest.raises(UserError, match="the ring of a level with 9 rows is walls; put '#' there"):
        from_text("." + text[1:], 7)


def test_a_level_whose_goal_is_outside_cannot_be_written():
    (level,) = drawn(LavaCrossing(), 1)
    with pytest.raises(UserError, match=r"goal is \(200, 1\), outside of its 9 columns and 9 rows"):
        to_text(level._replace(goal=np.array([200, 1])))


def test_every_setting_changes_levels_or_episodes():
    base = LavaSettings(size=5, tiles=8, max_steps=9)

    def episode(settings: LavaSettings) -> Any:
        domain = build(settings)
        level, env = domain.levels.sample(jax.random.key(4)), domain.env
        assert isinstance(env, Lava)
        prepared = env.prepare(level)
        state, obs = env.reset(KEY, prepared)
        return [level, obs, *(env.step(KEY, state, jnp.int32(i), prepared)[1] for i in range(4))]

    changes = {"size": 6, "tiles": 3, "tile_count": "fixed", "penalty": "steps", "max_steps": 1}
    assert set(changes) == {field.name for field in fields(LavaSettings)}
    first = jax.tree.leaves(jax.jit(lambda: episode(base))())
    for name, value in changes.items():
        other = jax.tree.leaves(jax.jit(lambda name=name, value=value: episode(replace(base, **{name: value})))())
        assert any(a.shape != b.shape or (a != b).any() for a, b in zip(first, other, strict=True)), name


def test_who_gets_to_the_goal_has_solved_it_whatever_it_cost():
    bumps, steps = build(LavaSettings()).rules, build(LavaSettings(penalty="steps")).rules
    assert 1 - 99 * 0.01 > bumps.success >= 0
    assert 1 - 100 * 0.01 > steps.success > -0.01
    with pytest.raises(UserError, match="env.max_steps is 250; give 1 to 100"):
        LavaSettings(max_steps=250)


@pytest.mark.parametrize("preset", ["thesis-lava", "fast"])
def test_every_method_that_can_builds_a_trainer(preset):
    for method in ("dr", "plr", "robust-plr", "accel", "paired", "minimax", "repaired", "tscl", "sfl"):
        assert tutelage.build(tutelage.preset("lava", method, preset)).students >= 1
