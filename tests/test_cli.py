"""The command line: what it prints, what it refuses and how it ends."""

from __future__ import annotations

import functools
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import tutelage
from tutelage.cli import main
from tutelage.cli.commands import COMMANDS
from tutelage.methods.registry import names as methods
from tutelage.runs import session
from tutelage.runs.directory import EVALUATIONS, RunDirectory
from tutelage.settings import ReplaySettings

TINY = {
    "preset": "small",
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max-steps": "12",
    "network.core": "none",
    "network.width": "8",
    "encoder.filters": "2",
    "ppo.epochs": "2",
    "train.levels": "8",
    "train.rollout": "16",
    "train.log-every": "2",
    "train.checkpoint-every": "2",
    "train.evaluate-every": "0",
    "train.episodes": "4",
    "steps": "768",
}
TINY_OPTIONS = [f"--{name}={value}" for name, value in TINY.items()]
ACCEL = ["train", "maze", "accel", *TINY_OPTIONS, "--quiet", "--replay.capacity", "16"]


def settings(**changes: str) -> list[str]:
    return [word for name, value in changes.items() for word in (f"--{name.replace('__', '.')}", value)]


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    """Runs with equal settings share one program in this process, which they do across processes anyway."""
    build = functools.cache(session.build)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "build", lambda settings, domain=None: build(settings))
        patch.setattr(session, "compiled", functools.cache(session.compiled))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("cli") / "accel")
    assert main([*ACCEL, "--run", path]) == 0
    return path


@pytest.fixture(scope="module")
def dr_run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("cli") / "dr")
    assert main(["train", "maze", "dr", *TINY_OPTIONS, "--quiet", "--run", path]) == 0
    return path


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()  # what a fixture of the module has printed
    return capsys


# --- help


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], output: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    text = output.readouterr().out
    assert {"train", "resume", "eval", "show", "levels", "check", "methods", "envs"} < set(COMMANDS)
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_help_of_a_method_lists_its_settings_and_their_values(output: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "maze", "accel", "--preset", "small", "--help"]) == 0
    text = output.readouterr().out
    assert re.search(r"--replay\.capacity +1_000 +levels the buffer holds \(int\)", text)
    assert re.search(r"--evolve\.criterion +hard .*\(hard \| batch\)", text)
    assert re.search(r"--env\.size +7 ", text)
    assert main(["train", "maze", "dr", "--help"]) == 0
    assert "--replay" not in output.readouterr().out
    assert main(["train", "--help"]) == 0
    assert "usage: tutelage train" in output.readouterr().out


