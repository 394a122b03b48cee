"""Files of levels that people bring: how they are written, read and played."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage
from tutelage.envs.base import Domain, as_brought
from tutelage.envs.maze.level import from_ascii, to_ascii
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.envs.texts import fields, from_text, to_text
from tutelage.errors import UserError
from tutelage.evaluation.evaluate import evaluate
from tutelage.evaluation.suite_file import Entry, find_suite, format_entries, parse_entries, read_levels

CROSS = """\
#######
#>....#
#.###.#
#.#.#.#
#.###.#
#....G#
#######"""
TWO = f"""\
// Levels that somebody found hard.

== Cross roads
// solved 3 of 10
// by accel
{CROSS}

== Corridor
####
#>G#
####
"""


@pytest.fixture(scope="module")
def maze() -> Domain:
    return tutelage.build_domain(tutelage.preset("maze", "dr", "small"))


def test_names_and_comments_are_read():
    assert parse_entries(TWO, "mine.txt") == [
        Entry("Cross roads", CROSS, "solved 3 of 10\nby accel", 3),
        Entry("Corridor", "####\n#>G#\n####", "", 14),
    ]


def test_what_was_written_is_read_again():
    entries = parse_entries(TWO, "mine.txt")
    again = parse_entries(format_entries(entries), "mine.txt")
    assert [entry[:3] for entry in again] == [entry[:3] for entry in entries]


def test_a_file_without_names_is_one_level():
    assert parse_entries(f"\n// mine\n{CROSS}\n", "some/cross.txt") == [Entry("cross", CROSS, "", 3)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "mine.txt has no levels; write a line '== NAME' and the level below it."),
        ("// only words\n", "mine.txt has no levels"),
        ("== A\n\n== B\n#\n", "mine.txt, line 1: there is no level below the name 'A'; write one there."),
        ("== A\n#\n== A\n#\n", "mine.txt, line 3: the name 'A' was given in line 1 already; give each once."),
        ("==\n#\n", "mine.txt, line 1: the name of a level is ''; give 1 to 80 printable characters."),
        ("== a\x07b\n#\n", "mine.txt, line 1: the name of a level is 'a\\\\x07b'"),
    ],
)
def test_what_is_no_file_of_levels_is_refused(text: str, sentence: str):
    with pytest.raises(UserError, match=sentence.replace("(", r"\(")):
        parse_entries(text, "mine.txt")


def test_a_level_that_would_not_be_read_back_is_not_written():
    with pytest.raises(UserError, match="cannot be written to a file"):
        format_entries([Entry("A", "// #\n#")])


def test_a_wrong_level_is_named_with_its_line(tmp_path: Path, maze):
    (tmp_path / "mine.txt").write_text(TWO.replace("#>G#", "#>.#"))
    with pytest.raises(UserError, match=r"mine.txt, line 14, 'Corridor': The maze has 0 goals; it needs exactly one"):
        read_levels(maze, tmp_path / "mine.txt")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, maze):
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    for name, sentence in (("bytes.txt", "is not text"), ("none.txt", "could not be read: No such file")):
        with pytest.raises(UserError, match=sentence):
            find_suite(maze, str(tmp_path / name))


def test_a_file_is_played_like_a_suite(tmp_path: Path, maze):
    (tmp_path / "mine.txt").write_text(TWO)
    settings = tutelage.preset("maze", "dr", "small")
    agent = tutelage.build_agent(settings, maze)
    trainer = tutelage.build(settings, maze)
    state = jax.tree.map(lambda x: x[0], trainer.init(0).students.agent)
    suite = find_suite(maze, str(tmp_path / "mine.txt"))
    result = evaluate(agent, state, suite, episodes=20)
    assert result.suite == "mine.txt"
    assert [task.task for task in result.tasks] == ["Cross roads", "Corridor"]
    # A new student wanders: it finds the goal beside it, and is cut off by the run's own limit where it does not.
    assert result.tasks[1].solved_rate > result.tasks[0].solved_rate
    assert max(task.lengths.max() for task in result.tasks) <= settings.env.max_steps


