"""What a lab says of levels and students."""

from __future__ import annotations

import base64
import gc
import inspect
import io
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

from tutelage.envs.base import Suite
from tutelage.envs.maze.level import from_ascii
from tutelage.errors import UserError
from tutelage.evaluation.evaluate import evaluate
from tutelage.evaluation.record import record
from tutelage.evaluation.suite_file import read_suite, task
from tutelage.lab.laboratory import Laboratory
from tutelage.lab.levels import wilson
from tutelage.lab.opening import directories, opened, python_files
from tutelage.lab.students import who

from .made_lab import STRAIGHT, WALLED, settings

LEVEL = {"text": STRAIGHT}


def picture(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,")))))


def student(lab: Laboratory, run: int = 0) -> str:
    return lab.describe({})["runs"][run]["students"][0]["id"]


# --- levels


def test_a_level_is_judged(lab):
    found = lab.level({"level": LEVEL})
    # Two steps straight ahead, of at most twenty.
    assert found["metrics"] == {"blocks": 2.0, "path": 2.0, "solvable": 1.0}
    assert found["optimum"] == pytest.approx(1 - 0.9 * 2 / 20)
    assert found["limit"] == 20
    assert found["text"] == STRAIGHT
    assert picture(found["picture"]).shape[2] == 3


def test_a_level_that_nobody_can_solve_is_told(lab):
    found = lab.level({"level": {"text": WALLED}})
    assert found["metrics"]["solvable"] == 0
    assert found["optimum"] == 0


@pytest.mark.parametrize(
    ("level", "sentence"),
    [
        (None, "The level is missing"),
        ({}, "The level is JSON, but not an object"),
        ({"text": STRAIGHT.replace("G", ".")}, "The maze has 0 goals"),
        ({"text": "#" * 200}, "The level has 200 rows or columns; draw at most 101 cells."),
        ({"task": "Nowhere"}, "There is no task called 'Nowhere'"),
        ({"task": "FourRooms", "number": -1}, "'number' is not a whole number from 0 to 10000."),
        ({"fields": {"walls": 1}}, "The level has the fields 'walls'"),
    ],
)
def test_what_is_no_level_is_refused(lab, level: Any, sentence: str):
    with pytest.raises(UserError, match=sentence):
        lab.levels.about(level)
    assert sentence in lab.level({"level": level})["problem"]


def test_levels_are_made(lab):
    drawn = lab.new({"kind": "random", "seed": 3})
    assert drawn == lab.new({"kind": "random", "seed": 3})
    assert drawn["text"] != lab.new({"kind": "random", "seed": 4})["text"]
    assert lab.new({"kind": "easy", "seed": 3})["metrics"]["blocks"] == 0
    assert lab.new({"kind": "empty", "seed": 3})["metrics"]["blocks"] == 0
    perfect = lab.new({"kind": "perfect", "seed": 3})
    assert perfect["metrics"]["solvable"] == 1
    assert perfect["metrics"]["blocks"] == 4 + 4  # of 5x5: the pillars, and of 12 edges between 9 cells a tree has 8
    assert lab.describe({})["kinds"] == ["random", "empty", "perfect", "edited"]
    edited = lab.new({"kind": "edited", "seed": 3, "level": {"text": drawn["text"]}})
    assert edited["text"] != drawn["text"]
    with pytest.raises(UserError, match="There is no kind of level called 'x'"):
        lab.new({"kind": "x"})


# --- students


def test_an_episode_is_the_one_that_evaluate_counts(lab):
    run = lab.students.run(0)
    lab_task = task(run.domain, "lab", from_ascii(STRAIGHT))
    for greedy in (False, True):
        for number in (0, 3):
            recorded = record(run.agent, run.student(), lab_task, seed=7, number=number, greedy=greedy)
            told = lab.episode({"student": student(lab), "level": LEVEL, "seed": 7, "number": number, "greedy": greedy})
            assert told["actions"] == recorded.actions.tolist()
            assert told["return"] == pytest.approx(recorded.total)
            assert told["length"] == recorded.length
            assert told["solved"] == (recorded.total > 0)
            assert told["regret"] == pytest.approx(1 - 0.9 * 2 / 20 - recorded.total, abs=1e-6)


def test_the_bars_of_an_episode_are_the_policy(lab):
    told = lab.episode({"student": student(lab), "level": LEVEL, "seed": 1, "greedy": True})
    bars = np.array(told["bars"])
    np.testing.assert_allclose(bars.sum(axis=1), 1, rtol=1e-5)
    assert bars.argmax(axis=1).tolist() == told["actions"]
    assert len(told["values"]) == told["length"]


def test_pictures_are_drawn_as_far_as_somebody_looks(lab):
    told = lab.episode({"student": student(lab), "level": LEVEL, "seed": 2})
    assert len(told["frames"]) == len(told["views"]) == 1
    more = lab.frames({"episode": str(told["episode"]), "first": "1", "count": "64"})
    assert len(more["frames"]) == told["length"]
    run, (first, *_) = lab.students.run(0), more["frames"]
    lab_task = task(run.domain, "lab", from_ascii(STRAIGHT))
    episode = record(run.agent, run.student(), lab_task, seed=2)
    frames = list(run.domain.viewer.frames(episode.level, episode.states))
    np.testing.assert_array_equal(picture(first), frames[1])
    np.testing.assert_array_equal(picture(more["frames"][-1]), frames[-1])
    assert picture(more["views"][0]["picture"]).shape[:2] == (3 * 24, 3 * 24)


def test_an_expected_score_is_that_of_an_evaluation(lab):
    run = lab.students.run(0)
    suite = Suite("lab", (task(run.domain, "lab", from_ascii(STRAIGHT)),))
    result = evaluate(run.agent, run.student(), suite, episodes=64, seed=5)
    told = lab.score({"student": student(lab), "level": LEVEL, "episodes": 64, "seed": 5})
    assert told["episodes"] == 64
    assert told["solved"] == pytest.approx(result.solved_rate)
    assert told["return"] == pytest.approx(result.mean_return)
    assert told["low"] < told["solved"] < told["high"]


def test_the_interval_of_a_share():
    # R: prop.test(8, 10, correct=FALSE) gives 0.4901625 to 0.9433178.
    assert wilson(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    assert wilson(0, 10)[0] == 0
    assert wilson(10, 10)[1] == pytest.approx(1)


def test_a_run_has_a_student_for_each_checkpoint(lab):
    first, second = lab.describe({})["runs"]
    assert [one["steps"] for one in first["students"]] == [4800, 3200]
    assert [one["steps"] for one in second["students"]] == [0]
    older = lab.episode({"student": first["students"][1]["id"], "level": LEVEL, "seed": 1})
    newer = lab.episode({"student": first["students"][0]["id"], "level": LEVEL, "seed": 1})
    assert older["values"] != newer["values"]
    with pytest.raises(UserError, match="no checkpoint of iteration 7 any more"):
        lab.episode({"student": "0.7.0", "level": LEVEL})
    for wrong in ("9.0.0", "0.30.1", "x", None, "0.0", "１.0.0"):
        with pytest.raises(UserError, match=r"There is no|That is no|no checkpoint"):
            lab.students.get(who(wrong))


def test_a_drawn_level_compiles_nothing(lab):
    compiled: list[str] = []
    listener = lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(listener)
    rows = STRAIGHT.splitlines()
    for number in range(8):
        rows[4] = "#" + f"{number:05b}".replace("0", ".").replace("1", "#") + "#"
        level = {"text": "\n".join(rows)}
        lab.level({"level": level})
        for run in (0, 1):
            lab.episode({"student": student(lab, run), "level": level, "seed": number, "greedy": bool(number % 2)})
            lab.score({"student": student(lab, run), "level": level, "seed": number})
        hand = lab.play({"level": level, "seed": number})["hand"]
        lab.act({"hand": hand, "actions": [0, 1, 2]})
    assert compiled == []
    # Mazes of other sizes are measured and played by the same programs.
    for side in (3, 4, 8, 15):
        rows = ["#" * (side + 2), "#>" + "." * (side - 2) + "G#", *["#" + "." * side + "#"] * 2, "#" * (side + 2)]
        told = lab.level({"level": {"text": "\n".join(rows)}})
        assert told["metrics"] == {"blocks": 0.0, "path": side - 1, "solvable": 1.0}
        lab.episode({"student": student(lab), "level": {"text": "\n".join(rows)}})
        lab.score({"student": student(lab), "level": {"text": "\n".join(rows)}})
    assert compiled == []
    jax.jit(lambda x: x * 3 + 1)(np.float32(2))
    assert compiled  # the listener hears something


def test_what_is_asked_again_and_again_leaves_nothing_behind(lab):
    """JAX remembers functions that were traced. Whoever makes a new one for every question fills the memory."""
    traced = lambda: sum(isinstance(one, inspect.Signature) for one in gc.get_objects())  # noqa: E731

    def ask() -> None:
        for run in (0, 1):
            told = lab.episode({"student": student(lab, run), "level": LEVEL})
            lab.frames({"episode": str(told["episode"]), "first": "0", "count": "9"})
            lab.score({"student": student(lab, run), "level": LEVEL})
        lab.level({"level": LEVEL})
        lab.level({"level": {"fields": {}}})
        lab.act({"hand": lab.play({"level": LEVEL})["hand"], "actions": [2, 2, 2]})

    ask()
    before = traced()
    for _ in range(5):
        ask()
    assert traced() == before


# --- people


def test_a_person_plays_to_the_goal(lab):
    told = lab.play({"level": LEVEL, "seed": 0})
    assert not told["done"]
    told = lab.act({"hand": told["hand"], "actions": [2]})
    assert told["step"] == 1
    assert picture(told["frame"]).ndim == 3
    hand = lab.play({"level": LEVEL, "seed": 0})["hand"]
    told = lab.act({"hand": hand, "actions": [2, 2, 2]})
    assert told["done"]
    assert told["whole"]["solved"]
    assert told["whole"]["return"] == pytest.approx(1 - 0.9 * 2 / 20)
    assert told["whole"]["regret"] == pytest.approx(0, abs=1e-6)
    assert len(lab.frames({"episode": str(told["whole"]["episode"]), "first": "0", "count": "9"})["frames"]) == 3
    with pytest.raises(UserError, match="not kept any more"):
        lab.act({"hand": hand, "actions": [2]})


@pytest.mark.parametrize("action", [7, -1, "left", [1], None, True, 1.5])
def test_actions_that_are_none_are_refused(lab, action: Any):
    hand = lab.play({"level": LEVEL})["hand"]
    with pytest.raises(UserError, match="The action is not one of 0 to 6"):
        lab.act({"hand": hand, "actions": [action]})


# --- galleries


def test_the_buffer_and_the_families_in_it(lab):
    held = lab.buffer({"run": "0", "student": "0", "number": "24"})
    scores = [card["score"] for card in held["levels"]]
    assert scores == sorted(scores, reverse=True)
    newest = lab.buffer({"run": "0", "student": "0", "order": "newest", "number": "3"})
    assert [card["id"] for card in newest["levels"]] == sorted((c["id"] for c in held["levels"]), reverse=True)[:3]
    known = {card["id"]: card for card in held["levels"]}
    children = [card for card in held["levels"] if card["parent"] in known]
    assert children, "the run of the tests should have families"
    child = max(children, key=lambda card: card["generation"])
    family = lab.lineage({"run": "0", "student": "0", "level": str(child["id"])})
    nodes = {node["id"]: node for node in family["nodes"]}
    at, steps = child["id"], 0
    while at != family["root"]:
        assert nodes[at]["generation"] == nodes[nodes[at]["parent"]]["generation"] + 1
        at, steps = nodes[at]["parent"], steps + 1
    assert steps == child["generation"] - family["missing"]
    with pytest.raises(UserError, match="keeps no levels to look at"):
        lab.buffer({"run": "1", "student": "0"})
    with pytest.raises(UserError, match="has no level 999999 any more"):
        lab.lineage({"run": "0", "student": "0", "level": "999999"})


def test_suites_and_their_levels(lab):
    assert "FourRooms" in lab.suite({"name": "thesis-12"})["tasks"]
    found = lab.level({"level": {"task": "SmallCorridor"}})
    assert found["limit"] == lab.levels.domain.suites["SmallCorridor"].tasks[0].max_steps
    assert found["text"].count("G") == 1
    assert found["optimum"] is not None
    assert found["metrics"] == lab.level({"level": {"text": found["text"]}})["metrics"]
    assert found["metrics"]["solvable"] == 1
    for wrong in ("nowhere", "../accel", None, 3):
        with pytest.raises(UserError, match="There is no such suite"):
            lab.suite({"name": wrong})


def test_levels_on_which_students_differ(lab):
    ids = [student(lab, 0), student(lab, 1)]
    levels = lab.differing({"students": ids, "seed": 1})["levels"]
    differences = [card["difference"] for card in levels]
    assert differences == sorted(differences, reverse=True)
    for card in levels:
        assert card["difference"] == pytest.approx(abs(card["returns"][ids[0]] - card["returns"][ids[1]]))


def test_tests_on_which_methods_differ(lab, runs):
    line = {"iteration": 1, "steps": 160, "suite": "x", "seed": 0, "student": 0, "greedy": False}
    for run, rates in zip(runs, ((0.9, 0.5), (0.1, 0.6)), strict=True):
        tasks = {f"task{i}": {"solved": rate, "return": rate, "episodes": 9} for i, rate in enumerate(rates)}
        with (run / "evaluations.jsonl").open("a") as stream:
            stream.write(json.dumps(line | {"solved": 0.5, "return": 0.5, "tasks": tasks}) + "\n")
    rows = [row for row in lab.differences({})["tasks"] if row["suite"] == "x"]
    assert [(row["task"], round(row["difference"], 6)) for row in rows] == [("task0", 0.8), ("task1", 0.1)]


def test_kept_levels_are_a_suite(lab):
    lab.keep({"level": LEVEL, "name": "Straight on", "comment": "easy"})
    assert lab.keep({"level": {"text": WALLED}, "name": "No way"})["levels"] == 2
    assert [one["name"] for one in lab.kept({})["levels"]] == ["Straight on", "No way"]
    assert lab.kept({})["levels"][0]["comment"] == "easy"
    suite = read_suite(lab.levels.domain, lab.keeper.path)
    assert [one.name for one in suite.tasks] == ["Straight on", "No way"]
    run = lab.students.run(0)
    result = run.evaluate(str(lab.keeper.path), episodes=4)
    assert result.tasks[1].solved_rate == 0
    for name, sentence in (("No way", "is in mine.txt already"), ("", "the name of a level is"), (3, "The name is")):
        with pytest.raises(UserError, match=sentence):
            lab.keep({"level": LEVEL, "name": name})
    with pytest.raises(UserError, match="The comment has to be one line"):
        lab.keep({"level": LEVEL, "name": "A", "comment": "two\nlines"})


# --- opening


def test_a_directory_of_runs_is_all_its_runs(runs: tuple[Path, Path]):
    assert {run.path for run in directories([str(runs[0].parent)])} == set(runs)
    with pytest.raises(UserError, match="was named twice"):
        directories([str(runs[0]), str(runs[0])])
    with pytest.raises(UserError, match="is not a run"):
        directories([str(runs[0] / "checkpoints")])


def test_python_files_are_named_before_they_are_run(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(
        f'environment = "{tmp_path}/mine.py"\nmethod = "dr"\n[env]\n', encoding="utf-8"
    )
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')")
    found = directories([str(tmp_path / "run")])
    assert python_files(found) == [f"{tmp_path}/mine.py"]


def test_runs_of_different_environments_are_refused(runs: tuple[Path, Path], tmp_path: Path):
    import tutelage
    from tutelage.runs.directory import RunDirectory

    RunDirectory.create(tmp_path / "other", tutelage.preset("matrix", "dr"))
    with pytest.raises(UserError, match="a lab has levels of one environment"):
        opened(directories([str(runs[1]), str(tmp_path / "other")]), pytest.fail)
    assert settings("dr").environment == "maze"
