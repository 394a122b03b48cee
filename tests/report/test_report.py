"""A report is a page that needs nothing else and says what the runs' records say."""

from __future__ import annotations

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
from tutelage.report import tables
from tutelage.report.write import write_report
from tutelage.runs.directory import RunDirectory

from .made_runs import DR, evaluation, refused, settings, write

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
    "encoder.filters": "2",
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
        levels = [domain.levels.sample(jax.random.key(seed)) for seed in range(4)]
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
    RunDirectory(path).save_checkpoint(20, state._replace(curriculum=curriculum, iteration=jnp.int32(20)), {})

    html = report([path], tmp_path / "page.html", top=3).html
    Page(html)
    assert "at iteration 20." in html
    assert html.count('alt="#') == 3
    assert re.findall("<b>(after edit \\d)</b>", html) == ["after edit 1", "after edit 2", "after edit 3"]
    assert "1 ancestor has left the buffer and cannot be drawn; 2 are still there." in html
    assert "data:image/gif;base64," in html
    assert "prefers-reduced-motion" in html
    assert not re.search("https?:", html)


def test_every_suite_that_all_were_evaluated_on_has_a_table(tmp_path: Path):
    paths = []
    for seed in range(2):
        both = [evaluation(DR[seed]), evaluation([0.25, 0.75], suite="rooms", tasks=("FourRooms", "SixRooms"))]
        paths.append(write(tmp_path / f"s{seed}", settings("dr", seed), both))
    pages = report(paths, tmp_path / "page.html")
    for page in (pages.html, pages.markdown):
        assert "Solved rate on validation-3" in page
        assert "Solved rate on rooms" in page
        assert "SixRooms" in page
    assert "mean return" in pages.html, "both measures have a curve"
    alone = report(paths, tmp_path / "one.html", suite="rooms").html
    assert "validation-3" not in alone