def test_methods_and_environments_are_listed(output: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    names = [line.split()[0] for line in output.readouterr().out.splitlines()]
    assert names == methods()
    assert {"dr", "plr", "robust-plr", "accel"} <= set(names)
    assert main(["envs"]) == 0
    text = output.readouterr().out
    assert re.search(r"^maze: ", text, re.MULTILINE)
    assert "  preset thesis-accel (default): " in text
    assert "  suites: thesis-12, " in text


def test_version(output: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert output.readouterr().out.startswith("tutelage ")


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*ACCEL, "--seeds", "0"], "--seeds is 0; give at least 1."),
        (
            [*ACCEL, "--seeds", "two"],
            "Argument --seeds: 'two' is not a whole number, such as 20 or 2k. See `tutelage train --help`.",
        ),
        (
            [*ACCEL, *settings(train__shared_seed="-2")],
            "train.shared_seed is -2; give a seed of 0 or more, or -1 for the run's own.",
        ),
        (["trian"], "There is no command called 'trian'. Did you mean train or metrics? Available: "),
        (["train", "maze", "acel"], "There is no method called 'acel'. Did you mean accel"),
        (["train", "maz", "accel"], "There is no environment called 'maz'. Did you mean maze"),
        (
            ["train", "maze", "accel", "--preset", "smal"],
            "There is no preset of maze called 'smal'. Did you mean small? "
            "Available: fast, published-accel, published-dcd, sfl-minigrid, small, thesis-accel, thesis-dcd.",
        ),
        (
            [*ACCEL, *settings(train__suite="thesis12")],
            "There is no suite called 'thesis12'. Did you mean thesis-12",
        ),
        (["train"], "Name an environment and a method, as in: tutelage train maze accel. See `tutelage train --help`."),
        (["train", "maze"], "Name an environment and a method, as in: tutelage train maze accel."),
        (
            ["train", "maze", "accel", *settings(replay__rate="2")],
            "replay.rate is 2.0; it is a probability, so give a number from 0 to 1.",
        ),
        (
            ["train", "maze", "accel", *settings(replay__capacity="8")],
            "replay.capacity is 8, smaller than the 32 levels of one batch; give at least 32.",
        ),
        (
            ["train", "maze", "accel", *settings(ppo__minibatches="5")],
            "ppo.minibatches is 5, which does not divide the 32 levels of a batch (a recurrent student learns from "
            "whole trajectories); choose a divisor of 32, or change train.levels.",
        ),
        (
            ["train", "maze", "accel", *settings(evolve__parents="5")],
            "evolve.parents is 5, which does not divide the 32 levels of a batch; choose a divisor of 32.",
        ),
        (["train", "maze", "dr", *settings(env__view="4")], "env.view is 4; give an odd number of at least 3 cells."),
        (
            ["train", "maze", "accel", *settings(ppo__clipp="1")],
            "There is no setting called 'ppo.clipp'. Did you mean ppo.clip",
        ),
        (
            ["train", "maze", "accel", "--capacity", "9"],
            "There is no option called '--capacity'. Did you mean --replay.capacity? Settings have a section in front",
        ),
        (["train", "maze", "dr", "--step", "2M"], "There is no option called '--step'. Did you mean --steps"),
        (["train", "maze", "dr", "--out", "x"], "There is no option called '--out'. Options are --config, "),
        (["train", "maze", "dr", *settings(replay__rate="1")], "There is no setting called 'replay.rate'. "),
        (
            ["train", "maze", "accel", *settings(train__levels="many")],
            "train.levels is 'many'; give a whole number, such as 5000, 20k or 1.5M.",
        ),
        (
            ["train", "maze", "accel", "--steps", "many"],
            "train.steps is 'many'; give a whole number, such as 5000, 20k or 1.5M.",
        ),
        (
            ["train", "maze", "accel", *settings(replay__score="regret")],
            'replay.score is "regret"; give one of entropy, ',
        ),
        (
            ["train", "maze", "accel", "--replay.rate"],
            "--replay.rate has no value; give one, as in: --replay.rate VALUE.",
        ),
        (["train", "maze", "accel", "--replay.rate", "--quiet"], "--replay.rate has no value; give one, as in: "),
        (["train", "maze", "accel", "--replay.rate", "--env.size", "3"], "--replay.rate has no value; give one"),
        (["train", "maze", "accel", "more"], "'more' was not understood; settings are given as --section.name value."),
        (["train", "maze", "accel", "--preset"], "Argument --preset: expected one argument. See `tutelage train "),
        (
            ["train", "maze", "accel", "--config", "some.toml"],
            "--config already gives the environment, the method and the preset; leave those out.",
        ),
        (["train", "--config", "missing.toml"], "The config file missing.toml could not be read: "),
        (["resume", "missing"], "There is no run directory missing; give one that `tutelage train` made."),
        (["show", "missing"], "There is no run directory missing; give one that `tutelage train` made."),
        (["eval", "missing"], "There is no run directory missing; give one that `tutelage train` made."),
        (["levels", "missing"], "There is no run directory missing; give one that `tutelage train` made."),
        (["levels", "missing", "--top", "0"], "--top is 0; give at least 1."),
        (
            ["levels", "missing", "--top", "x"],
            "Argument --top: 'x' is not a whole number, such as 20 or 2k. See `tutelage levels --help`.",
        ),
        (["resume"], "The following arguments are required: run. See `tutelage resume --help`."),
        (["eval", "missing", "--fast"], "Unrecognized arguments: --fast. See `tutelage eval --help`."),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    arguments: list[str],
    sentence: str,
    output: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = output.readouterr()
    assert printed.err.startswith(f"tutelage: {sentence}")
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_a_misspelt_setting_is_answered_with_those_of_its_section(output: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "maze", "accel", *settings(replay__temprature="1")]) == 2
    said = output.readouterr().err
    assert said.startswith(
        "tutelage: There is no setting called 'replay.temprature'. Did you mean replay.temperature or "
    )
    offered = said.strip().partition("Available: ")[2].removesuffix(".").split(", ")
    assert offered == sorted(f"replay.{field.name}" for field in fields(ReplaySettings))


