"""The page of `tutelage page` in a real browser, opened from disk with the network off."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tutelage
from tutelage.evaluation.record import record
from tutelage.runs.directory import RunDirectory

pytestmark = pytest.mark.browser

DEMO = Path(__file__).parents[2] / "docs" / "demo" / "mazes.html"


def content_of(page: Path) -> Any:
    (text,) = re.findall(r'id="content">(.*?)</script>', page.read_text())
    return json.loads(text)


def opened(pages: Callable[..., Any], path: Path, hash: str = "", **options: Any) -> Any:
    page = pages(offline=True, **options)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri() + hash)
    page.asked = asked
    return page


# --- against Python


def trained(params: Any) -> Any:
    """The weights of the demo's first student, as its page reads them."""
    weights = content_of(DEMO)["students"][0]["weights"]
    data = base64.b64decode(weights["data"])
    found = {}
    for array in weights["arrays"]:
        shape, kind = array["shape"], "<f4" if array["scales"] is None else "<i2"
        values = np.frombuffer(data, kind, int(np.prod(shape)), array["offset"]).reshape(shape).astype(np.float32)
        scales = 1 if array["scales"] is None else np.frombuffer(data, "<f4", shape[-1], array["scales"])
        found[array["name"]] = values * scales
    named = jax.tree_util.tree_map_with_path(
        lambda path, _: found[jax.tree_util.keystr(path, simple=True, separator="/")], params["params"]
    )
    return {"params": named}


def drawn(params: Any) -> Any:
    rng = np.random.default_rng(1)
    return jax.tree.map(lambda x: rng.normal(0, 0.5, x.shape).astype(x.dtype), params)


LSTM = {"network.core": "lstm", "network.width": "24", "network.activation": "tanh", "encoder.filters": "4"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, str]]]:
    """A page of a trained GRU and of an LSTM with random weights, and the actions that Python takes."""
    path, expected = tmp_path_factory.mktemp("page"), {}
    for seed, (changes, weights) in enumerate([({}, trained), (LSTM, drawn)]):
        settings = tutelage.override(tutelage.preset("maze", "dr", "fast"), {"train.seed": str(seed), **changes})
        state = tutelage.build(settings).init(seed)
        students = state.students
        # With the axis of students, of which there is one. The product is the average.
        params = weights(jax.tree.map(lambda x: x[0], students.agent.params))
        average = students.average._replace(params=jax.tree.map(lambda x: np.asarray(x)[None], params))
        directory = RunDirectory.create(path / str(seed), settings)
        state = state._replace(students=students._replace(average=average), iteration=state.iteration + 1)
        directory.save_checkpoint(1, state, {})
        run = tutelage.load(path / str(seed))
        tasks = run.domain.suites["all"].tasks
        actions = {task.name: record(run.agent, run.student(), task, greedy=True).actions.tolist() for task in tasks}
        expected[f"dr, seed {seed}"] = {task: "".join(map(str, taken)) for task, taken in actions.items()}
    out = tutelage.write_page([path / "0", path / "1"], path / "page.html", say=lambda _: None)
    return out, expected


def test_greedy_actions_are_those_of_record_on_every_maze(pages: Callable[..., Any], made: Any, tmp_path: Path) -> None:
    path, expected = made
    page = opened(pages, path)
    content = content_of(path)
    assert {student["label"]: student["actions"] for student in content["students"]} == expected
    assert expected["dr, seed 0"] == content_of(DEMO)["students"][0]["actions"]  # trained, so it turns and walks
    assert all({"0", "1", "2"} <= set(actions) for actions in expected["dr, seed 0"].values())
    page.get_by_role("button", name="Check against Python").click()
    total = sum(map(len, (actions for mazes in expected.values() for actions in mazes.values())))
    assert page.locator("#checked").text_content() == (
        f"28 episodes, {total:,} actions: each is the one that Python takes."
    )
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []

    # The check can fail: another last action is noticed.
    actions = content["students"][1]["actions"]["Maze"]
    wrong = actions[:-1] + str((int(actions[-1]) + 1) % 7)
    (tmp_path / "wrong.html").write_text(path.read_text().replace(f'"Maze":"{actions}"', f'"Maze":"{wrong}"'))
    page = opened(pages, tmp_path / "wrong.html")
    page.get_by_role("button", name="Check against Python").click()
    says = page.locator("#checked").text_content()
    assert says == f"Not the same: dr, seed 1 in Maze, from step {len(actions)} on."


