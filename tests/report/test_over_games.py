"""Methods over several games: figures by hand, marks as in the thesis, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tutelage.cli import main
from tutelage.envs.procgen.games import GAMES
from tutelage.errors import UserError
from tutelage.evaluation.statistics import not_told_from_best, relative
from tutelage.report.over_games import over_games

from .made_runs import settings, write

UNIFORM = {"leaper": [(2.0, 6.0), (4.0, 6.0)], "bigfish": [(1.0, 9.0), (3.0, 9.0)]}
PLR = {"leaper": [(6.0, 7.0), (6.0, 8.0)], "bigfish": [(5.0, 6.0), (5.0, 6.0)]}
"""Of each run the return on unseen and on training levels."""


def write_runs(path: Path, method: str, returns: dict[str, list[tuple[float, float]]], gap: bool = True) -> list[Path]:
    paths = []
    for game, runs in returns.items():
        scale = GAMES[game].easy
        for seed, (test, train) in enumerate(runs):
            tasks: dict[str, Any] = {game: {"return": test, "normalised": scale.normalised(test)}}
            if gap:
                tasks[f"{game}-200"] = {"return": train, "normalised": scale.normalised(train)}
            record = {
                "iteration": 1,
                "steps": 8192,
                "suite": "gap-200",
                "tasks": {name: {"solved": 0.5, "episodes": 10, **task} for name, task in tasks.items()},
            }
            chosen = settings(method, seed, "procgen", **{"env.game": game})
            paths.append(write(path / f"{method}-{game}-{seed}", chosen, [record]))
    return paths


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return write_runs(tmp_path, "dr", UNIFORM) + write_runs(tmp_path, "plr", PLR)


def test_the_tables_are_those_of_chapter_3(runs):
    found = over_games(runs)
    assert found.games == ("leaper", "bigfish")
    returns, normalised, trained, gaps = found.tables()
    words = {table.caption: [[cell.text for cell in row] for row in table.rows] for table in found.tables()}
    assert returns.columns == ("game", "dr (n = 2)", "plr (n = 2)")
    assert words[returns.caption] == [
        ["leaper", "3.0 ± 1.0", "6.0 ± 0.0"],
        ["bigfish", "2.0 ± 1.0", "5.0 ± 0.0"],
        # dr's first seed: (2/3 + 1/2) / 2, its second (4/3 + 3/2) / 2; plr's both: (6/3 + 5/2) / 2
        ["mean, % of dr", "100.0 ± 41.7", "225.0 ± 0.0"],
    ]
    assert words[normalised.caption][0][2] == f"{(6 - 1.5) / 8.5:.3f} ± 0.000"
    assert words[normalised.caption][2][2] == f"{((6 - 1.5) / 8.5 + (5 - 1) / 39) / 2:.3f} ± 0.000"
    assert words[trained.caption][0] == ["leaper", "6.0 ± 0.0", "7.5 ± 0.5"]
    assert words[gaps.caption] == [["leaper", "3.0 ± 1.0", "1.5 ± 0.5"], ["bigfish", "7.0 ± 1.0", "1.0 ± 0.0"]]
    text = found.text()
    assert "Generalisation gap" in text
    assert "10 episodes" in text


def test_another_baseline_is_what_the_others_are_divided_by(runs):
    assert over_games(runs, against="plr").tables()[0].rows[-1][2].text == "100.0 ± 0.0"
    with pytest.raises(UserError, match="There is no method in these runs called 'accel'"):
        over_games(runs, against="accel")


def test_without_training_levels_there_is_no_gap(tmp_path):
    found = over_games(write_runs(tmp_path, "dr", UNIFORM, gap=False))
    assert [table.caption.split()[0] for table in found.tables()] == ["Return", "The"]


def test_what_cannot_be_compared_is_refused(runs, tmp_path):
    with pytest.raises(UserError, match="dr has different numbers of runs: 2 of leaper, 1 of bigfish"):
        over_games(runs[:3])
    with pytest.raises(UserError, match="was not evaluated on fresh .*tutelage eval"):
        over_games(runs, suite="fresh")
    maze = write(tmp_path / "maze", settings("dr"), [{"iteration": 1, "steps": 1, "suite": "a", "tasks": {"a": TASK}}])
    with pytest.raises(UserError, match="is of maze, which has no games; leave out --over-games"):
        over_games([maze])


TASK = {"solved": 0.5, "return": 1.0, "episodes": 10}


def test_the_command_line_prints_them(runs, capsys):
    assert main(["compare", *map(str, runs), "--over-games"]) == 0
    assert "mean, % of dr" in capsys.readouterr().out


# --- statistics


def test_relative_scores_are_by_run_and_baseline():
    baseline = np.array([[1.0, 10.0], [3.0, 30.0]])
    np.testing.assert_allclose(relative(np.array([[2.0, 40.0], [4.0, 20.0]]), baseline), [1.5, 1.5])
    assert relative(baseline, baseline).mean() == pytest.approx(1)
    with pytest.raises(UserError, match="The baseline's mean is 0"):
        relative(baseline, np.array([[1.0, 0.0]]))


def test_marks_are_for_what_welch_does_not_tell_from_the_best():
    best, near, far = np.array([10.0, 11, 12]), np.array([9.0, 11, 11]), np.array([1.0, 2, 3])
    assert not_told_from_best([far, best, near]) == [False, True, True]
    assert not_told_from_best([best, near]) == [False, False]  # all of them: nothing to mark
    assert not_told_from_best([best, np.array([1.0])]) == [False, False]