def test_mazes_of_any_shape_run_as_one_program(maze):
    settings = tutelage.preset("maze", "dr", "small").env
    small, wide = (from_ascii(text) for text in (CROSS, "#" * 17 + "\n#>" + "." * 13 + "G#\n" + "#" * 17))
    first, second = as_brought(maze, small), as_brought(maze, wide)
    assert jax.tree.map(np.shape, first.level) == jax.tree.map(np.shape, second.level)
    assert first.env == second.env == maze.suites["FourRooms"].tasks[0].env
    # One that is no larger than those trained on has the limit of training; others have that of held-out ones.
    assert (first.max_steps, second.max_steps) == (settings.max_steps, 2 * 17 * 17)
    assert to_ascii(small) == maze.viewer.text(first.level)


def test_the_optimum_of_a_brought_maze_is_that_of_its_own_limit(maze):
    # Straight ahead through a corridor of 15 cells: 14 moves, of at most 2 * 17 * 17.
    wide = as_brought(maze, from_ascii("#" * 17 + "\n#>" + "." * 13 + "G#\n" + "#" * 17))
    assert float(maze.rules.optimum(wide.level)) == pytest.approx(1 - 0.9 * 14 / (2 * 17 * 17))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_levels_of_every_environment_are_written_and_read(name: str):
    entry = ENVIRONMENTS[name]
    domain = entry.build(entry.presets[entry.default_preset].env)
    level = jax.device_get(jax.jit(domain.levels.sample)(jax.random.key(3)))
    text = format_entries([Entry("A", to_text(domain, level))])
    again = from_text(domain, parse_entries(text, "x.txt")[0].text)
    jax.tree.map(np.testing.assert_array_equal, again, level)
    assert as_brought(domain, again).max_steps >= 1


# --- environments without a text form


OWN = """\
import jax, jax.numpy as jnp, tutelage
environment = tutelage.Jax(
    reset=lambda key, level: (level["at"], level["at"]),
    step=lambda key, state, action: (state, state, jnp.float32(0), jnp.bool_(False), jnp.bool_(True)),
    actions=2,
    sample=lambda key: {"at": jax.random.uniform(key, (3,)), "seed": jax.random.randint(key, (), 0, 9)},
    max_steps=7,
)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Domain:
    file = tmp_path_factory.mktemp("own") / "own_levels.py"
    file.write_text(OWN)
    return tutelage.build_domain(tutelage.preset(str(file), "dr"))


def test_a_level_without_a_text_form_is_json(own):
    level = jax.device_get(own.levels.sample(jax.random.key(1)))
    text = to_text(own, level)
    assert text.startswith('{"at": [0.')
    again = from_text(own, text)
    jax.tree.map(np.testing.assert_array_equal, again, level)
    assert jax.tree.map(lambda x: x.dtype, again) == jax.tree.map(lambda x: x.dtype, level)
    assert fields(own)["at"] == {"shape": [3], "dtype": "float32"}
    assert as_brought(own, again).max_steps == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no", "The level is not JSON"),
        ("[" * 100_000, "The level is not JSON"),
        ("[1]", "The level is JSON, but not an object; give one with 'at' .float32.3.."),
        ('{"at": [1, 2, 3]}', "The level has the fields 'at'; give"),
        ('{"at": [1, 2], "seed": 1}', "The level's 'at' is not float32.3."),
        ('{"at": [1, 2, "x"], "seed": 1}', "The level's 'at' is not float32.3."),
        ('{"at": [1, [2], 3], "seed": 1}', "The level's 'at' is not float32.3."),
        ('{"at": [1, 2, 3], "seed": 1.5}', "The level's 'seed' is not int32.."),
        ('{"at": [1, 2, 1e99], "seed": 1}', "The level's 'at' has a number that float32 cannot hold"),
        ('{"at": [1, 2, NaN], "seed": 1}', "The level's 'at' has a number that float32 cannot hold"),
        ('{"at": [1, 2, 3], "seed": 5000000000}', "The level's 'seed' has a number that int32 cannot hold"),
    ],
)
def test_json_that_is_no_level_is_refused(own, text: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        from_text(own, text)
