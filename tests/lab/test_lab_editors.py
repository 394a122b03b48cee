"""The lab's other editors in a real browser: tracks, sliders, forms of JSON, and other grids than mazes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import tutelage
from tutelage.envs.racing.level import from_text
from tutelage.hosts.fleet import close_all
from tutelage.lab.laboratory import Laboratory
from tutelage.lab.opening import directories, opened
from tutelage.runs.directory import RunDirectory

from ..browser.conftest import browser, pages
from ..envs.racing.tiny import TINY
from .made_lab import PATIENCE, served_lab

__all__ = ["browser", "pages"]  # fixtures
pytestmark = pytest.mark.browser

CORRIDOR = Path(__file__).parents[2] / "examples" / "corridor.py"
NO_REPLAY = {name: value for name, value in TINY.items() if not name.startswith("replay.")}
RUNS: dict[str, tuple[str, str | None, dict[str, str]]] = {
    "racing": ("racing", "thesis-ice", NO_REPLAY),
    "walker": ("walker", None, {"env.workers": "1", "env.max_steps": "12", "network.head": "8"}),
    "fruit": ("fruit", "fast", {"env.max_steps": "20", "env.size": "13", "env.rooms": "2"}),
    "lava": ("lava", None, {"env.size": "5", "env.tiles": "6"}),
    "minigrid": ("minigrid", None, {}),
    "corridor": ("corridor", None, {}),
}

ON_THE_ROAD = """road => {
  const at = road.getPointAtLength(road.getTotalLength() / 3).matrixTransform(road.getScreenCTM());
  return [at.x, at.y];
}"""
"""A place on the screen that is a third of the way around."""

Open = Callable[[str], AbstractContextManager[Any]]


@pytest.fixture
def open_lab(pages: Callable[..., Any], tmp_path: Path) -> Iterator[Open]:
    """A page of the lab with one student that was not trained, of an environment."""

    @contextmanager
    def open_lab(name: str) -> Iterator[Any]:
        environment, preset, changes = RUNS[name]
        if name == "corridor":
            environment = str(shutil.copy(CORRIDOR, tmp_path / "corridor.py"))
        settings = tutelage.preset(environment, "dr", preset) if preset else tutelage.preset(environment, "dr")
        RunDirectory.create(tmp_path / name, tutelage.override(settings, changes))
        lab = Laboratory(opened(directories([str(tmp_path / name)]), pytest.fail), tmp_path / "kept.txt")
        with served_lab(lab) as served:
            page = pages(viewport={"width": 1200, "height": 1000}, permissions=["clipboard-read", "clipboard-write"])
            page.set_default_timeout(1000 * PATIENCE)
            page.goto(served.address)
            page.wait_for_selector("#facts dd")
            page.wait_for_selector("#students td[data-episodes]")
            yield page
            page.close()  # before the server does

    yield open_lab
    close_all()


def text(page: Any) -> str:
    return page.locator(".grid-text textarea").input_value()


def becomes_other(page: Any, before: str) -> str:
    """Waits until the level is another one."""
    page.wait_for_function("before => document.querySelector('.grid-text textarea').value !== before", arg=before)
    return text(page)


def drag(page: Any, start: tuple[float, float], *to: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    for place in to:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def middle(element: Any) -> tuple[float, float]:
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def watched(page: Any) -> None:
    """The student plays the level that is there."""
    page.click("#watch")
    page.wait_for_selector("#stage .card[data-step]")
    assert page.locator("#problem").is_hidden()


def test_drag_a_control_point_and_paint_ice(open_lab: Open) -> None:
    with open_lab("racing") as page:
        page.locator("svg.track").scroll_into_view_if_needed()
        before, road = text(page), page.locator(".track .road").get_attribute("d")
        x, y = middle(page.locator(".track circle").first)
        drag(page, (x, y), (x + 30, y + 25))
        moved = becomes_other(page, before)
        # This one and no other. A track's points are sorted around their mean, so they may start elsewhere now.
        points = [{tuple(point) for point in from_text(one).points.tolist()} for one in (before, moved)]
        assert len(points[0] - points[1]) == len(points[1] - points[0]) == 1
        assert page.locator(".track .road").get_attribute("d") != road

        page.get_by_role("button", name="No ice").click()
        page.wait_for_function("() => document.querySelector('.grid-text textarea').value.endsWith('ice: none')")
        dry = text(page)
        page.get_by_label("Paint ice").check(force=True)
        x, y = page.locator(".track .road").evaluate(ON_THE_ROAD)
        drag(page, (x, y), (x + 6, y + 6))
        icy = becomes_other(page, dry)
        painted = sum(word.bit_count() for word in from_text(icy).ice.tolist())
        assert 0 < painted < 100
        assert (from_text(icy).points == from_text(dry).points).all()
        page.get_by_label("Wipe ice").check(force=True)
        drag(page, (x, y), (x + 6, y + 6))
        assert becomes_other(page, icy) == dry
        page.get_by_role("button", name="Undo").click()
        assert becomes_other(page, dry) == icy
        # By keyboard, too.
        page.locator(".track circle").nth(1).focus()
        page.keyboard.press("ArrowUp")
        becomes_other(page, icy)
        watched(page)


def test_a_slider_redraws_the_terrain(open_lab: Open) -> None:
    with open_lab("walker") as page:
        terrain = "() => document.querySelector('img.terrain').src"
        low, high = page.get_by_label("stump height low"), page.get_by_label("stump height high")
        high.fill("0")  # the lower bound follows; what the level had is drawn at random
        page.wait_for_function("() => document.querySelector('#facts dd')")
        assert float(low.input_value()) == 0.0
        before, picture = text(page), page.evaluate(terrain)
        low.fill("3")  # and so does the upper one
        assert float(high.input_value()) == 3.0
        page.wait_for_function("() => document.querySelector('.grid-text textarea').value.includes('stumps 3 to 3')")
        page.wait_for_function("before => document.querySelector('img.terrain').src !== before", arg=picture)
        assert text(page) != before

        picture = page.evaluate(terrain)
        page.get_by_label("Seed of the terrain").fill("7")
        page.get_by_label("Seed of the terrain").press("Enter")
        page.wait_for_function("before => document.querySelector('img.terrain').src !== before", arg=picture)
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function("before => document.querySelector('img.terrain').src === before", arg=picture)
        page.wait_for_function(
            "() => /challenging$/.test(document.querySelector('#facts dd').textContent)"
        )  # stumps of 3
        watched(page)
        assert page.locator(".card .view img").count() == 1
        # A person moves the joints: time goes on while keys are held.
        page.click("#hand")
        page.wait_for_selector(".hand[data-step]")
        page.keyboard.down("q")
        page.wait_for_selector(".card[data-student='You']")
        page.keyboard.up("q")


def test_a_form_of_json(open_lab: Open) -> None:
    with open_lab("corridor") as page:
        before = text(page)
        door, start = page.get_by_label("door (int32)"), page.get_by_label("start (int32)")
        start.fill("2")
        door.fill("15")
        door.press("Tab")
        page.wait_for_function("() => document.querySelector('#facts dd').textContent === '13'")  # the distance
        assert becomes_other(page, before) == '{"door": 15, "start": 2}'
        for wrong, sentence in [
            ("1.5", "The level's 'door' is not int32[]; give numbers of this shape and type."),
            ("[1", "The field 'door' is not JSON; write a number, or a list of numbers in square brackets."),
        ]:
            door.fill(wrong)
            door.press("Tab")
            page.wait_for_function(
                "said => document.querySelector('#facts .bad dd')?.textContent === said", arg=sentence
            )
            assert door.input_value() == wrong  # to be mended, not lost
            page.click("#watch")
            assert page.locator("#problem").inner_text() == "This level cannot be played; mend it first."
        door.fill("4")
        door.press("Tab")
        page.wait_for_function("() => document.querySelector('#facts dd').textContent === '2'")
        watched(page)


def use(page: Any, given: str) -> None:
    """Puts a level in as text."""
    page.locator(".grid-text").evaluate("one => { one.open = true; }")
    page.locator(".grid-text textarea").fill(given)
    page.get_by_role("button", name="Use this text").click()


def said(page: Any, name: str, value: str) -> None:
    """Waits until the page says so of the level."""
    page.wait_for_function(
        """([name, value]) => [...document.querySelectorAll("#facts > div")].some((row) =>
             row.querySelector("dt").textContent === name && row.querySelector("dd").textContent === value)""",
        arg=[name, value],
    )


def cell(page: Any, side: int, column: int, row: int) -> tuple[float, float]:
    box = page.locator("canvas.grid-canvas").bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / side, box["y"] + (row + 0.5) * box["height"] / side


def test_lava_between_the_start_and_the_goal(open_lab: Open) -> None:
    with open_lab("lava") as page:
        assert page.locator(".tool").all_inner_texts() == ["Floor", "Lava", "Wall", "Start", "Goal"]
        use(page, "\n".join([".....", ".....", "<...>", ".....", "....."]))
        said(page, "Shortest path", "4 steps")
        said(page, "Lava", "0")
        page.get_by_role("radio", name="Lava").check(force=True)
        page.locator("canvas.grid-canvas").evaluate("one => one.scrollIntoView({block: 'center'})")
        drag(page, cell(page, 5, 2, 0), cell(page, 5, 2, 3))
        said(page, "Lava", "4")
        said(page, "Solvable", "yes")
        said(page, "Path of four directions", "8")
        page.mouse.click(*cell(page, 5, 2, 4))
        said(page, "Solvable", "no")
        said(page, "Shortest path", "none")
        assert text(page).splitlines()[0] == "..}.."
        page.get_by_role("button", name="Undo").click()
        said(page, "Solvable", "yes")
        watched(page)
        assert page.locator(".card .view img").count() == 1
        page.click("#hand")
        page.wait_for_selector(".hand[data-step='0']")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".hand[data-step='1']")


def test_a_locked_door_between_the_rooms(open_lab: Open) -> None:
    with open_lab("minigrid") as page:
        side = len(text(page).splitlines())
        rows = [["#"] * side for _ in range(side)]
        rows[1][1:8] = [">", ".", "Dr", ".", ".", ".", "G"]
        use(page, "\n".join(" ".join(row) for row in rows))
        said(page, "Shortest path", "6 steps")
        said(page, "Fewest actions", "7")  # the door is opened first
        said(page, "Rooms", "2")
        facts = page.locator("#facts dt").all_inner_texts()
        assert not [name for name in facts if name.startswith("Rooms ")]  # shares of many levels
        page.get_by_label("Locked door").check(force=True)
        page.locator("canvas.grid-canvas").evaluate("one => one.scrollIntoView({block: 'center'})")
        page.mouse.click(*cell(page, side, 3, 1))
        said(page, "Solvable", "no")
        assert text(page).splitlines()[1].split()[3].startswith("L")
        page.get_by_role("button", name="Undo").click()
        said(page, "Solvable", "yes")
        watched(page)
        assert page.locator(".card .view img").count() == 1


def test_fruit_has_a_palette(open_lab: Open) -> None:
    with open_lab("fruit") as page:
        names = page.locator(".tool").all_inner_texts()
        assert names == ["Floor", "Wall", "Rock", "Locked door", "Start", "Apple", "Banana"]
        rows = text(page).splitlines()
        side = len(rows)
        at = next((x, y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell in "aA")
        box = page.locator("canvas.grid-canvas").bounding_box()
        unit = box["width"] / side
        before = text(page)
        assert ("A" in before) != ("B" in before)
        # A click on the apple turns it, and the banana with it: only one of them pays.
        page.mouse.click(box["x"] + (at[0] + 0.5) * unit, box["y"] + (at[1] + 0.5) * unit)
        assert becomes_other(page, before) == before.translate(str.maketrans("aAbB", "AaBb"))
        page.wait_for_selector("#facts dd:not(.bad)")
        said(page, "Solvable", "yes")
        said(page, "Paying fruit", "banana" if "B" in text(page) else "apple")
        page.get_by_label("Locked door").check(force=True)
        x, y = next((x, y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell == ".")
        page.mouse.click(box["x"] + (x + 0.5) * unit, box["y"] + (y + 0.5) * unit)
        page.wait_for_function("() => document.querySelector('.grid-text textarea').value.includes('+')")
        page.get_by_role("button", name="Undo").click()
        watched(page)
        assert page.locator(".card .view img").count() == 1
