"""Accessibility of the pages: names, contrast, sizes, focus, motion; light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .accessibility import focus_problems, problems
from .conftest import ADDRESS

pytestmark = pytest.mark.browser

DEMO = Path(__file__).parents[2] / "docs" / "demo" / "mazes.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_static_page(pages: Callable[..., Any], scheme: str) -> None:
    page = pages(offline=True, color_scheme=scheme, reduced_motion="reduce")
    page.goto(DEMO.as_uri())
    page.get_by_text("As text", exact=True).click()
    assert problems(page) == []
    assert focus_problems(page) == []
    page.get_by_role("button", name="Empty").click()
    page.get_by_role("button", name="Step", exact=True).click()
    assert page.evaluate("getComputedStyle(document.getElementById('step')).transitionDuration") in ("0s", "")
    page.set_viewport_size({"width": 340, "height": 700})
    assert problems(page) == []


def test_what_is_wrong_is_found(pages: Callable[..., Any]) -> None:
    page = pages()
    page.goto(ADDRESS)
    page.evaluate(
        """() => {
          document.querySelector("main").innerHTML = `
            <h1>One</h1><h3>Three</h3><p style="color: #999; background: #fff">pale</p>
            <button></button><button style="border: 0; background: none">flat</button>
            <input style="width: 10px; min-height: 10px; padding: 0" aria-label="tiny"><a tabindex="3" href="#x">x</a>
            <p id="twice">a</p><p id="twice">b</p><div aria-labelledby="gone">c</div>
            <button style="outline: none" class="bare">bare</button>`;
          document.documentElement.style.setProperty("--cell-goal", "#eeeeee");
        }"""
    )
    found = "\n".join(problems(page))
    for part in (
        'p "pale": text contrast 2.85',
        "a button has no name",
        'button "flat": edge contrast 1.00',
        "smaller than 24 pixels",
        "a heading of level 3 follows one of 1",
        "its place in the focus order",
        "two elements have the id twice",
        "aria-labelledby=gone leads nowhere",
        "--cell-goal: contrast",
    ):
        assert part in found, found
    page.evaluate("document.querySelector('a').removeAttribute('tabindex')")
    assert any("bare: the focus is not to be seen" in problem for problem in focus_problems(page))
