"""The notebook runs from top to bottom, and is committed without what it printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_no_outputs_are_kept() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells())


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from matplotlib import pyplot

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells()):
        exec(compile("".join(cell["source"]), f"tour.ipynb, code cell {number}", "exec"), names)
    pyplot.close("all")
    assert len(shown) == 3
    assert len(names["drawn"]) == 6
    assert names["run"].finished
    assert names["own"].finished
    assert "solved on the worst fifth" in capsys.readouterr().out
