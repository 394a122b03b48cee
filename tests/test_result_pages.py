"""Pages of results that programs in benchmarks/ write: what is kept, how runs are added, and pages agree with it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import tutelage
from tutelage.config import to_toml

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture
def program(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("name", ["fruit", "maze", "minigrid", "obstructed", "procgen"])
def test_a_page_says_what_is_kept(program, name):
    page = program(f"{name}_results").PAGE
    kept = json.loads((RESULTS / f"{page.name}.json").read_text())
    assert len(page.table(kept)) > 2
    assert page.text(kept) == (RESULTS / f"{page.name}.md").read_text()


def run(directory: Path, steps: int, figure: float) -> None:
    """A run's directory as far as a summary reads it. Its length is 1,000 steps."""
    directory.mkdir(parents=True)
    settings = tutelage.override(tutelage.preset("lava", "dr", "fast"), {"train.steps": "1000"})
    (directory / "config.toml").write_text(to_toml(settings))
    (directory / "metrics.jsonl").write_text(json.dumps({"steps": steps, "figure": figure}) + "\n")


def test_finished_runs_are_added_to_those_kept_before(program, tmp_path):
    studied = program("studied")
    run(tmp_path / "one" / "dr" / "s10", 1024, 0.5)
    run(tmp_path / "one" / "dr" / "s2", 1024, 0.25)
    run(tmp_path / "one" / "dr" / "s3", 512, 0.75)  # has not come to its end
    run(tmp_path / "two" / "plr" / "s0", 1024, 0.125)

    def summary(path: Path) -> dict[str, float]:
        return {"figure": studied.records(path, "metrics.jsonl")[-1]["figure"]}

    file, groups = tmp_path / "kept.json", ("plr", "dr")
    assert studied.keep(file, tmp_path / "one", groups, summary) == {
        "dr": {"2": {"figure": 0.25}, "10": {"figure": 0.5}}
    }
    both = studied.keep(file, tmp_path / "two", groups, summary)
    assert both == {"plr": {"0": {"figure": 0.125}}, "dr": {"2": {"figure": 0.25}, "10": {"figure": 0.5}}}
    assert list(both) == ["plr", "dr"]
    assert list(both["dr"]) == ["2", "10"]
    assert json.loads(file.read_text()) == both


def test_a_curve_that_is_kept_has_few_points_and_the_last_one(program):
    studied = program("studied")
    line = studied.curve([i / 10 for i in range(1000)], range(1000))
    assert len(line["steps"]) == len(line["values"]) <= studied.POINTS
    assert (line["steps"][-1], line["values"][-1]) == (99.9, 999)
