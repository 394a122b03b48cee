"""What `tutelage page` puts into a file, and what it refuses."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.evaluation.record import record
from tutelage.lab.page import content as page_content
from tutelage.lab.page import weights
from tutelage.lab.page.bundle import WEB, bundle, embedded, modules
from tutelage.lab.page.content import labels_of
from tutelage.lab.page.write import content_of, page_of, write_page
from tutelage.runs.directory import RunDirectory

TINY = {"train.levels": "4", "train.rollout": "16", "train.steps": "512", "train.episodes": "1", "network.width": "8"}


def read(page: Path) -> Any:
    (text,) = re.findall(r'id="content">(.*?)</script>', page.read_text())
    return json.loads(text)


# --- weights


def unpacked(packed: weights.Packed) -> dict[str, np.ndarray]:
    """As the page reads them."""
    found = {}
    for array in packed.arrays:
        shape, offset = tuple(array["shape"]), array["offset"]
        count = int(np.prod(shape))
        if array["scales"] is None:
            values = np.frombuffer(packed.data, "<f4", count, offset).reshape(shape)
        else:
            scales = np.frombuffer(packed.data, "<f4", shape[-1], array["scales"])
            values = np.frombuffer(packed.data, "<i2", count, offset).reshape(shape).astype(np.float32) * scales
        found[array["name"]] = values
    return found


@pytest.fixture
def params() -> Any:
    rng = np.random.default_rng(0)
    kernel = rng.normal(0, [1e-3, 1.0, 30.0], (7, 3)).astype(np.float32)
    kernel[:, 1] = 0.0  # a column of zeros has no scale
    return {"params": {"core": {"kernel": kernel, "bias": rng.normal(size=3).astype(np.float32)}}}


def test_32_bits_are_exact(params: Any) -> None:
    found = unpacked(weights.pack(params, 32))
    assert found.keys() == {"core/kernel", "core/bias"}
    np.testing.assert_array_equal(found["core/kernel"], params["params"]["core"]["kernel"])
    np.testing.assert_array_equal(found["core/bias"], params["params"]["core"]["bias"])


def test_16_bits_are_off_by_half_a_step_of_their_column(params: Any) -> None:
    kernel = params["params"]["core"]["kernel"]
    packed = weights.pack(params, 16)
    found = unpacked(packed)
    error = np.abs(found["core/kernel"] - kernel).max(axis=0)
    assert (error <= 0.51 * np.abs(kernel).max(axis=0) / (2**15 - 1)).all()
    assert error[2] > 0
    np.testing.assert_array_equal(found["core/bias"], params["params"]["core"]["bias"])
    np.testing.assert_array_equal(found["core/kernel"], weights.rounded(params)["params"]["core"]["kernel"])
    assert all(array["offset"] % 4 == 0 for array in packed.arrays)
    assert base64.b64decode(packed.as_json()["data"]) == packed.data


@pytest.fixture(scope="module")
def student(random_state: Any) -> Any:
    settings = tutelage.override(tutelage.preset("maze", "dr"), {"network.width": "8"})
    domain = tutelage.build_domain(settings)
    agent = tutelage.build_agent(settings, domain)
    level = jax.eval_shape(domain.levels.sample, jax.random.key(0))
    seen = jax.eval_shape(lambda level: domain.env.reset(jax.random.key(0), domain.env.prepare(level))[1], level)
    return agent, random_state(agent, seen), domain.suites["validation-3"].tasks


def test_16_bits_are_chosen_where_no_action_changes(student: Any) -> None:
    agent, state, tasks = student
    choice = weights.choose(agent, state, tasks)
    assert choice.packed.bits == 16
    assert choice.changed == ()
    assert len(choice.packed.data) < 0.6 * choice.full_size
    assert "every greedy action stays the same" in choice.sentence
    for task, episode in zip(tasks, choice.episodes, strict=True):
        np.testing.assert_array_equal(episode.actions, record(agent, state, task, greedy=True).actions)


def test_32_bits_are_chosen_where_an_action_would_change(student: Any) -> None:
    """Two actions whose logits differ by less than 16 bits can tell: the weights are equal but for the last digits."""
    agent, state, tasks = student
    params = jax.tree.map(np.array, state.params)
    policy, hidden = params["params"]["policy"], params["params"]["policy_hidden_1"]
    hidden["kernel"][:], hidden["bias"][:] = 0.0, 1.0  # the last layer sees ones, whatever is seen
    on_grid = np.arange(2**15 - 1, 0, -1000)[: len(policy["kernel"])] / np.float32(2**15 - 1)
    policy["kernel"][:], policy["bias"][:] = 0.0, [0, 0, -9, -9, -9, -9, -9]
    policy["kernel"][:, 0] = policy["kernel"][:, 1] = on_grid
    policy["kernel"][1:, 1] *= np.float32(1 + 1e-6)
    choice = weights.choose(agent, state._replace(params=params), tasks)
    assert choice.packed.bits == 32
    assert "32-bit weights" in choice.sentence
    assert "SixteenRooms from step 1" in choice.sentence


# --- the file


def test_modules_come_once_and_after_what_they_need() -> None:
    text = modules("demo.js")
    order = re.findall(r"^// --- ([\w-]+\.js)$", text, re.MULTILINE)
    assert len(order) == len(set(order))
    assert order[-1] == "demo.js"
    assert order.index("grid-draw.js") < order.index("maze.js") < order.index("student.js")
    assert {path.name for path in WEB.glob("maze*.js")} < set(order)
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)


def test_a_page_needs_nothing_else() -> None:
    text = bundle("demo.html", {"title": "x"})
    assert not re.search(r'(src|href)="(?!data:,|#)', text)
    assert "default-src 'none'" in text
    assert not re.search(r"https?://", text)


def test_content_stays_content() -> None:
    evil = {"title": "</script><script>alert(1)</script> & <!--"}
    assert "<" not in embedded(evil)
    assert json.loads(embedded(evil)) == evil


# --- the command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A run that has kept levels, and one that has just begun."""
    path = tmp_path_factory.mktemp("runs")
    buffer = {"replay.capacity": "8", "replay.min_fill": "0.5", "train.evaluate_every": "0"}
    tutelage.train(tutelage.override(tutelage.preset("maze", "accel", "small"), TINY | buffer), path / "accel")
    RunDirectory.create(path / "dr", tutelage.override(tutelage.preset("maze", "dr", "small"), TINY))
    return [str(path / "accel"), str(path / "dr")]