def test_steps_are_shown_as_they_were_recorded(pages: Callable[..., Any], made: Any) -> None:
    """Through the page's buttons: what each student is about to do is what Python does."""
    path, expected = made
    page = opened(pages, path)
    page.get_by_label("Actions").select_option("likeliest")
    names = ["left", "right", "forward", *["other"] * 4]
    for t in range(12):
        chosen = page.locator(".card .chosen").all_text_contents()
        assert chosen == [names[int(mazes["SixteenRooms"][t])] for mazes in expected.values()]
        page.get_by_role("button", name="Step", exact=True).click()
    assert page.locator("#clock").text_content() == "Step 12 of 450"


# --- the page in the repository, with trained students


def test_the_demo_was_made_by_trained_students(pages: Callable[..., Any]) -> None:
    assert DEMO.stat().st_size < 1_500_000
    page = opened(pages, DEMO)
    page.get_by_role("button", name="Check against Python").click()
    assert page.locator("#checked").text_content().endswith("each is the one that Python takes.")


def test_draw_and_watch(pages: Callable[..., Any]) -> None:
    page = opened(
        pages, DEMO, permissions=["clipboard-read", "clipboard-write"], viewport={"width": 1280, "height": 900}
    )
    page.get_by_text("As text", exact=True).click()
    page.get_by_label("The maze as text").fill("#######\n#>....#\n#.....#\n#.....#\n#....G#\n#.....#\n#######")
    page.get_by_role("button", name="Use this text").click()
    facts = page.locator("#facts")
    assert facts.text_content().startswith("Solvable. The shortest path has 7 moves; with turns it takes 8 actions.")

    canvas = page.locator("canvas.grid-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    unit = box["width"] / 7
    page.mouse.move(box["x"] + 1.5 * unit, box["y"] + 3.5 * unit)
    page.mouse.down()
    page.mouse.move(box["x"] + 5.5 * unit, box["y"] + 3.5 * unit)
    page.mouse.up()
    assert facts.text_content() == "Not solvable: walls are between the agent and the goal. 5 blocks."
    page.get_by_role("button", name="Undo").click()
    assert facts.text_content().startswith("Solvable.")

    page.locator("#speed").fill("6")
    page.get_by_role("button", name="Play").click()
    page.locator(".verdict.good").nth(1).wait_for()
    assert re.match(r"Reached the goal in \d+ steps: return 0\.\d\d\.", page.locator(".verdict").first.text_content())
    page.get_by_role("button", name="Play", exact=True).wait_for()
    assert "Reached the goal" in page.locator("#outcome").text_content()

    page.get_by_role("button", name="Play").click()  # again, from the start
    page.get_by_role("button", name="Restart").click()
    assert page.locator("#clock").text_content() == "Step 0 of 450"
    page.get_by_label("Step limit").fill("3")
    page.get_by_label("Step limit").press("Enter")
    for _ in range(4):
        page.get_by_role("button", name="Step", exact=True).click()
    assert page.locator("#clock").text_content() == "Step 3 of 3"
    assert page.locator(".verdict.bad").first.text_content() == "Not there after 3 steps: return 0."
    page.get_by_role("button", name="Link").click()
    link = page.url
    other = opened(pages, DEMO, "#" + link.partition("#")[2])
    other.get_by_text("As text", exact=True).click()
    assert other.get_by_label("The maze as text").input_value() == page.get_by_label("The maze as text").input_value()


def test_mazes_to_choose_from(pages: Callable[..., Any]) -> None:
    page = opened(pages, DEMO)
    text = lambda: page.locator(".grid-text textarea").input_value()  # noqa: E731
    seen = {text()}
    for name in ("Random", "Empty", "Perfect"):
        page.get_by_role("button", name=name, exact=True).click()
        seen.add(text())
        assert len(text().split("\n")) == 15
        assert text().count("G") == 1
    page.get_by_label("Size").select_option("19")
    page.get_by_role("button", name="Perfect", exact=True).click()
    assert len(text().split("\n")) == 21
    assert page.locator("#facts").text_content().startswith("Solvable.")
    page.get_by_role("button", name="FourRooms").click()
    assert page.get_by_label("Step limit").input_value() == "100"
    assert not page.get_by_label("Walls do not block the view").is_checked()
    shelf = page.get_by_label("Show")
    best = [label for label in shelf.locator("option").all_text_contents() if label.startswith("best levels of accel")]
    shelf.select_option(best[0])
    page.get_by_role("button", name="#1 score").click()
    assert text() not in seen
    assert page.get_by_label("Step limit").input_value() == "250"


def test_narrow_and_dark(pages: Callable[..., Any]) -> None:
    page = opened(
        pages, DEMO, viewport={"width": 340, "height": 700}, is_mobile=True, has_touch=True, color_scheme="dark"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 340
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_role("button", name="Theme: auto").click()
    light = page.evaluate(background)
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(background) == dark != light
