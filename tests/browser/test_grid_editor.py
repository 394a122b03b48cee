"""The grid editor, by mouse, touch and keyboard, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import ADDRESS

pytestmark = pytest.mark.browser

MAZE = """
#######
#>....#
#.##..#
#..G..#
#.....#
#.....#
#######
""".strip()


class Editor:
    """An editor on a page of its own."""

    def __init__(self, page: Any, address: str = ADDRESS, text: str = MAZE) -> None:
        self.page = page
        page.goto(address)
        page.evaluate(
            """async (text) => {
              const {createGridEditor} = await import("/grid-editor.js");
              const {MAZE} = await import("/palettes.js");
              window.calls = [];
              const onchange = (text, done) => calls.push(done);
              window.editor = createGridEditor(document.querySelector("main"), {...MAZE, text, onchange});
            }""",
            text,
        )
        self.canvas = page.locator("canvas.grid-canvas")

    @property
    def text(self) -> str:
        return self.page.evaluate("editor.getText()")

    @property
    def rows(self) -> list[str]:
        return self.text.split("\n")

    @property
    def status(self) -> str:
        return self.page.locator("[role=status]").text_content()

    def at(self, column: int, row: int) -> tuple[float, float]:
        box, side = self.canvas.bounding_box(), len(self.rows)
        unit = box["width"] / side
        return box["x"] + (column + 0.5) * unit, box["y"] + (row + 0.5) * unit

    def drag(self, *cells: tuple[int, int], button: str = "left") -> None:
        self.page.mouse.move(*self.at(*cells[0]))
        self.page.mouse.down(button=button)
        for cell in cells[1:]:
            self.page.mouse.move(*self.at(*cell))
        self.page.mouse.up(button=button)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


def test_mouse(pages: Callable[..., Any]) -> None:
    editor = Editor(pages())
    editor.drag((1, 4), (5, 4))  # one quick move: the cells between are drawn too
    assert editor.rows[4] == "#######"
    assert editor.page.evaluate("calls") == [False, False, True]
    editor.drag((3, 4), (4, 4))  # what starts on a wall erases
    assert editor.rows[4] == "###..##"
    editor.drag((2, 4), (2, 4), button="right")
    assert editor.rows[4] == "##...##"
    editor.drag((0, 0), (6, 0))  # the border stays
    assert editor.rows[0] == "#######"
    editor.drag((3, 3), (2, 2), (5, 5))  # the goal is carried, and destroys no walls on its way
    assert editor.rows[2:6] == ["#.##..#", "#.....#", "##...##", "#....G#"]
    editor.drag((1, 1))  # a click on the agent turns it
    assert editor.rows[1] == "#v....#"
    editor.drag((5, 5), (1, 1))  # the goal cannot be put onto the agent
    assert editor.rows[1] == "#v....#"
    assert editor.text.count("G") == 1
    editor.page.get_by_label("agent").check()
    editor.drag((4, 3))
    assert editor.rows[1] == "#.....#"
    assert editor.rows[3] == "#...>.#"

    final = editor.text
    while editor.page.get_by_role("button", name="Undo").is_enabled():
        editor.page.get_by_role("button", name="Undo").click()
    assert editor.text == MAZE
    while editor.page.get_by_role("button", name="Redo").is_enabled():
        editor.page.get_by_role("button", name="Redo").click()
    assert editor.text == final


def test_touch(pages: Callable[..., Any]) -> None:
    page = pages(has_touch=True, is_mobile=True, viewport={"width": 360, "height": 720})
    editor = Editor(page)
    page.touchscreen.tap(*editor.at(1, 4))
    assert editor.rows[4] == "##....#"
    finger = page.context.new_cdp_session(page)
    for kind, cell in (("touchStart", (2, 5)), ("touchMove", (4, 5)), ("touchEnd", None)):
        points = [dict(zip("xy", editor.at(*cell), strict=True))] if cell else []
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert editor.rows[5] == "#.###.#"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_keyboard(pages: Callable[..., Any]) -> None:
    editor = Editor(pages())
    editor.canvas.focus()
    editor.press("ArrowDown", "ArrowDown", "#", "ArrowRight", "Space")
    assert editor.rows[3] == "###G..#"
    assert editor.status == "Row 4, column 3: wall"
    editor.press("Space", "ArrowRight", "Delete")  # the goal can be moved, not erased
    assert editor.status == "The goal is here; move it away first."
    assert editor.rows[3] == "##.G..#"
    editor.press("ArrowRight", "g", "ArrowDown", "^", "r")
    assert editor.rows[1] == "#.....#"
    assert editor.rows[3:5] == ["##..G.#", "#...>.#"]
    editor.press("2", "Shift+ArrowDown", "Shift+ArrowLeft")
    assert editor.rows[5] == "#..##.#"
    editor.press("Control+z")
    assert editor.rows[5] == "#...#.#"
    editor.press("Control+Shift+z", *["ArrowUp"] * 9)
    assert editor.status.startswith("Row 2")  # the cursor stays inside
    editor.press("Tab")
    assert not editor.canvas.evaluate("canvas => canvas === document.activeElement")


def test_texts(pages: Callable[..., Any]) -> None:
    page = pages(permissions=["clipboard-read", "clipboard-write"])
    editor = Editor(page)
    page.get_by_role("button", name="Copy", exact=True).click()
    assert page.evaluate("navigator.clipboard.readText()") == MAZE
    page.evaluate("navigator.clipboard.writeText('####\\n#G>#\\n####')")
    editor.canvas.focus()
    editor.press("Control+v")
    assert editor.text == "####\n#G>#\n####"
    page.get_by_text("As text", exact=True).click()
    area = page.get_by_label("The maze as text")
    for wrong, says in (
        ("####\n#G>#\n###", "Row 3 has 3 cells and row 1 has 4"),
        ("####\n#GA#\n####", "Row 2, column 3 is 'A'"),
        ("####\n#GG#\n####", "There is a second goal in row 2, column 3"),
        ("####\n#G>.\n####", "the outer ring is all '#'"),
        ("", "Row 1 has 0 cells"),
    ):
        area.fill(wrong)
        page.get_by_role("button", name="Use this text").click()
        assert says in editor.status
        assert editor.text == "####\n#G>#\n####"
    area.fill(MAZE)
    page.get_by_role("button", name="Use this text").click()
    assert editor.text == MAZE


def test_links(pages: Callable[..., Any]) -> None:
    page = pages(permissions=["clipboard-read", "clipboard-write"])
    editor = Editor(page)
    page.get_by_role("button", name="Link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    assert "#level=" in link
    other = Editor(pages(), link, "####\n#G>#\n####")
    assert other.text == MAZE
    assert other.page.evaluate("calls") == []
    assert other.page.get_by_role("button", name="Undo").is_disabled()
    broken = Editor(pages(), link[:-5])
    assert broken.status.startswith("The link does not hold a whole level")
    assert broken.text == MAZE
    editor.page.evaluate("editor.destroy()")
    assert page.locator("main > *").count() == 0


def test_words_and_forms(pages: Callable[..., Any]) -> None:
    """Grids whose cells are words, with things that come in several forms."""
    page = pages()
    page.goto(ADDRESS)
    text = page.evaluate(
        """async () => {
          const {createGridEditor} = await import("/grid-editor.js");
          const palette = [
            {char: ".", name: "floor", colour: "--cell-floor"},
            {name: "key", shape: "disc", variants: [
              {char: "Kr", name: "red key", colour: "red"}, {char: "Kb", name: "blue key", colour: "blue"}]},
          ];
          window.editor = createGridEditor(document.querySelector("main"), {palette, words: true, rows: 2, cols: 3});
          editor.setText(".  Kr .\\n.  .  Kb");
          return editor.getText();
        }"""
    )
    assert text == ".  Kr .\n.  .  Kb"
    page.locator("canvas.grid-canvas").focus()
    for key in ("ArrowRight", "r", "ArrowDown", "2", "Space"):
        page.keyboard.press(key)
    assert page.evaluate("editor.getText()") == ".  Kb .\n.  Kb Kb"
