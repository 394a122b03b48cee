"""The lab's page in a real browser: draw, watch, play, browse, follow, keep."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tutelage.lab.laboratory import Laboratory
from tutelage.runs.directory import RunDirectory

from ..browser.conftest import browser, pages
from .made_lab import PATIENCE, STRAIGHT, Served

__all__ = ["browser", "pages"]  # fixtures
pytestmark = pytest.mark.browser


class Page:
    """The lab on a page of its own."""

    def __init__(self, page: Any, served: Served) -> None:
        self.page, self.served = page, served
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(served.address)
        page.wait_for_selector("canvas.grid-canvas")
        self.scored(2)

    def scored(self, students: int) -> None:
        """Waits until so many students have an expected score."""
        self.page.wait_for_function(
            "n => document.querySelectorAll('#students td[data-episodes]').length === n", arg=students
        )

    def text(self) -> str:
        return self.page.locator(".grid-text textarea").input_value()

    def use(self, text: str) -> None:
        """Puts a level in as text."""
        page = self.page
        page.locator(".grid-text").evaluate("one => { one.open = true; }")
        page.locator(".grid-text textarea").fill(text)
        page.get_by_role("button", name="Use this text").click()
        page.wait_for_function(
            "n => [...document.querySelectorAll('#facts dd')].some(one => one.textContent === n)",
            arg="20 steps",
        )

    def facts(self) -> dict[str, str]:
        rows = self.page.locator("#facts > div")
        return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows.all()}

    def fact(self, name: str, value: str) -> None:
        """Waits until the page says so of the level."""
        self.page.wait_for_function(
            """([name, value]) => [...document.querySelectorAll("#facts > div")].some((row) =>
                 row.querySelector("dt").textContent === name && row.querySelector("dd").textContent === value)""",
            arg=[name, value],
        )

    def at(self, column: int, row: int) -> tuple[float, float]:
        box = self.page.locator("canvas.grid-canvas").bounding_box()
        return box["x"] + (column + 0.5) * box["width"] / 7, box["y"] + (row + 0.5) * box["height"] / 7

    def drag(self, *cells: tuple[int, int]) -> None:
        mouse = self.page.mouse
        self.page.locator("canvas.grid-canvas").evaluate("one => one.scrollIntoView({block: 'center'})")
        mouse.move(*self.at(*cells[0]))
        mouse.down()
        for cell in cells[1:]:
            mouse.move(*self.at(*cell), steps=4)
        mouse.up()


@pytest.fixture
def page(pages: Callable[..., Any], served: Served) -> Page:
    return Page(
        pages(viewport={"width": 1200, "height": 900}, permissions=["clipboard-read", "clipboard-write"]), served
    )


def seed_that_both_solve(lab: Laboratory, level: str) -> int:
    ids = [run["students"][0]["id"] for run in lab.describe({})["runs"]]
    for seed in range(200):
        episodes = [lab.episode({"student": one, "level": {"text": level}, "seed": seed}) for one in ids]
        if all(episode["solved"] and episode["length"] > 2 for episode in episodes):
            return seed
    raise AssertionError("no seed with which both students solve the level")


def test_draw_a_maze_and_watch_two_students_solve_it(page: Page, lab: Laboratory):
    view = page.page
    page.use(STRAIGHT)
    page.fact("Shortest path", "2 steps")
    # A wall between the agent and the goal, drawn with the mouse: the way leads around it.
    page.drag((3, 3), (3, 4))
    drawn = STRAIGHT.replace("#.>.G.#\n#.....#", "#.>#G.#\n#..#..#")
    page.fact("Shortest path", "6 steps")
    assert page.text() == drawn
    assert page.facts()["Solvable"] == "yes"
    page.scored(2)
    view.keyboard.press("Control+z")
    page.fact("Shortest path", "2 steps")
    assert page.text() == STRAIGHT
    page.scored(2)

    seed = seed_that_both_solve(lab, STRAIGHT)
    ids = [run["students"][0]["id"] for run in lab.describe({})["runs"]]
    expected = [lab.episode({"student": one, "level": {"text": STRAIGHT}, "seed": seed}) for one in ids]
    view.fill("#seed", str(seed))
    view.click("#watch")
    view.wait_for_function("() => document.querySelectorAll('.card .end.good').length === 2")
    cards = view.locator("#stage .card")
    for card, episode in zip(cards.all(), expected, strict=True):
        assert card.get_attribute("data-step") == str(episode["length"])
        said = card.locator(".end").inner_text()
        assert said.startswith(f"Solved after {episode['length']} steps: return {episode['return']:.3f}".rstrip("0"))
    assert view.locator(".card .view img").count() == 2
    # Step by step, both at once.
    view.locator("#time").evaluate("one => { one.value = 1; one.dispatchEvent(new Event('input')); }")
    view.click("#step")
    assert [card.get_attribute("data-step") for card in cards.all()] == ["2", "2"]
    view.click("#back")
    assert [card.get_attribute("data-step") for card in cards.all()] == ["1", "1"]
    shown = (
        cards.nth(0)
        .locator(".bars .share")
        .evaluate_all("all => all.map(one => one.style.getPropertyValue('--share'))")
    )
    assert [float(share) for share in shown] == pytest.approx(expected[0]["bars"][1])


def test_what_is_wrong_with_a_level_is_said(page: Page):
    page.use(STRAIGHT)
    page.page.locator(".grid-text textarea").fill(STRAIGHT.replace("G", "."))
    page.page.get_by_role("button", name="Use this text").click()
    page.page.wait_for_selector("#facts .bad")
    assert "The maze has 0 goals" in page.page.locator("#facts").inner_text()
    page.page.click("#watch")
    assert page.page.locator("#problem").inner_text() == "This level cannot be played; mend it first."


def test_copy_paste_and_link(page: Page, pages: Callable[..., Any], served: Served):
    view = page.page
    page.use(STRAIGHT)
    view.get_by_role("button", name="Copy", exact=True).click()
    view.wait_for_function("() => document.querySelector('.grid-status').textContent.startsWith('Copied')")
    assert view.evaluate("navigator.clipboard.readText()") == STRAIGHT
    view.get_by_role("button", name="Empty").click()
    page.fact("Blocks", "0")
    view.get_by_role("button", name="Paste").click()
    page.fact("Blocks", "2")
    assert page.text() == STRAIGHT
    view.get_by_role("button", name="Link").click()
    view.wait_for_function("() => location.hash.startsWith('#level=')")
    other = pages()
    other.goto(view.url)
    other.wait_for_selector("canvas.grid-canvas")
    assert other.locator(".grid-text textarea").input_value() == STRAIGHT


def test_another_size_and_repeats(page: Page):
    view = page.page
    page.use(STRAIGHT)
    view.get_by_label("Cells a side, with the border").fill("9")
    view.get_by_role("button", name="Resize").click()
    page.fact("Time limit", "162 steps")
    assert [len(row) for row in page.text().split("\n")] == [9] * 9
    view.fill("#repeats", "64")
    view.click("#repeat")
    view.wait_for_function("() => document.querySelectorAll('#students td[data-episodes=\"64\"]').length === 2")
    assert re.fullmatch(r"\d+% \(\d+–\d+%\)", view.locator("#students td[data-episodes]").first.inner_text())


def test_play_by_keyboard(page: Page):
    view = page.page
    page.use(STRAIGHT)
    view.click("#hand")
    view.wait_for_selector(".hand[data-step='0']")
    view.keyboard.press("ArrowLeft")
    view.wait_for_selector(".hand[data-step='1']")
    view.get_by_label("only what a student sees").check()
    assert view.locator(".hand img").nth(1).is_visible()
    assert not view.locator(".hand img").nth(0).is_visible()
    view.locator(".hand").focus()
    for step, key in enumerate(["ArrowRight", "ArrowUp", "w"], start=2):
        view.keyboard.press(key)
        if step < 4:
            view.wait_for_selector(f".hand[data-step='{step}']")
    view.wait_for_selector(".card[data-student='You']")
    view.locator("#time").evaluate("one => { one.value = one.max; one.dispatchEvent(new Event('input')); }")
    view.wait_for_selector(".card[data-student='You'] .end.good")
    assert "Solved after 4 steps: return 0.82" in view.locator(".card[data-student='You'] .end").inner_text()


def test_browse_a_family_and_open_a_level(page: Page, lab: Laboratory):
    view = page.page
    held = lab.buffer({"run": "0", "student": "0", "number": "24"})["levels"]
    known = {card["id"] for card in held}
    at = next(i for i, card in enumerate(held) if card["parent"] in known)
    view.click("#tab-browse")
    view.wait_for_selector("#buffer img")
    view.locator("#buffer li").nth(at).get_by_role("button", name="Lineage").click()
    view.wait_for_selector(".tree .this")
    assert view.locator(".tree .level-card").count() >= 2
    assert view.locator(".tree ul .level-card").count() >= 1
    view.locator(".tree .this").click()
    view.wait_for_selector("#bench:not([hidden]) canvas.grid-canvas")
    page.page.wait_for_function(
        "text => document.querySelector('.grid-text textarea').value === text", arg=held[at]["text"]
    )
    assert page.text() == held[at]["text"]


def test_students_that_differ_and_suites(page: Page):
    view = page.page
    view.click("#tab-browse")
    view.get_by_role("button", name="Search new levels").click()
    view.wait_for_selector("#differ .level-card")
    view.get_by_label("Suite", exact=True).select_option("perfect-s")
    view.wait_for_selector("#tests img")
    view.get_by_role("button", name="Under its own rules").first.click()
    page.fact("Held-out test", "PerfectMaze-S")
    page.fact("Time limit", "242 steps")


def test_recorded_tests_have_pictures(page: Page, runs: tuple[Path, Path]):
    line = {"iteration": 1, "steps": 160, "suite": "mine", "seed": 0, "student": 0, "greedy": False}
    for run, rates in zip(runs, ((0.9, 0.5), (0.1, 0.6)), strict=True):
        tasks = {
            name: {"solved": rate, "return": rate, "episodes": 9}
            for name, rate in zip(("FourRooms", "of a file"), rates, strict=True)
        }
        RunDirectory(run).append("evaluations.jsonl", [line | {"solved": 0.5, "return": 0.5, "tasks": tasks}])
    view = page.page
    view.click("#tab-browse")
    view.get_by_role("button", name="By recorded tests").click()
    card = view.locator("#differ .level-card", has_text="FourRooms (mine)")
    card.locator("img").wait_for()
    assert {"accel: 90%", "dr: 10%"} <= set(card.locator("span").all_inner_texts())
    # A level that nobody can draw: no picture, and the page says why when it is opened.
    assert view.locator("#differ .level-card", has_text="of a file").locator("img").count() == 0
    card.click()
    page.fact("Held-out test", "FourRooms")


def test_follow_a_run(page: Page, runs: tuple[Path, Path]):
    view = page.page
    view.click("#tab-live")
    view.wait_for_selector(".chart path.line", state="attached")
    assert view.locator("#newest .level-card").count() > 0 or view.wait_for_selector("#newest .level-card")
    RunDirectory(runs[0]).append(
        "metrics.jsonl", [{"iteration": 29, "steps": 7_777_777, "solved": 0.25, "return": 0.5}]
    )
    view.wait_for_selector("tr[data-run='0'] td:has-text('7,777,777')")
    assert "training" in view.locator("tr[data-run='0']").inner_text()


def test_keep_a_level(page: Page, lab: Laboratory):
    view = page.page
    page.use(STRAIGHT)
    view.fill("#keep-name", "From the <b>page</b>")
    view.fill("#keep-comment", "hard & easy")
    view.get_by_role("button", name="Save").click()
    view.wait_for_function("() => document.querySelector('#keep-said').textContent.startsWith('Kept.')")
    entry = lab.keeper.entries()[-1]
    assert (entry.name, entry.comment, entry.text) == ("From the <b>page</b>", "hard & easy", STRAIGHT)
    view.click("#tab-browse")
    view.wait_for_selector("#kept .level-card")
    assert "From the <b>page</b>" in view.locator("#kept").inner_text()
    card = view.locator("#kept .level-card", has_text="From the <b>page</b>")
    card.locator("img").wait_for()
    card.click()
    view.wait_for_selector("#bench:not([hidden]) canvas.grid-canvas")
    page.fact("Shortest path", "2 steps")


def test_names_of_files_are_no_markup(page: Page):
    assert page.page.locator("#students img, #subtitle img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_and_a_finger(pages: Callable[..., Any], served: Served, scheme: str):
    view = pages(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, color_scheme=scheme)
    page = Page(view, served)
    page.use(STRAIGHT)
    view.locator("canvas.grid-canvas").scroll_into_view_if_needed()
    view.touchscreen.tap(*page.at(3, 5))
    page.fact("Blocks", "3")
    view.get_by_role("button", name="Watch", exact=True).click()
    view.wait_for_selector(".card img.frame[src]")
    for tab in ("#tab-browse", "#tab-live", "#tab-bench"):
        view.click(tab)
        assert view.evaluate("document.documentElement.scrollWidth") <= 360, tab


def test_by_keyboard_alone(page: Page):
    view = page.page
    view.focus("#tab-bench")
    view.keyboard.press("ArrowRight")
    assert view.evaluate("document.activeElement.id") == "tab-browse"
    assert view.locator("#browse").is_visible()
    view.keyboard.press("ArrowLeft")
    assert view.locator("#bench").is_visible()
    unnamed = view.evaluate(
        """[...document.querySelectorAll("#bench button, #bench input, #bench select, #bench textarea")]
             .filter((one) => one.offsetParent && !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
             .map((one) => one.outerHTML)"""
    )
    assert unnamed == []