def test_a_run_is_not_overwritten(run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main([*ACCEL, "--run", run]) == 2
    assert output.readouterr().err == (
        f"tutelage: The directory {run} already holds a run; continue it with `tutelage resume {run}`, "
        "or choose another with --run.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["eval", "--suite", "labyrint"], "There is no suite called 'labyrint'. Did you mean "),
        (["eval", "--episodes", "0"], "0 episodes were asked for; an evaluation needs at least 1."),
        (["levels", "--student", "0", "--generated"], "Generated levels are the same for all students; leave --stu"),
        (["levels", "--student", "1"], "There is no student 1; this run has 1, counted from 0."),
        (["levels", "--png", "missing/picture.png"], "The picture missing/picture.png could not be written: "),
    ],
)
def test_what_a_run_cannot_show_is_a_sentence(
    run: str, arguments: list[str], sentence: str, output: pytest.CaptureFixture[str]
) -> None:
    command, *options = arguments
    assert main([command, run, *options]) == 2
    assert output.readouterr().err.startswith(f"tutelage: {sentence}")


def test_a_method_without_a_buffer_shows_what_it_generates(dr_run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["levels", dr_run]) == 2
    assert "The method dr keeps no levels; give --generated" in output.readouterr().err
    shown = []
    for seed in ([], ["0"], ["1"]):
        assert main(["levels", dr_run, "--top", "9", "--generated", *seed]) == 0  # a batch has 8
        shown.append(output.readouterr().out)
        assert shown[-1].count("generated ") == 9
    assert shown[0] == shown[1] != shown[2]


# --- what is done


def test_a_run_is_named_after_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--seed", "3", *TINY_OPTIONS, "--env.blocks", "2", "maze", "dr"]) == 0
    printed = output.readouterr()
    path = "runs/maze-dr-s3"
    assert printed.out == f"Finished. The run is in {path}; see it with: tutelage show {path}\n"
    assert "100.0%" in printed.err
    settings = tutelage.read_settings(f"{path}/config.toml")
    assert (settings.train.seed, settings.train.steps, settings.env.blocks) == (3, 768, 2)


def test_show_says_where_a_run_stands(run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["show", run]) == 0
    rows = dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in output.readouterr().out.splitlines())
    assert rows["environment"] == "maze"
    assert rows["method"] == "accel"
    assert rows["iterations"] == "6 of 6 (finished)"
    assert rows["steps"] == "768"
    assert rows["digest"] == tutelage.load(run).digest


