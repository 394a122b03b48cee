"""The catalogue of the thesis's tables and figures, and what is said of them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tutelage.cli import main
from tutelage.envs.registry import environment
from tutelage.errors import UserError
from tutelage.report.tables import to_markdown
from tutelage.reproduce import games, published, results, tables
from tutelage.reproduce.catalogue import Cost, Source, catalogue, cost, exhibit, sources_at, study_file, table_of
from tutelage.reproduce.results import RunResult, StudyResult
from tutelage.runs import grid
from tutelage.runs.study import StudyRun

TABLES = [
    *("procgen-easy", "procgen-hard", "minigrid-ch3", "maze-25", "f1", "lava", "maze-60", "walker-8d"),
    *("edit-ablation", "walker-5d", "poet-roses", "icy-f1"),
]
SOURCES = [(chosen, source) for chosen in catalogue().values() for source in chosen.sources]


def test_every_table_of_the_thesis_is_in_the_catalogue() -> None:
    found = {name for name, chosen in catalogue().items() if chosen.kind == "table"}
    assert found == set(TABLES)
    assert {name for name, chosen in catalogue().items() if chosen.kind == "game"} == {"decision-matrix", "corollary-1"}
    assert all(published.printed(name) for name in TABLES)


def test_published_figures_are_those_of_the_file() -> None:
    file = Path(published.__file__).with_name("published.csv")
    lines = list(csv.DictReader(file.read_text().splitlines()))
    assert len(lines) == 646
    figure = published.printed("maze-60")["Mean", "ACCEL(dr)"]
    assert (str(figure), figure.mean, figure.kind, figure.runs) == ("0.88 ± 0.04", 0.88, "se", 5)
    assert published.tasks("maze-60")[-1] == "Mean"
    assert published.printed("poet-roses")["3b", "ACCEL"].text == "0.12"  # the mean over runs, not the best run


@pytest.mark.parametrize("suite", ["thesis-12", "dcd-8"])
def test_the_columns_beside_comparisons_are_the_same_figures(suite: str) -> None:
    """`tutelage compare` has figures of its own; both were copied from the thesis."""
    table = {"thesis-12": "maze-60", "dcd-8": "maze-25"}[suite]
    source = catalogue()[table].sources[-1]
    printed = published.printed(table)
    columns = {
        "PLR⊥ (500M)": "PLR_robust@500M",
        "PLR⊥": "PLR_robust",
        "minimax": "Minimax",
        "ACCEL (empty)": "ACCEL(empty)",
    }
    checked = 0
    for column in environment("maze").published:
        if column.suite == suite:
            name = columns.get(column.label, column.label)
            name = name if (source.row("Labyrinth"), name) in printed else f"{name}(dr)"
            for task, figure in column.tasks.items():
                theirs = printed[source.row(task), name]
                assert (figure.mean, figure.error) == (theirs.mean, float(theirs.spread)), (task, name)
                checked += 1
    assert checked in (72, 56)


@pytest.mark.parametrize(("chosen", "source"), SOURCES, ids=lambda it: getattr(it, "study", getattr(it, "name", "")))
def test_studies_are_there_and_lead_to_published_columns(chosen, source: Source) -> None:
    plans = grid.read(study_file(source.study)).plans
    groups = {results.group(plan) for plan in plans}
    assert set(source.columns) <= groups
    assert set(source.columns.values()) <= set(published.methods(chosen.name))
    named = {row for pattern, row in source.tasks.items() if "*" not in pattern}
    assert named <= set(published.tasks(chosen.name))
    if len(named) < len(source.tasks):  # tasks in groups: all published ones are among them, perhaps more
        assert set(published.tasks(chosen.name)) <= set(source.tasks.values())
    assert source.suite in environment(plans[0].settings.environment).build(plans[0].settings.env).suites
    assert source.rate > 0


def test_a_cost_is_all_steps_of_all_students() -> None:
    source = exhibit("maze-60").at("full")[0]
    plans = grid.read(study_file(source.study)).plans
    students = {"paired": 2}
    steps = sum(plan.settings.train.steps * students.get(plan.settings.method, 1) for plan in plans)
    assert cost((source,)) == Cost(30, steps, steps / source.rate / 3600)
    assert cost((source, source)).steps == 2 * steps


def test_figures_are_drawn_from_tables() -> None:
    figures = [chosen for chosen in catalogue().values() if chosen.kind == "figure" and not chosen.missing]
    assert figures
    for figure in figures:
        assert table_of(figure).kind == "table"
        assert "STUDY" in figure.command


def test_what_cannot_be_made_says_why() -> None:
    broken = replace(exhibit("maze-60"), missing="it is too large.")
    with pytest.raises(UserError, match="maze-60 cannot be made: it is too large"):
        sources_at(broken, "full")
    with pytest.raises(UserError, match="no study of maze-25 at the scale 'laptop'; there is full"):
        sources_at(exhibit("maze-25"), "laptop")


# --- results


def made(seeds: int = 3) -> StudyResult:
    tasks = ("Labyrinth", "Maze")
    rng = np.random.default_rng(0)
    runs = tuple(
        RunResult(group, seed, 1_000_000, 100, {task: (float(rng.uniform()), 0.5) for task in tasks}, ((10, 0.1, 0.2),))
        for group in ("dr", "sfl")
        for seed in range(seeds)
    )
    return StudyResult("maze-60", "maze-fast", "thesis-12", "thesis-12", "0.1", "2026-01-01", "2026-01-02", 9, runs)


def test_tasks_that_share_a_published_row_are_averaged() -> None:
    chosen = exhibit("icy-f1")
    returns = {"Italy q=0.2": 100.0, "Monaco q=0.2": 300.0, "Italy q=0": 700.0, "Italy Beta(1,15)": 500.0}
    run = RunResult("samplr", 1, 3_000_000, 10, {task: (0.0, value) for task, value in returns.items()}, ())
    source = chosen.at("laptop")[0]
    result = replace(made(), exhibit="icy-f1", study=source.study, suite="icy-f1", runs=(run,))
    rows = [[cell.text for cell in cells] for cells in tables.beside(chosen, source, result).rows]
    assert rows == [
        ["q=0.2", "200", "393 ± 13"],
        ["q=0", "700", "–"],
        ["q~Beta(1,15)", "500", "616 ± 6"],
        ["mean of tasks", "400", "–"],
    ]


def test_a_run_of_a_table_over_games_is_a_student_of_each(tmp_path: Path) -> None:
    text = """
