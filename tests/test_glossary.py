"""Every figure that is logged has an entry that says what it means."""

from __future__ import annotations

from typing import Any

import jax
import pytest

import tutelage
from tutelage.cli import main
from tutelage.glossary import FIGURES, find, unit
from tutelage.methods.registry import built_in
from tutelage.runs.records import metrics_record

CASES = [("matrix", name, {}) for name in built_in() if name != "samplr"]
CASES += [
    ("hidden-games", "samplr", {}),
    ("maze", "accel", {"evolve.editor": "learned"}),
    ("racing", "dr", {"regulariser.kind": "drac"}),
    ("racing", "dr", {"regulariser.kind": "ucb-drac"}),
    ("racing", "dr", {"regulariser.kind": "mixreg"}),
]


def logged(environment: str, method: str, changes: dict[str, str]) -> set[str]:
    """The names of a run's figures, without computing any."""
    small = {"train.levels": "20" if method == "sfl" else "8", "train.rollout": "8"}
    trainer = tutelage.build(tutelage.override(tutelage.preset(environment, method), small | changes))
    report = jax.eval_shape(trainer.step, jax.eval_shape(lambda: trainer.init(0)))[1]
    return set(report.metrics)


@pytest.mark.parametrize(("environment", "method", "changes"), CASES)
def test_every_logged_figure_has_an_entry(environment: str, method: str, changes: dict[str, str]):
    names = logged(environment, method, changes)
    assert "return" in names
    assert {name for name in names if find(name) is None} == set()


def test_every_entry_is_logged_by_somebody():
    """No entry is of a figure that nobody logs any more."""
    seen = {"held-out/fresh/solved", "iteration", "steps", "learned_steps", "steps_per_second", "seconds", "learned"}
    seen |= {
        "generated/share",
        "ppo/pulled/crop",
        "ppo/worth/crop",
        "ppo/changed_value_loss",
        "ppo/changed_policy_loss",
    }
    for environment, method, changes in [*CASES[: len(built_in())], CASES[-4]]:
        seen |= logged(environment, method, changes)
    used = {found.name for name in seen if (found := find(name))}
    assert {figure.name for figure in FIGURES} - used == set()


def test_the_fields_of_a_record_have_entries():
    import numpy as np

    from tutelage.figures import StepReport

    trainer = tutelage.build(tutelage.preset("matrix", "dr"))
    finite: Any = ()  # read elsewhere
    log = StepReport(finite, np.ones(2), np.ones((2, 3)) / 3, {"return": np.ones(2)})
    record = metrics_record(2, 2, trainer, log, 1.0, 0)
    assert {name for name in record if find(name) is None} == set()


def test_units():
    assert unit("generated/solved") == "share of episodes"
    assert unit("buffer/staleness-90%") == "levels drawn since"
    assert unit("replayed/level/blocks") == unit("return") == ""
    assert unit("ppo/kl") == unit("teacher/kl") == "nats"


def test_the_command(capsys: pytest.CaptureFixture[str]):
    assert main(["metrics"]) == 0
    said = capsys.readouterr().out
    assert all(figure.name in said for figure in FIGURES)
    assert main(["metrics", "replayed/solved"]) == 0
    assert "replayed/solved [share of episodes]" in capsys.readouterr().out
    assert main(["metrics", "happiness"]) == 2
    assert "No figure is called 'happiness'" in capsys.readouterr().err