def test_the_command_writes_a_page(runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo.html"
    command = ["page", *runs, "--out", str(out), "--suite", "validation-3", "--title", "Mine & <yours>", "--top", "3"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert re.search(r"accel, seed 0: (16|32)-bit weights, \d+ kB", said)
    assert re.search(r"Wrote .*demo\.html, 0\.\d\d MB", said)
    content = read(out)
    assert content["title"] == "Mine & <yours>"
    assert [student["label"] for student in content["students"]] == ["accel, seed 0", "dr, seed 0"]
    assert list(content["suites"]) == ["validation-3"]
    assert [maze["name"] for maze in content["mazes"]] == ["SixteenRooms", "Labyrinth", "Maze"]
    assert content["mazes"][0]["maxSteps"] == 450
    assert content["training"]["size"] == 7
    (buffer,) = content["buffers"]  # dr keeps none
    assert buffer["label"] == "accel, seed 0"
    assert len(buffer["levels"]) == 3
    assert buffer["levels"][0]["caption"].startswith("score ")

    run = tutelage.load(runs[0])
    for task in run.domain.suites["validation-3"].tasks:
        actions = record(run.agent, run.student(), task, greedy=True).actions
        assert content["students"][0]["actions"][task.name] == "".join(map(str, actions.tolist()))
    assert main(command) == 0  # its own page may be written again


def test_labels_are_all_different(runs: list[str]) -> None:
    run = tutelage.load(runs[1])
    assert labels_of([run, run]) == ["dr, seed 0, 0 steps, dr"] * 2  # the same run, twice
    assert labels_of([run, tutelage.load(runs[0])]) == ["dr, seed 0", "accel, seed 0"]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["page", *arguments]) == 2
    return capsys.readouterr().err


def test_refusals(runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.html").write_text("<html>mine")
    assert "was not made by `tutelage page`" in refused([*runs, "--out", str(tmp_path / "mine.html")], capsys)
    assert (tmp_path / "mine.html").read_text() == "<html>mine"
    assert "ends with .html" in refused([*runs, "--out", str(tmp_path / "page.txt")], capsys)
    assert "--top is 0" in refused([*runs, "--top", "0"], capsys)
    assert "There is no run directory" in refused([str(tmp_path / "nowhere")], capsys)
    out = ["--out", str(tmp_path / "new.html")]
    assert "51x51" in refused([*runs, "--suite", "perfect-xl", *out], capsys)
    assert "suite" in refused([*runs, "--suite", "none", *out], capsys)
    assert not (tmp_path / "new.html").exists()
    with pytest.raises(UserError, match="No runs were given"):
        write_page([], tmp_path / "new.html")


def test_what_the_page_cannot_do_is_refused(runs: list[str]) -> None:
    run = tutelage.load(runs[1])
    matrix = type("Run", (), {"directory": run.directory, "settings": tutelage.preset("matrix", "dr")})
    with pytest.raises(UserError, match=r"one of matrix, and a page has the rules of the maze only"):
        page_content.check(matrix)
    normal = tutelage.override(run.settings, {"ppo.normalise_observations": "true"})
    with pytest.raises(UserError, match="normalised observations"):
        page_content.check(type("Run", (), {"directory": run.directory, "settings": normal}))


# --- the page in the repository

DEMO = Path(__file__).parents[2] / "docs" / "demo" / "mazes.html"


def test_the_page_in_the_repository_has_the_web_files_as_they_are():
    """If this fails, a file of ``lab/web`` has changed since: ``make demo-page``."""
    assert DEMO.read_text(encoding="utf-8") == page_of(content_of(DEMO)), "run `make demo-page`"


def test_a_page_is_renewed_with_its_own_students(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    old = tmp_path / "old.html"
    text = DEMO.read_text(encoding="utf-8")
    old.write_text(text.replace("--paper:", "--formerly:"), encoding="utf-8")
    assert old.read_text(encoding="utf-8") != page_of(content_of(old))
    assert main(["page", "--refresh", "--out", str(old)]) == 0
    assert old.read_text(encoding="utf-8") == text
    (tmp_path / "other.html").write_text("<html></html>")
    assert main(["page", "--refresh", "--out", str(tmp_path / "other.html")]) == 2
    assert "was not made by `tutelage page`" in capsys.readouterr().err
    assert main(["page", "--out", str(old)]) == 2
    assert "Name the runs" in capsys.readouterr().err
