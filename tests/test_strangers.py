"""As a stranger: an environment and a method that are not ours, from files outside of the repository and from an
installed package. Everything that works for ours works for them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tutelage.cli import main
from tutelage.runs import session

ROOT = Path(__file__).parents[1]
SMALL = ["--train.levels", "8", "--train.rollout", "16", "--ppo.epochs", "1", "--train.checkpoint-every", "5"]
ENOUGH = [*SMALL, "--train.evaluate-every", "0", "--train.episodes", "2", "--devices", "1", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("stranger")
    for name in ("corridor.py", "worst_again.py"):
        (path / name).write_text((ROOT / "examples" / name).read_text())
    return path


@pytest.fixture
def here(folder, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def trained(folder) -> Path:
    """A run of both files, never stopped."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["train", "corridor.py", "worst_again.py", "--again.every", "3", "--steps", "2560", *ENOUGH]) == 0
    finally:
        os.chdir(before)
    return folder / "runs" / "corridor-worst_again-s0"


@pytest.mark.parametrize("file", ["corridor.py", "worst_again.py"])
def test_a_file_can_be_checked(here, capsys, file):
    assert main(["check", file]) == 0
    assert "to the bit" in capsys.readouterr().out


def test_files_are_short():
    lengths = {
        name: len((ROOT / "examples" / name).read_text().splitlines()) for name in ("corridor.py", "worst_again.py")
    }
    assert all(length <= 65 for length in lengths.values()), lengths


def test_a_run_knows_its_files_wherever_it_is_looked_at_from(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["show", str(trained)]) == 0
    out = capsys.readouterr().out
    assert str(trained.parents[1] / "corridor.py") in out
    assert session.load(trained).settings.curriculum.again.every == 3


def test_a_run_that_is_killed_and_resumed_is_the_run_that_never_stopped(here, trained):
    command = ["train", "corridor.py", "worst_again.py", "--again.every", "3", "--steps", "2560", *ENOUGH]
    killed = subprocess.Popen([sys.executable, "-m", "tutelage.cli", *command, "--run", "killed"])
    deadline = time.monotonic() + 300
    while not list(Path("killed").glob("checkpoints/*.npz")):  # only so as not to wait forever
        assert killed.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert main(["resume", "killed", "--quiet"]) == 0
    assert session.load("killed").digest == session.load(trained).digest


def test_a_study_and_a_report_of_both(here, capsys):
    Path("study.toml").write_text(
        'environment = "corridor.py"\nmethods = ["dr", "worst_again.py"]\nseeds = [0]\nsteps = 640\n'
        "[settings.train]\nlevels = 8\nrollout = 16\nevaluate_every = 0\nepisodes = 2\n[settings.ppo]\nepochs = 1\n"
        "[method.worst_again]\nagain.every = 3\n"
    )
    assert main(["study", "study.toml", "--out", "both", "--jobs", "1"]) == 0
    assert "worst_again" in capsys.readouterr().out
    assert main(["report", "both/dr/s0", "both/worst_again/s0", "--out", "page.html", "--top", "2"]) == 0
    assert "worst_again" in Path("page.html").read_text()


def test_levels_of_a_method_of_ours_on_a_strangers_environment(here, capsys):
    small = [*ENOUGH, "--replay.capacity", "8", "--replay.min-fill", "0.5"]
    assert main(["train", "corridor.py", "robust-plr", "--steps", "640", *small]) == 0
    assert main(["levels", "runs/corridor-robust-plr-s0", "--top", "2"]) == 0
    assert "door" in capsys.readouterr().out


PACKAGE = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "strange"
version = "1.0"
[project.entry-points."tutelage.environments"]
strange-corridor = "strange.corridor:environment"
strange-line = "strange.line:environment"
[project.entry-points."tutelage.methods"]
worst-again = "strange.worst_again:method"
broken = "strange.nowhere:method"
""",
    "strange/__init__.py": "",
    "strange/line.py": """
import gymnasium, jax, numpy as np, tutelage

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.at, self.time = float(options["level"]), 0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at, self.time = self.at + 2 * action - 1, self.time + 1
        return np.array([self.at], np.float32), -abs(self.at), False, self.time >= 4, {}

environment = tutelage.Gymnasium(make=Line, sample=lambda key: jax.random.uniform(key, minval=-3, maxval=3))
""",
}


@pytest.fixture(scope="module")
def installed(folder, tmp_path_factory) -> dict[str, str]:
    """The same as an installed package: the environment variables of a process that has it."""
    source, site = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("site")
    for name, text in PACKAGE.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
    for name in ("corridor.py", "worst_again.py"):
        (source / "strange" / name).write_text((folder / name).read_text())
    install = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(site),
        str(source),
    ]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT / "src")])}


def tutelage(environment: dict[str, str], cwd: Path, *words: str) -> str:
    command = [sys.executable, "-m", "tutelage.cli", *words]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_an_installed_package_offers_is_listed_and_a_broken_one_is_named(installed, tmp_path):
    listed = tutelage(installed, tmp_path, "methods")
    assert "plays the worst batch again" in listed
    assert "The entry point broken (strange.nowhere:method) of an installed package could not be loaded" in listed
    assert "strange-corridor" in tutelage(installed, tmp_path, "train", "--help")


@pytest.mark.parametrize("environment", ["strange-corridor", "strange-line"])
def test_a_package_trains_and_resumes_by_name(installed, tmp_path, environment):
    words = ("train", environment, "worst-again", "--again.every", "3", "--steps", "384", "--ppo.minibatches", "1")
    tutelage(installed, tmp_path, *words, *ENOUGH)
    run = tmp_path / "runs" / f"{environment}-worst-again-s0"
    assert f'environment = "{environment}"' in (run / "config.toml").read_text()
    tutelage(installed, tmp_path, "resume", str(run), "--quiet")
    assert "(finished)" in tutelage(installed, tmp_path, "show", str(run))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "defines no environment"),
        ("environment = 3", "'environment' in .* is of type int; make it a tutelage.Gymnasium"),
        ("def f(:", "line 1 could not be run: SyntaxError"),
    ],
)
def test_a_file_that_is_no_environment_is_refused_in_a_sentence(tmp_path, monkeypatch, capsys, text, sentence):
    monkeypatch.chdir(tmp_path)
    Path("wrong.py").write_text(text)
    assert main(["train", "wrong.py", "dr"]) == 2
    assert __import__("re").search(sentence, capsys.readouterr().err)


RESTARTS = """
import jax, jax.numpy as jnp, tutelage
def reset(key, level): return jnp.int32(0), jnp.zeros(1)
def step(key, state, action):
    state = state + 1
    done = state >= 3
    return jnp.where(done, 0, state), jnp.zeros(1), 1.0, done, jnp.array(False)
environment = tutelage.Jax(reset=reset, step=step, actions=2, sample=lambda key: jax.random.uniform(key))
"""


def test_an_environment_that_restarts_by_itself_is_found_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("restarts.py").write_text(RESTARTS)
    assert main(["check", "restarts.py"]) == 2
    assert "starts a new episode by itself" in capsys.readouterr().err
