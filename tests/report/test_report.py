"""A report says what the runs' records say, of whichever kind they are, and refuses what cannot be compared."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.curricula.buffer import BufferState
from tutelage.envs.maze.published import PUBLISHED
from tutelage.errors import UserError
from tutelage.evaluation import statistics
from tutelage.report import svg, tables
from tutelage.report.comparison import Spread, best, compare
from tutelage.report.curves import Panel, complexity, curve
from tutelage.report.records import read
from tutelage.report.write import write_report
from tutelage.runs.directory import EVALUATIONS, METRICS, RunDirectory
from tutelage.runs.group import RunGroup, seeds_of

TASKS = ("SixteenRooms", "Labyrinth", "Maze")


def settings(method: str, seed: int = 0, environment: str = "maze", **changes: str) -> tutelage.Settings:
    return tutelage.override(tutelage.preset(environment, method), {"train.seed": str(seed), **changes})


def evaluation(
    solved: Sequence[float], steps: int = 2000, suite: str = "validation-3", tasks: Sequence[str] = TASKS, **more: Any
) -> dict[str, Any]:
    rows = {
        task: {"solved": rate, "return": rate / 2, "episodes": more.get("episodes", 10)}
        for task, rate in zip(tasks, solved, strict=True)
    }
    return {"iteration": steps // 100, "steps": steps, "suite": suite, "seed": 0, "student": 0, "tasks": rows} | {
        name: value for name, value in more.items() if name != "episodes"
    }


def metric(steps: int, sources: Sequence[str], blocks: float = 20.0) -> dict[str, Any]:
    record: dict[str, Any] = {"iteration": steps // 100, "steps": steps}
    for source in sources:
        record |= {f"{source}/share": 1.0, f"{source}/level/blocks": blocks, f"{source}/solved": 0.5}
    return record


def write(
    path: Path, settings: tutelage.Settings, evaluations: Sequence[Any] = (), metrics: Sequence[Any] = ()
) -> Path:
    directory = RunDirectory.create(path, settings)
    directory.append(EVALUATIONS, evaluations)
    directory.append(METRICS, metrics)
    return path


def seeds(path: Path, method: str, rates: Sequence[Sequence[float]], **changes: str) -> list[Path]:
    sources = ("generated",) if method == "dr" else ("generated", "replayed", "edited")
    return [
        write(
            path / f"{method}-{seed}",
            settings(method, seed, **changes),
            [evaluation([0.0] * 3, 0), evaluation(rate, 2000)],
            [metric(steps, sources, 20 + seed) for steps in range(100, 2001, 100)],
        )
        for seed, rate in enumerate(rates)
    ]


ACCEL = [[0.9, 0.8, 0.5], [1.0, 0.7, 0.6], [0.95, 0.9, 0.4]]
DR = [[0.5, 0.1, 0.0], [0.6, 0.2, 0.1], [0.4, 0.1, 0.0]]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return seeds(tmp_path, "dr", DR) + seeds(tmp_path, "accel", ACCEL)


def refused(*sentence: str) -> Any:
    return pytest.raises(UserError, match=".*".join(map(re.escape, sentence)))


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
    with refused("is no run: it has no config.toml"):
        read([tmp_path])
    with refused("No runs were given"):
        read([])


def test_a_run_without_evaluations_is_refused(tmp_path: Path):
    with refused("has no evaluations", "tutelage eval"):
        read([write(tmp_path / "run", settings("dr"))])


def test_a_line_that_is_no_evaluation_is_refused(tmp_path: Path):
    with refused("has a line that is no evaluation", "mend or delete"):
        read([write(tmp_path / "run", settings("dr"), [{"iteration": 1, "steps": 1, "suite": "x", "tasks": {}}])])


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


# --- comparing


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


def test_one_seed_has_no_interval_and_says_so(tmp_path: Path, runs: list[Path]):
    compared = compare([runs[0], *runs[3:]])
    dr, accel = compared.standings
    assert str(dr.mean) == "0.20"
    assert str(dr.tasks["Maze"]) == "0.00"
    assert accel.mean.ends is not None
    assert accel.improvement == (1.0, None)
    assert accel.p is None
    assert any(note.startswith("n = 1 for dr:") for note in compared.notes())
    with refused("An interval was asked for, and dr has one seed", "train more seeds", "leave --interval out"):
        compare([runs[0], *runs[3:]], level=0.9)


def test_the_level_of_intervals_is_checked_and_used(runs: list[Path]):
    with refused("The level of an interval is 95.0"):
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


# --- curves and charts


def test_a_curve_is_the_mean_over_seeds_where_all_have_a_value():
    found = curve("x", [{0: 0.0, 10: 1.0, 20: 3.0}, {0: 1.0, 10: 2.0}])
    assert found is not None
    assert found.steps.tolist() == [0, 10]
    assert found.mean.tolist() == [0.5, 1.5]
    assert found.error is not None
    assert found.error.tolist() == pytest.approx([0.5, 0.5])
    assert curve("x", [{0: 1.0}, {1: 1.0}]) is None
    assert curve("x", [{}]) is None


def test_a_long_curve_is_averaged_over_neighbours():
    found = curve("x", [{step: float(step) for step in range(150)}])
    assert found is not None
    assert found.steps.tolist() == np.arange(0.5, 150, 2).tolist()
    assert found.mean.tolist() == found.steps.tolist()
    assert found.error is None


def test_sources_that_nobody_has_get_no_panel(tmp_path: Path, runs: list[Path]):
    assert [[panel.title for panel in row] for row in complexity(read(runs[:3]))] == [
        ["generated levels: blocks"],
        ["generated levels: solved"],
    ]
    both = complexity(read(runs))
    assert [panel.title.split()[0] for panel in both[0]] == ["generated", "replayed", "edited"]
    assert [list(panel.curves) for panel in both[0]] == [[0, 1], [1], [1]]
    bare = write(tmp_path / "bare", settings("plr"), [evaluation(DR[0])])
    assert complexity(read([bare])) == []


def numbers_of(chart: str) -> list[float]:
    places = " ".join(re.findall(r' (?:points|x|y|x1|x2|y1|y2|cx|cy|r)="([^"]*)"', chart))
    return [float(number) for number in re.split(r"[ ,]+", places)]


@pytest.mark.parametrize(
    "values",
    [{0: 0.5}, {0: 0.0, 100: 0.0}, {5: -3.0, 10: 1e9}, {1: 1e-9, 2: 2e-9}],
    ids=["one point", "zeros", "large", "small"],
)
def test_charts_have_finite_numbers_inside_their_frame(values: dict[int, float]):
    line = curve("x", [values, {step: value * 0.9 for step, value in values.items()}])
    assert line is not None
    panel = Panel("title", "unit", {0: line, 7: line})
    drawn = svg.chart(panel, svg.last_step([panel]), svg.extent([panel]))
    numbers = numbers_of(drawn)
    assert all(math.isfinite(number) and -20 <= number <= svg.WIDTH + 20 for number in numbers)
    assert "nan" not in drawn.lower()
    assert "inf" not in drawn.lower()


def test_methods_differ_in_more_than_colour():
    signs = [(svg.DASHES[i % len(svg.DASHES)], re.sub(r"--c\d", "", svg.marker(i, 0, 0))) for i in range(40)]
    assert len({dash for dash, _ in signs[:6]}) == len({form for _, form in signs[:6]}) == 6
    assert len(set(signs)) == 40


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 37.2), (-3, 8), (0, 0), (0, 1e-7), (2, 2.1)])
def test_ticks_span_their_range(low: float, high: float):
    found = svg.ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high - 1e-12
    assert 2 <= len(found) <= 8


# --- pages


class Page(HTMLParser):
    """Which elements a page has, whether they close, and what its tables say."""

    VOID = ("meta", "img", "br", "source", "line", "circle", "polygon", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data.replace("\xa0", " ")


def report(runs: Sequence[Path], out: Path, **options: Any) -> SimpleNamespace:
    files = write_report(runs, out, **{"top": 0} | options)
    return SimpleNamespace(html=files.page.read_text(), markdown=files.tables.read_text(), files=files)


def test_the_page_is_whole_and_needs_nothing_else(tmp_path: Path, runs: list[Path]):
    html = report(runs, tmp_path / "out" / "page.html").html
    page = Page(html)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|src=\"(?!data:)", html)
    assert page.tags.count("svg") > 4
    assert "nan" not in html.lower().replace("finance", "")
    for words in ("environment steps", "solved rate", "blocks per level", "n = 3", "prefers-color-scheme: dark"):
        assert words in html


def test_html_and_markdown_have_the_same_words(tmp_path: Path, runs: list[Path]):
    pages = report(runs, tmp_path / "page.html")
    rows = [line for line in pages.markdown.splitlines() if line.startswith("|") and "---" not in line]
    cells = [cell.strip().strip("*").replace("\\", "") for row in rows for cell in row[1:-1].split("|")]
    assert [cell.rstrip("*") for cell in cells] == [cell.strip().rstrip("*") for cell in Page(pages.html).cells]
    assert "0.95 ± 0.03" in pages.markdown


def test_names_are_escaped(tmp_path: Path):
    odd = tmp_path / "<b>&\"' | x</b>"
    path = write(odd, settings("dr"), [evaluation([0.1, 0.2, 0.3], tasks=("<script>", "a|b", "c*d*"))])
    pages = report([path], tmp_path / "page.html")
    page = Page(pages.html)
    assert "script" not in page.tags
    assert {"<script>", "a|b", "c*d*", str(odd)} <= set(page.cells)
    assert "a\\|b" in pages.markdown
    assert "\\<script\\>" in pages.markdown


def test_one_run_gets_a_page_without_comparison(tmp_path: Path, runs: list[Path]):
    pages = report(runs[:1], tmp_path / "page.html")
    Page(pages.html)
    assert "Welch" not in pages.html
    assert "n = 1 for dr" in pages.html
    assert "Band:" not in pages.html


def test_a_run_without_metrics_has_a_page(tmp_path: Path):
    path = write(tmp_path / "run", settings("dr"), [evaluation(DR[0], steps=0)])
    assert "no metrics yet" in report([path], tmp_path / "page.html").html


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path, runs: list[Path]):
    out = tmp_path / "page.html"
    report(runs[:3], out)
    assert "accel" in report(runs, out).html
    out.with_suffix(".md").write_text("my notes")
    with refused("page.md exists and is not a report"):
        report(runs, out)
    assert out.with_suffix(".md").read_text() == "my notes"
    with refused("give it a name that ends with .html"):
        report(runs, tmp_path / "page.pdf")
    (tmp_path / "file").write_text("")
    with refused("could not be written", "--out"):
        report(runs, tmp_path / "file" / "page.html")
    (tmp_path / "is.html").mkdir()
    with refused("is a directory"):
        report(runs, tmp_path / "is.html")


def test_a_table_in_words():
    table = tables.Table("c", ("task", "a"), (tables.row("x", tables.Cell("1", True)), tables.row("mean", "2")), True)
    assert tables.to_text(table) == "task  a\nx     [1]\n---------\nmean  2"


# --- the command line


def test_compare_prints_tables_and_notes(runs: list[Path], capsys: pytest.CaptureFixture[str]):
    assert main(["compare", *map(str, runs)]) == 0
    text = capsys.readouterr().out
    assert "[0.95 ± 0.03]" in text
    assert "P(better than dr) [95%]" in text
    assert re.search(r"mean of tasks +0.22 ± 0.04 +\[0.75 ± 0.01\*\]", text), text
    assert main(["compare", *map(str, runs), "--measure", "return"]) == 0
    assert "[0.47 ± 0.01]" in capsys.readouterr().out


def test_mistakes_are_one_sentence_on_the_command_line(
    tmp_path: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]
):
    for wrong in (
        ["compare", str(tmp_path / "nothing")],
        ["compare", str(runs[0]), "--interval", "0.9"],
        ["report", str(runs[0]), "--top", "0"],
        ["report", str(runs[0]), "--suite", "thesis-12", "--no-pictures"],
        ["compare"],
    ):
        assert main(wrong) == 2
        complaint = capsys.readouterr().err
        assert complaint.startswith("tutelage: ")
        assert complaint.count("\n") == 1


def test_curves_and_tables_need_no_jax(tmp_path: Path, runs: list[Path]):
    words = ["report", *map(str, runs), "--no-pictures", "--out", str(tmp_path / "x.html")]
    code = f"import sys; from tutelage.cli import main; main({words!r}); main(['compare', {str(runs[0])!r}]); "
    code += "print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"


# --- pictures


def test_a_lineage_goes_back_as_far_as_the_buffer():
    from tutelage.report.pictures import ancestry, lineage_text

    buffer: Any = SimpleNamespace(id=np.array([7, 3, 9, 4, 0]), parent=np.array([3, 1, 7, -1, 9]), size=np.array(4))
    assert ancestry(buffer, 2) == [1, 0, 2]  # 3, edited into 7, edited into 9; 1, which 3 came from, has gone
    assert ancestry(buffer, 3) == [3]
    assert lineage_text(4, 3, 2).endswith(
        "edited 3 times since it was generated. 1 ancestor has left the buffer and cannot be drawn; 2 are still there."
    )
    assert lineage_text(1, 1, 1).endswith(
        "edited once since it was generated. All its ancestors are still in the buffer."
    )
    assert lineage_text(1, 5, 0).endswith("5 ancestors have left the buffer and cannot be drawn; none is still there.")


TINY = {
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max_steps": "12",
    "network.width": "8",
    "network.filters": "2",
    "replay.capacity": "16",
    "train.levels": "8",
    "train.rollout": "16",
    "train.suite": "fresh",
}


def test_a_checkpoint_shows_levels_a_lineage_and_the_student(tmp_path: Path):
    """The state is made by hand: to train it would take longer, and nobody would know its lineages."""
    chosen = tutelage.override(tutelage.preset("maze", "accel", "small"), TINY)
    record = evaluation([0.5], suite="fresh", tasks=("Fresh",))
    path = write(tmp_path / "run", chosen, [record])
    trainer, domain = tutelage.build(chosen), tutelage.build_domain(chosen)
    state = trainer.init(0, 0)

    def filled(buffer: BufferState) -> BufferState:
        levels = [domain.space.sample(jax.random.key(seed)) for seed in range(4)]
        few = {
            "score": [0.4, 0.3, 0.2, 0.1],
            "id": [6, 4, 2, 9],
            "parent": [4, 2, 1, -1],
            "generation": [3, 2, 1, 0],
        }
        return buffer._replace(
            levels=jax.tree.map(lambda all, *some: all.at[0, :4].set(jnp.stack(some)), buffer.levels, *levels),
            **{name: getattr(buffer, name).at[0, :4].set(jnp.array(values)) for name, values in few.items()},
            size=jnp.full_like(buffer.size, 4),
        )

    def is_buffer(node: Any) -> bool:
        return isinstance(node, BufferState)

    curriculum = jax.tree.map(lambda x: filled(x) if is_buffer(x) else x, state.curriculum, is_leaf=is_buffer)
    RunDirectory(path).save_checkpoint(20, state._replace(curriculum=curriculum), {})

    html = report([path], tmp_path / "page.html", top=3).html
    Page(html)
    assert "at iteration 20." in html
    assert html.count('alt="#') == 3
    assert re.findall("<b>(after edit \\d)</b>", html) == ["after edit 1", "after edit 2", "after edit 3"]
    assert "1 ancestor has left the buffer and cannot be drawn; 2 are still there." in html
    assert "data:image/gif;base64," in html
    assert "prefers-reduced-motion" in html
    assert not re.search("https?:", html)