@pytest.mark.parametrize(
    ("logged", "shown"),
    [(4279.304, "4,279 levels drawn since"), (7.6, "7.600 levels drawn since"), (-1234.5, "-1,234 levels drawn since")],
)
def test_show_writes_large_figures_without_decimals(
    run: str, tmp_path: Path, logged: float, shown: str, output: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    record = {"iteration": 6, "steps": 768, "buffer/staleness": logged}
    (copy / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    assert main(["show", str(copy)]) == 0
    assert re.search(rf"buffer/staleness +{re.escape(shown)}\n", output.readouterr().out)


def test_a_stopped_run_says_how_to_go_on(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(session.Silent, "advanced", lambda self, record: signal.raise_signal(signal.SIGINT))
        assert main([*ACCEL, "--run", path]) == 130
    assert output.readouterr().out == f"Stopped at iteration 2 of 6. Go on with: tutelage resume {path}\n"
    assert main(["resume", path, "--quiet"]) == 0
    assert output.readouterr().out == f"Finished. The run is in {path}; see it with: tutelage show {path}\n"
    assert tutelage.load(path).digest == tutelage.load(run).digest


def test_the_config_of_a_run_can_be_edited_and_used_again(run: str, tmp_path: Path) -> None:
    text = (Path(run) / "config.toml").read_text()
    edited = tmp_path / "mine.toml"
    edited.write_text(text.replace("temperature = 0.3", "temperature = 0.7"))
    path = str(tmp_path / "run")
    assert main(["train", "--config", str(edited), "--train.steps", "256", "--run", path, "--quiet"]) == 0
    then, now = tutelage.load(run).settings, tutelage.load(path).settings
    assert now == tutelage.override(then, {"replay.temperature": "0.7", "train.steps": "256"}) != then


def test_eval_prints_the_same_table_for_the_same_seed(run: str, output: pytest.CaptureFixture[str]) -> None:
    tables = []
    for seed in ("1", "1", "2"):
        assert main(["eval", run, "--suite", "fresh", "--episodes", "30", "--seed", seed]) == 0
        tables.append(output.readouterr().out)
    header, task, mean, note = tables[0].splitlines()
    assert header.split() == ["solved", "return", "worst", "steps"]
    assert re.fullmatch(r"Fresh +\d\.\d\d ± \d\.\d\d +\d\.\d{3} ± \d\.\d{3} +\d\.\d{3} +\d+", task)
    assert mean.startswith("mean ")
    assert note == "fresh, 30 episodes each, seed 1; ± is the standard error over episodes, worst the lowest return"
    assert tables[0] == tables[1]
    assert tables[0].splitlines()[1] != tables[2].splitlines()[1]


def test_eval_tells_how_bad_the_worst_levels_are(run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", run, "--worst-of", "40", "--episodes", "3"]) == 0
    lines = output.readouterr().out.splitlines()
    assert [line[:22].strip() for line in lines[1:-1]] == [
        "all levels",
        *(f"worst {share}% of levels" for share in (20, 10, 5, 1)),
        "worst of 3 episodes",
    ]
    assert all(0 <= float(line.split()[-2]) <= 1 for line in lines[1:-1])
    assert lines[-1].startswith("fresh, 40 new levels, seed 0; the worst levels (CVaR), by either measure, were found")
    assert lines[-1].endswith(" in 3 episodes each and scored in 3 others")
    assert main(["eval", run, "--worst-of", "40", "--suite", "thesis-12"]) == 2
    assert "The suite thesis-12 has 12 tasks; give one that draws new levels" in output.readouterr().err
    assert main(["eval", run, "--worst-of", "0"]) == 2
    assert "0 levels were asked for; give at least 1." in output.readouterr().err


def test_eval_is_remembered(run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", run, "--suite", "SmallCorridor", "--episodes", "3", "--greedy"]) == 0
    assert main(["show", run]) == 0
    assert "SmallCorridor at iteration 6: " in output.readouterr().out


def test_eval_writes_nothing_beside_a_process_that_trains(run: str, output: pytest.CaptureFixture[str]) -> None:
    records = Path(run) / EVALUATIONS
    before = records.read_bytes()
    with RunDirectory(Path(run)).lock():
        assert main(["eval", run, "--suite", "fresh", "--episodes", "3"]) == 0
    printed = output.readouterr()
    assert printed.out.startswith(" ")
    assert "fresh, 3 episodes each" in printed.out
    assert printed.err == (
        f"tutelage: The run {run} is being trained, so this result was not kept; evaluate again once it has stopped.\n"
    )
    assert records.read_bytes() == before
    assert main(["eval", run, "--suite", "fresh", "--episodes", "3"]) == 0
    assert output.readouterr().err == ""
    assert records.read_bytes().startswith(before)
    assert len(records.read_bytes().splitlines()) == len(before.splitlines()) + 1


def test_levels_are_printed_best_first(run: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["levels", run, "--top", "3"]) == 0
    text = output.readouterr().out
    scores = [float(score) for score in re.findall(r"^#\d  score (-?[\d.]+), generation \d+$", text, re.MULTILINE)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert text.count("######\n") >= 6  # top and bottom of each


def test_levels_are_drawn(run: str, tmp_path: Path, output: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "levels.png"
    assert main(["levels", run, "--top", "2", "--png", str(picture)]) == 0
    assert output.readouterr().out == f"Drew 2 levels to {picture}.\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_reader_that_has_gone_is_no_error(run: str) -> None:
    script = "import sys; from tutelage.cli import main; sys.exit(main(['methods']))"
    source = str(Path(tutelage.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", script], env={"PYTHONPATH": source}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (0, b"")


@pytest.mark.parametrize("module", ["tutelage", "tutelage.cli"])
def test_the_program_is_also_a_module(module: str) -> None:
    source = str(Path(tutelage.__file__).parents[1])
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, env={"PYTHONPATH": source}, capture_output=True, text=True, check=True)
    assert done.stdout == f"tutelage {tutelage.__version__}\n"
