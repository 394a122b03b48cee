"""Every episode counts, and depends on nothing but its student, its task, its seed and its number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

import tutelage
from tutelage.envs.base import Discrete, Suite, Task
from tutelage.envs.maze.env import FORWARD, LEFT, RIGHT, STEPS, Maze
from tutelage.envs.maze.level import MazeLevel, from_ascii
from tutelage.errors import UserError
from tutelage.evaluation import evaluate as evaluating
from tutelage.evaluation.evaluate import _player, batch_size, episode_key, episode_level, evaluate
from tutelage.evaluation.record import record
from tutelage.rl.agent import Decision
from tutelage.rl.distributions import Categorical
from tutelage.types import TimeStep, played

# --- something to play and somebody who plays


class Countdown(NamedTuple):
    left: Any
    cut: Any


@dataclass(frozen=True)
class Counter:
    """A level is a number of steps, each of which pays 1, also those past the end. Odd ones are cut off there."""

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def prepare(self, level: Any) -> Any:
        return level

    def reset(self, key: Any, level: Any) -> tuple[Countdown, Any]:
        return Countdown(level, level % 2 == 1), jnp.zeros(1)

    def step(self, key: Any, state: Countdown, action: Any, level: Any) -> tuple[Countdown, TimeStep]:
        state = state._replace(left=state.left - 1)
        over = state.left <= 0
        return state, played(jnp.zeros(1), jnp.float32(1), over & ~state.cut, over & state.cut)


@dataclass(frozen=True)
class UpTo:
    most: int

    def __call__(self, key: Any) -> Any:
        return jax.random.randint(key, (), 1, self.most + 1)


@dataclass(frozen=True)
class Fixed:
    """One maze, always."""

    text: str

    def __call__(self, key: Any) -> MazeLevel:
        return jax.tree.map(jnp.asarray, from_ascii(self.text))


@dataclass(frozen=True)
class Scripted:
    """Plays a list of actions, which is its state. Its memory is the step."""

    @property
    def actions(self) -> Categorical:
        return Categorical(7)

    def initial_carry(self, batch: int) -> Any:
        return jnp.full(batch, -1)

    def noise(self, key: Any, batch: int) -> Any:
        return jnp.zeros(batch)

    def act(self, state: Any, noise: Any, memory: Any, obs: Any, first: Any) -> tuple[Any, Decision]:
        memory = jnp.where(first, 0, memory + 1)
        action = state[jnp.minimum(memory, len(state) - 1)]
        zero = jnp.zeros(action.shape)
        return memory, Decision(action, zero, jax.nn.one_hot(action, 7), zero)


def shortest_script(level: MazeLevel) -> list[int]:
    """The fewest actions to the goal, turns included."""
    walls = np.pad(np.asarray(level.walls), 1, constant_values=True)
    start = (*map(int, level.start), int(level.direction))
    scripts, queue = {start: []}, deque([start])
    while queue:
        x, y, direction = here = queue.popleft()
        if (x, y) == tuple(map(int, level.goal)):
            return scripts[here]
        ahead = (x + int(STEPS[direction][0]), y + int(STEPS[direction][1]))
        if walls[ahead[1] + 1, ahead[0] + 1]:
            ahead = (x, y)
        turned = {LEFT: (direction - 1) % 4, RIGHT: (direction + 1) % 4}
        for action, there in (
            (FORWARD, (*ahead, direction)),
            (LEFT, (x, y, turned[LEFT])),
            (RIGHT, (x, y, turned[RIGHT])),
        ):
            if there not in scripts:
                scripts[there] = [*scripts[here], action]
                queue.append(there)
    raise AssertionError("there is no way")


ZERO = np.zeros(1, np.int32)
CORRIDOR = "#######\n#>...G#\n#######"
CORNER = "#####\n#.v##\n#.#G#\n#...#\n#####"
ROOM = "#####\n#^..#\n#...#\n#..G#\n#####"
WALLED_IN = "#####\n#^.##\n#.###\n###G#\n#####"


def maze_task(name: str, text: str, max_steps: int = 40) -> Task:
    return Task(name, Maze(max_steps=max_steps, view=3), Fixed(text), max_steps)


@pytest.fixture(scope="module")
def untrained() -> tuple[Any, Any]:
    settings = tutelage.override(
        tutelage.preset("maze", "dr", "small"), {"env.view": "3", "network.width": "8", "encoder.filters": "2"}
    )
    trainer = tutelage.build(settings)
    return trainer.learner.agent, jax.tree.map(lambda x: x[0], trainer.init(0).students.agent)


# --- every episode counts


def test_every_episode_counts_long_or_short() -> None:
    task = Task("counter", Counter(), UpTo(50), 50)
    result = evaluate(Scripted(), ZERO, Suite("suite", (task,)), episodes=40, seed=3).tasks[0]
    drawn = [int(episode_level(task, episode_key(3, task, i))) for i in range(40)]
    assert min(drawn) < 5
    assert max(drawn) > 45
    assert result.lengths.tolist() == drawn
    assert result.returns.tolist() == drawn  # each step pays 1, and nothing after the end is paid


def test_a_long_episode_is_played_to_its_end() -> None:
    task = Task("long", Counter(), lambda key: jnp.int32(5001), 5001)
    result = evaluate(Scripted(), ZERO, Suite("suite", (task,)), episodes=2).tasks[0]
    assert result.lengths.tolist() == [5001, 5001]
    assert result.returns.tolist() == [5001.0, 5001.0]


@pytest.mark.parametrize("text", [CORRIDOR, CORNER, ROOM])
def test_the_shortest_way_is_paid_what_it_is_worth(text: str) -> None:
    script = shortest_script(from_ascii(text))
    suite = Suite("suite", (maze_task("maze", text),))
    result = evaluate(Scripted(), jnp.array(script), suite, episodes=3).tasks[0]
    assert result.lengths.tolist() == [len(script)] * 3
    np.testing.assert_allclose(result.returns, 1 - 0.9 * len(script) / 40, rtol=1e-6)
    assert (result.solved_rate, result.standard_error) == (1.0, 0.0)
    # One action short of the goal, and turning on the spot from there, is a failure of full length.
    almost = evaluate(Scripted(), jnp.array([*script[:-1], LEFT]), suite, episodes=3).tasks[0]
    assert almost.lengths.tolist() == [40] * 3
    assert (almost.solved_rate, almost.mean_return) == (0.0, 0.0)


def test_an_untrained_student_solves_what_chance_solves(untrained: tuple[Any, Any]) -> None:
    tasks = (maze_task("easy", ROOM, 400), maze_task("hard", ROOM, 100), maze_task("impossible", WALLED_IN, 30))
    easy, hard, impossible = evaluate(*untrained, Suite("suite", tasks), episodes=60).tasks
    assert easy.solved_rate > 0.9
    assert 0 < hard.solved_rate < 0.9
    assert impossible.solved_rate == impossible.mean_return == 0
    assert set(impossible.lengths) == {30}


def test_success_is_a_return_above_the_threshold() -> None:
    suite = Suite("suite", (Task("counter", Counter(), UpTo(10), 10),))
    result = evaluate(Scripted(), ZERO, suite, episodes=50, success=4.0).tasks[0]
    assert result.solved.tolist() == (result.lengths > 4).tolist()
    expected = result.solved.std(ddof=1) / 50**0.5
    assert result.standard_error == pytest.approx(expected)
    assert result.return_error == pytest.approx(result.returns.std(ddof=1) / 50**0.5)
    assert result.min_return == result.lengths.min()


def test_a_suite_is_the_mean_of_its_tasks_in_their_order() -> None:
    script = jnp.array(shortest_script(from_ascii(CORRIDOR)))
    tasks = (maze_task("no", WALLED_IN), maze_task("yes", CORRIDOR), maze_task("never", CORNER))
    result = evaluate(Scripted(), script, Suite("suite", tasks), episodes=2)
    assert [task.task for task in result.tasks] == ["no", "yes", "never"]
    assert result.solved_rate == pytest.approx(1 / 3)


def test_no_episodes_are_refused(untrained: tuple[Any, Any]) -> None:
    with pytest.raises(UserError, match="0 episodes were asked for; an evaluation needs at least 1."):
        evaluate(*untrained, Suite("suite", (maze_task("maze", ROOM),)), episodes=0)


# --- on nothing else does it depend


def test_the_same_seed_gives_the_same_table_and_another_does_not(untrained: tuple[Any, Any]) -> None:
    suite = Suite("suite", (maze_task("maze", ROOM),))
    first, again, other = (evaluate(*untrained, suite, episodes=20, seed=seed).tasks[0] for seed in (1, 1, 2))
    assert first.lengths.tolist() == again.lengths.tolist() != other.lengths.tolist()
    assert first.returns.tolist() == again.returns.tolist()
    # The levels too are the seed's: here nothing else can differ.
    suite = Suite("suite", (Task("counter", Counter(), UpTo(50), 50),))
    first, again, other = (evaluate(Scripted(), ZERO, suite, episodes=40, seed=seed).tasks[0] for seed in (3, 3, 4))
    assert first.lengths.tolist() == again.lengths.tolist() != other.lengths.tolist()


def test_a_task_does_not_depend_on_its_company(untrained: tuple[Any, Any]) -> None:
    task, longer = maze_task("maze", ROOM), maze_task("other", CORNER, 60)
    alone, first, last = (
        next(
            result for result in evaluate(*untrained, Suite("suite", tasks), episodes=20).tasks if result.task == "maze"
        )
        for tasks in ((task,), (task, longer, maze_task("more", ROOM)), (maze_task("more", ROOM), longer, task))
    )
    assert alone.lengths.tolist() == first.lengths.tolist() == last.lengths.tolist()
    assert alone.returns.tolist() == first.returns.tolist() == last.returns.tolist()


def test_an_episode_does_not_depend_on_how_many_there_are(untrained: tuple[Any, Any]) -> None:
    suite = Suite("suite", (maze_task("maze", ROOM),))
    few, many = (evaluate(*untrained, suite, episodes=number).tasks[0] for number in (6, 20))
    assert few.lengths.tolist() == many.lengths[:6].tolist()


def test_episodes_that_need_much_memory_are_played_in_batches(
    untrained: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = Suite("suite", (maze_task("maze", ROOM), maze_task("other", CORNER)))
    levels = jax.vmap(suite.tasks[0].sample)(jax.random.split(jax.random.key(0), 20))
    assert batch_size(suite.tasks[0].env, levels, 20) == 20
    together = evaluate(*untrained, suite, episodes=10)
    # Room for fewer than eight: three batches of seven, the last of which is filled up.
    each = -(-evaluating.BATCH_BYTES // batch_size(suite.tasks[0].env, levels, 10**9))
    monkeypatch.setattr(evaluating, "BATCH_BYTES", 8 * each - 1)
    assert batch_size(suite.tasks[0].env, levels, 20) == 7
    apart = evaluate(*untrained, suite, episodes=10)
    for one, other in zip(together.tasks, apart.tasks, strict=True):
        assert one.returns.tolist() == other.returns.tolist()
        assert one.lengths.tolist() == other.lengths.tolist()


def test_tasks_of_equal_levels_differ_in_their_dice(untrained: tuple[Any, Any]) -> None:
    one, two = evaluate(*untrained, Suite("suite", (maze_task("one", ROOM), maze_task("two", ROOM))), episodes=20).tasks
    assert one.lengths.tolist() != two.lengths.tolist()


def test_greedy_takes_the_likeliest_action(untrained: tuple[Any, Any]) -> None:
    suite = Suite("suite", (maze_task("maze", ROOM),))
    greedy = evaluate(*untrained, suite, episodes=10, greedy=True).tasks[0]
    assert len(set(greedy.lengths)) == 1  # the maze has no dice
    assert len(set(evaluate(*untrained, suite, episodes=10).tasks[0].lengths)) > 1


# --- what it costs


def shapes(jaxpr: Any) -> Iterator[tuple[int, ...]]:
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from shapes(inner)


def test_memory_does_not_grow_with_the_length_of_an_episode(untrained: tuple[Any, Any]) -> None:
    agent, state = untrained
    longest = 9973  # a prime that is the size of nothing else
    task = maze_task("maze", ROOM, longest)
    keys = jax.vmap(lambda i: episode_key(0, task, i))(jnp.arange(3))
    levels = jax.vmap(task.sample)(keys)
    program = jax.make_jaxpr(_player(agent, task.env, False))(state, keys, levels, jnp.int32(longest))
    found = list(shapes(program.jaxpr))
    assert len(found) > 50
    assert max(int(np.prod(shape)) for shape in found) < longest


# --- recording


def test_a_recorded_episode_is_the_one_that_was_counted(untrained: tuple[Any, Any]) -> None:
    task = maze_task("maze", ROOM)
    counted = evaluate(*untrained, Suite("suite", (task,)), episodes=6, seed=4).tasks[0]
    for number in range(6):
        episode = record(*untrained, task, seed=4, number=number)
        assert episode.length == len(episode.actions) == counted.lengths[number]
        assert episode.total == pytest.approx(float(counted.returns[number]))
        assert len(episode.states.position) == episode.length + 1
        assert episode.states.time.tolist() == list(range(episode.length + 1))


def test_a_recorded_episode_has_every_state(tmp_path: Path) -> None:
    script = shortest_script(from_ascii(CORNER))
    episode = record(Scripted(), jnp.array(script), maze_task("maze", CORNER))
    assert episode.actions.tolist() == script
    assert episode.states.position[0].tolist() == np.asarray(episode.level.start).tolist()
    assert episode.states.position[-1].tolist() == np.asarray(episode.level.goal).tolist()
    assert episode.rewards[:-1].tolist() == [0.0] * (len(script) - 1)


def test_a_recorded_episode_can_be_drawn() -> None:
    domain = tutelage.build_domain(tutelage.preset("maze", "dr", "small"))
    assert domain.viewer is not None
    assert domain.viewer.frames is not None
    for task in (*domain.suites["fresh"].tasks, *domain.suites["PerfectMaze-S"].tasks):
        # A student that looks straight ahead needs no eyes of the right size.
        episode = record(Scripted(), jnp.array([FORWARD, RIGHT, FORWARD, LEFT]), task)
        frames = list(domain.viewer.frames(episode.level, episode.states))
        assert len(frames) == episode.length + 1
        assert len({frame.shape for frame in frames}) == 1
