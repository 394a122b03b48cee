"""Figures for a paper: files with embedded fonts, of the widths of columns, that show what the statistics say."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.evaluation import statistics
from tutelage.report import plot as plotting

from .made_runs import ACCEL, DR, evaluation, refused, settings, write

pytest.importorskip("matplotlib")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two methods with three seeds, and levels of which three figures are known."""
    path = tmp_path / "study"
    path.mkdir()
    (path / "study.toml").write_text("# only that it is there counts here\n")
    for method, rates in (("dr", DR), ("accel", ACCEL)):
        for seed, rate in enumerate(rates):
            records = [evaluation([value * share for value in rate], steps) for steps, share in ((0, 0.1), (2000, 1.0))]
            source = "generated" if method == "dr" else "replayed"
            level = {f"{source}/level/{name}": 10.0 + seed + i for i, name in enumerate(("blocks", "path", "turns"))}
            metrics = [{"iteration": i, "steps": 100 * i, **level} for i in range(1, 21)]
            write(path / method / f"s{seed}", settings(method, seed), records, metrics)
    return path


def text_of(pdf: bytes) -> tuple[str, float]:
    """What a page's fonts are, and its width in inches."""
    streams = [
        zlib.decompress(part) for part in re.findall(rb"stream\n(.*?)\nendstream", pdf, re.S) if part[:1] == b"x"
    ]
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+)", pdf)
    assert box is not None
    assert streams
    return pdf.decode("latin-1"), float(box.group(1)) / 72


def test_every_figure_is_a_page_with_its_fonts_inside(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "plots"
    assert main(["plot", str(study), "--pdf", "--out", str(out)]) == 0
    assert sorted(file.name for file in out.iterdir()) == sorted(f"{name}.pdf" for name in plotting.FIGURES)
    for file in out.iterdir():
        page, width = text_of(file.read_bytes())
        assert width == pytest.approx(3.25, abs=0.01), file.name
        assert "/FontFile2" in page, "TrueType, embedded"
        assert "/Type3" not in page
    again = tmp_path / "again"
    tutelage.plot([study], again, ["curves"])
    assert (again / "curves.pdf").read_bytes() == (out / "curves.pdf").read_bytes(), "the same runs, the same file"


def test_intervals_are_those_of_the_statistics(study: Path):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots(1, 2)
    plotting._intervals(axes, tutelage.compare([study]).study, "solved", "text")
    accel = statistics.estimate(np.array(ACCEL), statistics.iqm)
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes[1].patches]
    assert bars[0] == pytest.approx((accel.low, accel.high))
    assert [label.get_text() for label in axes[1].get_yticklabels()] == ["accel (n\xa0=\xa03)", "dr (n\xa0=\xa03)"]
    plt.close(figure)


def test_what_cannot_be_drawn_is_said(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = study / "dr" / "s0"
    said: list[str] = []
    written = tutelage.plot([one], tmp_path / "plots", warn=said.append)
    assert [file.stem for file in written] == ["curves", "roses"]
    assert "No intervals: an interval needs at least 3 seeds of a method." in said
    with refused("two methods with at least 3 seeds each are needed"):
        tutelage.plot([study / "dr"], tmp_path / "plots", ["improvement"])
    assert main(["plot", str(study), "--figure", "pie"]) == 2
    assert "There is no figure called 'pie'" in capsys.readouterr().err


def test_other_widths_and_kinds(study: Path, tmp_path: Path):
    (svg,) = tutelage.plot([study], tmp_path, ["improvement"], width="text", kind="svg", against="dr")
    assert 'width="486pt"' in svg.read_text()
    assert "P(better than dr)" in svg.read_text()
