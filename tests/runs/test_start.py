"""Runs that start from another's student, and runs that get longer."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.runs import session
from tutelage.runs.session import Silent

TINY = {
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max_steps": "12",
    "network.width": "8",
    "encoder.filters": "2",
    "ppo.epochs": "2",
    "replay.capacity": "16",
    "replay.min_fill": "0.2",
    "train.levels": "8",
    "train.rollout": "16",
    "train.steps": str(4 * 128),
    "train.log_every": "2",
    "train.checkpoint_every": "3",
    "train.evaluate_every": "0",
    "train.episodes": "2",
}


class Heard(Silent):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, message: str) -> None:
        self.sentences.append(message)


def tiny(method: str = "robust-plr", **changes: str) -> tutelage.Settings:
    own = {name: value for name, value in TINY.items() if method != "dr" or not name.startswith("replay")}
    return tutelage.override(tutelage.preset("maze", method, "small"), own | {"ppo.anneal": "false"} | changes)


@pytest.fixture(scope="module", autouse=True)
def compile_once():
    """Equal settings are one trainer, and one trainer is compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "build", functools.cache(session.build))
        patch.setattr(session, "compiled", functools.cache(session.compiled))
        yield


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> tutelage.Run:
    return tutelage.train(tiny(), tmp_path_factory.mktemp("short") / "run")


def same(a, b) -> bool:
    return jax.tree.all(jax.tree.map(lambda x, y: np.array_equal(np.asarray(x), np.asarray(y)), a, b))


def test_a_finished_run_goes_on_as_if_it_had_been_longer_from_the_start(tmp_path: Path):
    path = tmp_path / "run"
    tutelage.train(tiny(), path)
    heard = Heard()
    longer = tutelage.resume(path, heard, steps="1024")
    assert heard.sentences[0] == "The run has 8 iterations now, of which 4 are done; it was to have 4."
    whole = tutelage.train(tiny(**{"train.steps": "1024"}), tmp_path / "whole")
    assert longer.digest == whole.digest
    assert longer.finished
    assert tutelage.load(path).trainer.iterations == 8
    assert json.loads((path / "run.json").read_text())["extended"] == [{"at": 4, "from": 512, "to": 1024}]
    assert [record["iteration"] for record in longer.directory.read("metrics.jsonl")] == [2, 3, 4, 6, 8]
    with pytest.raises(UserError, match="has done 1,024 steps already, and --steps is 512; give more"):
        tutelage.resume(path, steps="512")
    with pytest.raises(UserError, match="such as 5000, 20k or 1.5M"):
        tutelage.resume(path, steps="10X")


def test_what_a_schedule_does_is_said(tmp_path: Path):
    tutelage.train(tiny(**{"ppo.anneal": "true", "ppo.learning_rate": "0.001"}), tmp_path / "run")
    heard = Heard()
    tutelage.resume(tmp_path / "run", heard, steps="1024")
    assert "it goes on at 0.0005 where it was 0," in heard.sentences[0]


def test_a_run_starts_from_the_student_of_another(short: tutelage.Run, tmp_path: Path):
    settings = tiny("dr", **{"ppo.average": "0.9"})
    run = tutelage.train(settings, tmp_path / "run", start=short)
    trainer = tutelage.build(settings)
    first = run.directory.checkpoints()
    assert first[0].stem == "000000003", "the newest two are kept, as ever"
    # The same run once more, stopped before its first iteration: what was written is what it starts with.
    from tutelage.runs.directory import RunDirectory
    from tutelage.runs.start import Start, begin, started_from

    again = RunDirectory.create(tmp_path / "again", settings)
    begin(again, trainer, settings, Start(short.directory.path, short.student(), None, short.iteration))
    loaded = tutelage.load(tmp_path / "again")
    assert same(loaded.student(), short.student())
    assert same(
        loaded.state.students.agent.params["params"]["policy"]["bias"][0],
        short.student().params["params"]["policy"]["bias"],
    )
    assert started_from(again) == str(short.directory.path.resolve())
    assert tutelage.resume(tmp_path / "again").digest == run.digest
    fresh = tutelage.train(settings, tmp_path / "fresh")
    assert fresh.digest != run.digest


def test_the_buffer_comes_along_if_asked_for(short: tutelage.Run, tmp_path: Path):
    from tutelage.runs.session import train

    settings = tiny(**{"train.seed": "5", "train.steps": "128"})
    kept = train(settings, tmp_path / "with", start=short, start_buffer=True)
    without = train(settings, tmp_path / "without", start=short)
    from tutelage.runs.levels import kept_levels

    assert int(kept_levels(kept).size) > int(kept_levels(without).size) >= 0


def test_a_student_that_does_not_fit_is_refused_before_anything_is_made(short: tutelage.Run, tmp_path: Path):
    with pytest.raises(UserError, match="leave the settings of network and encoder out"):
        tutelage.train(tiny(**{"network.width": "16"}), tmp_path / "run", start=short)
    with pytest.raises(UserError, match="has another network"):
        tutelage.train(tiny(**{"network.core": "gru"}), tmp_path / "run", start=short)
    with pytest.raises(UserError, match="has another form"):
        tutelage.train(tiny(**{"replay.capacity": "20"}), tmp_path / "run", start=short, start_buffer=True)
    assert not (tmp_path / "run").exists()


def test_the_commands(short: tutelage.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(tmp_path / "run")
    words = [f"--{name}={value}" for name, value in TINY.items() if not name.startswith(("network", "encoder"))]
    start = ["--from", str(short.directory.path), "--from-buffer", "--run", path, "--quiet"]
    assert main(["train", "maze", "robust-plr", "--preset", "small", *start, *words]) == 0
    assert tutelage.read_settings(f"{path}/config.toml").network.width == 8, "taken over"
    assert json.loads(Path(path, "run.json").read_text())["from"]["buffer"] is True
    assert main(["resume", path, "--steps", "1k", "--quiet"]) == 0
    assert tutelage.load(path).iteration == 8
    assert main(["train", "maze", "dr", "--from-buffer"]) == 2
    assert "say which run with --from RUN" in capsys.readouterr().err
