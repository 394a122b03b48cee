"""Runs are read as methods and seeds and compared by their statistics; what cannot be compared is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tutelage
from tutelage.envs.maze.published import PUBLISHED
from tutelage.evaluation import statistics
from tutelage.report.comparison import Spread, best, compare
from tutelage.report.records import read
from tutelage.runs.directory import EVALUATIONS
from tutelage.runs.group import RunGroup, seeds_of

from .made_runs import ACCEL, DR, TASKS, evaluation, refused, seeds, settings, write

# --- reading


def test_runs_that_differ_in_the_seed_only_are_one_method(runs: list[Path]):
    study = read(runs)
    assert [(method.label, method.n) for method in study.methods] == [("dr", 3), ("accel", 3)]
    assert study.suite == "validation-3"
    assert study.tasks == TASKS


def test_a_label_says_in_what_methods_of_one_name_differ(tmp_path: Path):
    a = seeds(tmp_path / "a", "accel", ACCEL)
    b = seeds(tmp_path / "b", "accel", ACCEL, **{"evolve.edits": "9", "train.log_every": "3"})
    assert [method.label for method in read(a + b).methods] == ["accel [evolve.edits 5]", "accel [evolve.edits 9]"]


def test_a_group_of_seeds_is_read_as_its_runs(tmp_path: Path):
    group = RunGroup.create(tmp_path / "group", seeds_of(settings("dr"), 2))
    for directory, rates in zip(group.runs(), DR[:2], strict=True):
        directory.append(EVALUATIONS, [evaluation(rates)])
    assert read([group.path]).methods[0].n == 2


def test_only_evaluations_of_the_product_as_it_acts_count_and_most_episodes_win(tmp_path: Path):
    path = write(
        tmp_path / "run",
        settings("dr"),
        [
            evaluation([0.1] * 3, episodes=100),
            evaluation([0.2] * 3, episodes=10),
            evaluation([0.3] * 3, student=1, episodes=1000),
            evaluation([0.4] * 3, greedy=True, episodes=1000),
            evaluation([0.5] * 3, steps=1000),
            evaluation([0.6] * 3, steps=9000, suite="another"),
        ],
    )
    study = read([path])
    run = study.runs[0]
    assert list(run.on(study.suite)) == [1000, 2000]
    assert run.last(study.suite).mean("solved") == pytest.approx(0.1)


def test_what_is_no_run_is_refused(tmp_path: Path):
    with refused("There is no run directory"):
        read([tmp_path / "nothing"])
    with refused("is not a run: it has no config.toml"):
        read([tmp_path])
    with refused("No runs were given"):
        read([])


def test_a_run_without_evaluations_is_refused(tmp_path: Path):
    with refused("has no evaluations", "tutelage eval"):
        read([write(tmp_path / "run", settings("dr"))])


def test_a_line_that_is_no_evaluation_is_named_and_left_out(tmp_path: Path):
    wrong = {"iteration": 1, "steps": 1, "suite": "x", "tasks": {}}
    said: list[str] = []
    one = read([write(tmp_path / "run", settings("dr"), [wrong, evaluation(DR[0])])], warn=said.append)
    assert [record.suite for record in one.runs[0].evaluations] == ["validation-3"]
    assert said == [
        f"Line 1 of {tmp_path / 'run' / 'evaluations.jsonl'} is wrong: 'tasks' has no task; it is left out."
    ]


def test_runs_of_different_environments_are_refused(tmp_path: Path):
    maze = write(tmp_path / "maze", settings("dr"), [evaluation(DR[0])])
    matrix = write(tmp_path / "matrix", settings("dr", environment="matrix"), [evaluation(DR[0])])
    with refused("different environments", "is of maze", "of matrix", "give runs of one environment"):
        read([maze, matrix])


def test_different_suites_are_refused_with_the_command_that_helps(tmp_path: Path):
    a = write(tmp_path / "a", settings("dr"), [evaluation(DR[0])])
    b = write(tmp_path / "b", settings("plr"), [evaluation(DR[0], suite="thesis-12")])
    with refused("no suite that all runs were evaluated on", f"tutelage eval {b} --suite validation-3"):
        read([a, b])
    with refused(f"{a} was not evaluated on thesis-12", f"tutelage eval {a} --suite thesis-12"):
        read([a, b], "thesis-12")


def test_different_tasks_of_one_suite_are_refused(tmp_path: Path):
    a = write(tmp_path / "a", settings("dr"), [evaluation(DR[0])])
    b = write(tmp_path / "b", settings("plr"), [evaluation(DR[0], tasks=("SixteenRooms", "Labyrinth", "Maze2"))])
    with refused("different tasks, both called validation-3"):
        read([a, b])


def test_one_run_does_not_pass_for_two_seeds(tmp_path: Path, runs: list[Path]):
    with refused("are the same run", "give each once"):
        read([runs[0], runs[1].parent / "." / runs[0].name])
    copy = write(tmp_path / "copy", settings("dr", 0), [evaluation(DR[0])])
    with refused("same settings and seed", "give each once"):
        read([runs[0], copy])


def test_a_study_is_read_by_its_directory_and_keeps_its_names(tmp_path: Path):
    (tmp_path / "study.toml").write_text("# only that it is there counts here\n")
    for seed, rates in enumerate(ACCEL):
        write(tmp_path / "accel" / f"s{seed}", settings("accel", seed), [evaluation(rates)])
        changed = settings("accel", seed, **{"evolve.edits": "9"})
        write(tmp_path / "accel-nine-edits" / f"s{seed}", changed, [evaluation(rates)])
    write(tmp_path / "dr" / "s10", settings("dr", 10), [evaluation(DR[0])])
    write(tmp_path / "dr" / "s9", settings("dr", 9))  # started, and not evaluated yet
    (tmp_path / "dr" / "s9" / EVALUATIONS).unlink()
    study = read([tmp_path])
    assert [(method.label, method.n) for method in study.methods] == [
        ("accel", 3),
        ("accel-nine-edits", 3),
        ("dr", 1),
    ]
    assert read([tmp_path / "accel-nine-edits"]).methods[0].label == "accel-nine-edits"
    assert compare([tmp_path], against="accel-nine-edits").reference.n == 3


@pytest.mark.parametrize("wrong", ["", "[]", "{", "[" * 10_000])
def test_a_study_has_the_order_of_its_file(tmp_path: Path, wrong: str):
    for method in ("accel", "dr", "plr"):
        write(tmp_path / method / "s0", settings(method), [evaluation(DR[0])])
    status = {f"{method}/s{seed}": {"state": "finished"} for seed in (0, 1) for method in ("plr", "dr")}
    (tmp_path / "status.json").write_text(json.dumps(status))
    study = read([tmp_path])
    assert [method.label for method in study.methods] == ["plr", "dr", "accel"], "what is not in the file comes last"
    assert compare([tmp_path]).reference.label == "plr"
    (tmp_path / "status.json").write_text(wrong)
    assert [method.label for method in read([tmp_path]).methods] == ["accel", "dr", "plr"]


def test_a_directory_whose_runs_were_not_evaluated_is_refused(tmp_path: Path):
    write(tmp_path / "study" / "dr" / "s0", settings("dr"))
    (tmp_path / "study" / "dr" / "s0" / EVALUATIONS).unlink()
    with refused("None of the 1 runs in", "has been evaluated yet"):
        read([tmp_path / "study"])


# --- comparing


def test_where_nothing_is_solved_returns_are_compared(tmp_path: Path):
    record = evaluation([0.0] * 3)
    for task, value in zip(record["tasks"].values(), (-3.0, -2.0, -1.0), strict=True):
        task["return"] = value
    path = write(tmp_path / "run", settings("dr"), [record])
    compared = compare([path])
    assert compared.measure == "return"
    assert compared.standings[0].mean.value == pytest.approx(-2.0)
    assert compare([path], measure="solved").measure == "solved"


def test_figures_are_those_of_the_statistics(runs: list[Path]):
    compared = compare(runs)
    dr, accel = compared.standings
    assert accel.tasks["Maze"] == Spread(pytest.approx(0.5), pytest.approx(statistics.standard_error([0.5, 0.6, 0.4])))
    assert accel.iqm.ends == statistics.estimate(np.array(ACCEL), statistics.iqm)[1:]
    assert accel.mean.value == pytest.approx(np.mean(ACCEL))
    assert accel.improvement is not None
    assert accel.improvement.value == statistics.improvement(np.array(ACCEL), np.array(DR)) == 1.0
    assert accel.p == statistics.welch(np.mean(ACCEL, 1), np.mean(DR, 1)).p
    assert accel.better
    assert dr.improvement is None


def test_the_reference_can_be_named(runs: list[Path]):
    compared = compare(runs, against="accel")
    dr, accel = compared.standings
    assert accel.p is None
    assert dr.improvement is not None
    assert dr.improvement.value == 0.0
    assert not dr.better  # significantly worse is not better
    with refused("no method in these runs called 'acel'", "Did you mean accel?"):
        compare(runs, against="acel")


@pytest.mark.parametrize(
    ("row", "bold"),
    [
        # Rows of the published table of twelve, where bold is within one standard error of the best mean.
        ([(0.55, 0.11), (0.11, 0.04), (0.57, 0.15), (0.87, 0.05), (0.92, 0.08), (0.84, 0.16)], [3, 4, 5]),
        ([(0.45, 0.14), (0.0, 0.0), (0.45, 0.23), (0.55, 0.23), (0.97, 0.03), (0.86, 0.14)], [4]),
        ([(0.02, 0.01), (0.0, 0.0), (0.43, 0.23), (0.54, 0.19), (0.52, 0.26), (0.72, 0.24)], [3, 4, 5]),
        ([(0.39, 0.03), (0.05, 0.01), (0.62, 0.05), (0.71, 0.04), (0.88, 0.04), (0.9, 0.03)], [4, 5]),
        ([(0.5, 0.1), (0.5, 0.1)], []),
        ([(0.5, None)], []),
    ],
)
def test_bold_is_given_as_in_the_published_table(row: list[Any], bold: list[int]):
    assert np.flatnonzero(best([Spread(*figure) for figure in row])).tolist() == bold


def test_one_seed_makes_nothing_bold(tmp_path: Path):
    assert best([Spread(0.2, None), Spread(0.9, None)]) == [False, False]
    assert best([Spread(0.2, 0.1), Spread(0.9, None)]) == [False, False]
    assert best([Spread(0.2, None), Spread(0.9, 0.1)]) == [False, True]
    runs = [
        write(tmp_path / name, settings(name), [evaluation(rates)])
        for name, rates in (("dr", DR[0]), ("plr", ACCEL[0]))
    ]
    text = compare(runs).text()
    assert "[0." not in text
    assert "In brackets" not in text


def test_published_means_are_those_of_their_rows():
    for column in PUBLISHED:
        mean = np.mean([figure.mean for figure in column.tasks.values()])
        assert column.mean.mean == pytest.approx(mean, abs=0.06 if column.digits == 1 else 0.011), column.label
        assert len(column.tasks) == int(column.suite.split("-")[1])


@pytest.mark.parametrize("suite", ["thesis-12", "dcd-8"])
def test_published_tasks_are_the_suites(suite: str):
    from tutelage.envs.maze.suites import suite as built

    names = {task.name for task in built(suite, tutelage.preset("maze", "dr").env).tasks}
    columns = [column for column in PUBLISHED if column.suite == suite]
    assert columns
    assert all(set(column.tasks) == names for column in columns)


def test_published_figures_stand_beside_the_methods_they_are_about(tmp_path: Path):
    tasks = tuple(next(column for column in PUBLISHED if column.suite == "dcd-8").tasks)
    record = evaluation([0.5] * 8, suite="dcd-8", tasks=tasks)
    path = write(tmp_path / "run", settings("repaired"), [record])
    compared = compare([path])
    assert compared.table().columns == ("task", "repaired (n = 1)", "published REPAIRED (n = 10)")
    assert compared.table().rows[0][2].text == "0.1 ± 0.0"
    assert compare([path], measure="return").published == ()


def test_published_means_stand_alone_where_tasks_were_not_published(tmp_path: Path):
    """Of icy circuits: the rows of circuits stay empty, and that of their mean does not."""
    record = evaluation([0.5] * 2, suite="icy-f1-0.4", tasks=("Italy q=0.4", "Monaco q=0.4"))
    path = write(tmp_path / "run", tutelage.preset("racing", "samplr", "thesis-ice"), [record])
    compared = compare([path], measure="return")
    assert compared.table().columns[-1] == "published SAMPLR (n = 10)"
    assert [row[-1].text for row in compared.table().rows] == ["–", "–", "195 ± 11"]
    assert any(note.endswith("q ~ Beta(1, 15), 10 runs.") for note in compared.notes())
    assert compare([path]).published == ()


def test_one_seed_has_no_interval_and_says_so(tmp_path: Path, runs: list[Path]):
    compared = compare([runs[0], *runs[3:]])
    dr, accel = compared.standings
    assert str(dr.mean) == "0.20"
    assert str(dr.tasks["Maze"]) == "0.00"
    assert accel.mean.ends is not None
    assert accel.improvement is None
    assert accel.p is None
    assert any(note.startswith("n = 1 for dr:") for note in compared.notes())
    with refused("An interval was asked for, and dr has one seed", "train at least 3", "leave --interval out"):
        compare([runs[0], *runs[3:]], level=0.9)


def test_two_seeds_have_a_standard_error_and_no_interval(runs: list[Path]):
    compared = compare([*runs[:2], *runs[3:5]])
    for standing in compared.standings:
        assert standing.mean.ends is None
        assert standing.improvement is None
        assert standing.p is None
        assert standing.overall.error is not None
    assert any(note.startswith("n = 2 for dr, accel:") for note in compared.notes())
    assert "–" in compared.text()
    with refused("dr has 2 seeds"):
        compare(runs[:2], level=0.9)


def test_the_level_of_intervals_is_checked_and_used(runs: list[Path]):
    with refused("The confidence level of an interval is 95.0"):
        compare(runs, level=95.0)
    wide, narrow = compare(runs, level=0.99).standings[1].mean, compare(runs, level=0.5).standings[1].mean
    assert wide.ends is not None
    assert narrow.ends is not None
    assert wide.ends[0] < narrow.ends[0] < narrow.ends[1] < wide.ends[1]


def test_notes_tell_what_else_differs(tmp_path: Path):
    a = seeds(tmp_path / "a", "dr", DR)
    b = write(tmp_path / "b", settings("plr", **{"env.blocks": "25"}), [evaluation(DR[0], steps=5000, episodes=50)])
    notes = " ".join(compare([*a, b]).notes())
    assert "env.blocks (60, 25)" in notes
    assert "different numbers of steps" in notes
    assert "10 to 50 episodes" in notes