environment = "procgen"
preset = "fast"
methods = ["dr"]
seeds = [0, 1]
steps = 8192

[settings]
env.game = ["bigfish", "leaper"]
train.suite = "fresh"

[variant.ucb-drac]
regulariser.kind = "ucb-drac"
"""
    runs = [StudyRun(plan, tmp_path / plan.name) for plan in grid.parse(text, "mine.toml").plans]
    returns = {"dr": (2.0, 4.0), "dr-ucb-drac": (3.0, 5.0)}
    unfinished = "dr-ucb-drac-game-leaper/s1"
    for run in runs:
        run.create()
        game, group = run.plan.settings.env.game, results.group(run.plan)
        task = {"return": returns[group][game == "leaper"], "solved": run.plan.seed / 2, "episodes": 100}
        task |= {"return-error": 0.0, "solved-error": 0.0, "length": 9.0}
        lines = [evaluation(0, task | {"return": 1.0}, game), evaluation(8192, task, game)]
        (run.path / "evaluations.jsonl").write_text("".join(lines))
        if run.plan.name != unfinished:
            (run.path / "checkpoints" / "000000001.npz").write_text("")
    chosen = exhibit("procgen-easy")
    source = chosen.at("laptop")[0]
    found = results.collect(chosen, source, runs, 100)
    assert [(run.group, run.seed) for run in found.runs] == [("dr", 0), ("dr-ucb-drac", 0), ("dr", 1)]
    assert found.planned == 4
    assert found.runs[0].tasks == {"bigfish": (0.0, 2.0), "leaper": (0.0, 4.0)}
    assert found.runs[2].curve == ((0, 0.5, 1.0), (8192, 0.5, 3.0))
    table = tables.beside(chosen, source, replace(found, runs=found.runs[:2]))
    assert table.columns == (
        *("task", "dr (n = 1)", "thesis Uniform (n = 10)"),
        *("dr-ucb-drac (n = 1)", "thesis UCB-DrAC (n = 10)"),
    )
    rows = [[cell.text for cell in cells] for cells in table.rows]
    assert rows[:2] == [
        ["BigFish", "2.00", "3.7 ± 1.2", "3.00", "8.7 ± 1.1"],
        ["Leaper", "4.00", "4.2 ± 1.3", "5.00", "4.4 ± 1.4"],
    ]
    assert "a run is one of each" in tables.markdown(chosen, source, found)


def evaluation(steps: int, task: dict[str, float], game: str) -> str:
    record = {"iteration": steps // 8192, "steps": steps, "suite": "fresh", "student": 0, "tasks": {game: task}}
    return json.dumps(record | {"solved": task["solved"], "return": task["return"]}) + "\n"


def test_a_whole_table_is_summed_up_in_percent_of_its_baseline() -> None:
    chosen = exhibit("procgen-easy")
    source = chosen.at("full")[0]
    games = list(source.tasks)
    runs = tuple(
        RunResult(group, seed, 25_000_000, 100, {game: (0.0, scale * (i + 1.0)) for i, game in enumerate(games)}, ())
        for group, scales in (("dr", (0.5, 1.5)), ("plr", (1.0, 2.0)))
        for seed, scale in enumerate(scales)
    )
    result = replace(made(), exhibit=chosen.name, study=source.study, suite="fresh", runs=runs)
    last = [cell.text for cell in tables.beside(chosen, source, result).rows[-1]]
    assert last == ["Norm. mean (%)", "100.0 ± 50.0", "100.0 ± 4.5", "150.0 ± 50.0", "128.3 ± 5.8"]
    part = replace(result, runs=tuple(replace(run, tasks={"leaper": (0.0, 1.0)}) for run in runs))
    assert tables.beside(chosen, source, part).rows[-1][0].text == "mean of tasks"


def test_results_are_written_and_read_again(tmp_path: Path) -> None:
    results.write(tmp_path / "a.json", made())
    assert results.parse((tmp_path / "a.json").read_text()) == made()


def test_a_study_that_goes_on_elsewhere_is_one_result() -> None:
    old, new = made(2), replace(made(3), runs=made(3).runs[2:4], began="2026-02-01", ended="2026-02-03")
    both = results.merge(old, new)
    assert [(run.group, run.seed) for run in both.runs] == [("dr", 0), ("dr", 1), ("dr", 2), ("sfl", 0), ("sfl", 1)]
    assert (both.began, both.ended) == ("2026-01-01", "2026-02-03")
    assert both.of("sfl")[0] == new.runs[1]
    with pytest.raises(UserError, match="cannot be put together"):
        results.merge(old, replace(new, study="maze-accel"))


def test_ours_are_beside_the_published_figures() -> None:
    result = made()
    chosen = exhibit("maze-60")
    table = tables.beside(chosen, chosen.at("fast")[0], result)
    assert table.columns == ("task", "dr (n = 3)", "thesis DR(dr) (n = 5)", "sfl (n = 3)")
    assert [cells[0].text for cells in table.rows] == ["Labyrinth", "Maze", "mean of tasks"]
    values = np.array([run.tasks["Maze"][0] for run in result.of("dr")])
    assert table.rows[1][1].text == f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(3):.2f}"
    assert [cells[2].text for cells in table.rows] == ["0.45 ± 0.23", "0.43 ± 0.23", "0.62 ± 0.05"]
    both = tables.summary(chosen, chosen.at("fast")[0], result)
    assert both.rows[1][-1].text == "–"  # the thesis has no SFL
    assert "[" in both.rows[0][3].text
    alone = tables.summary(chosen, chosen.at("fast")[0], made(1))
    assert "[" not in alone.rows[0][3].text


@pytest.mark.parametrize("result", results.shipped(), ids=results.file_name)
def test_shipped_results_are_of_the_catalogue_and_have_a_page(result: StudyResult) -> None:
    chosen = exhibit(result.exhibit)
    source = next(source for source in chosen.sources if source.study == result.study)
    planned = {(results.group(plan), plan.seed) for plan in grid.read(study_file(result.study)).plans}
    assert {(run.group, run.seed) for run in result.runs} <= planned
    page = Path(__file__).parents[2] / "docs" / "results" / results.file_name(result).replace(".json", ".md")
    assert tables.markdown(chosen, source, result) in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["decision-matrix", "corollary-1"])
def test_games_were_played_by_all_their_methods_and_have_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen, played = exhibit(name), games.shipped_for(name)
    assert played is not None
    assert [words[0] for words in played.rows] == [entry.label for entry in chosen.plays]
    page = Path(__file__).parents[2] / "docs" / "results" / f"{name}.md"
    assert to_markdown(games.table(chosen, played)) in page.read_text(encoding="utf-8")
    assert main(["reproduce", name]) == 0
    assert f"Played on {played.day}" in capsys.readouterr().out


# --- the command


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in catalogue())
    assert main(["reproduce", "walker-5d"]) == 0
    shown = capsys.readouterr().out
    assert "Study walker-5d (full): 30 runs" in shown
    assert "0.73 ± 0.03" in shown


def test_wrong_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "maze-61"]) == 2
    assert "There is no table or figure called 'maze-61'" in capsys.readouterr().err
    assert main(["reproduce", "--scale", "full"]) == 2
    assert "needs the name of a table or figure" in capsys.readouterr().err
