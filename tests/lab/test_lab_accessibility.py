"""Accessibility of the lab's page: names, contrast, sizes and focus; light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..browser.accessibility import focus_problems, problems
from ..browser.conftest import browser, pages
from .made_lab import Served

__all__ = ["browser", "pages"]  # fixtures
pytestmark = pytest.mark.browser


def test_the_lab(pages: Callable[..., Any], served: Served) -> None:
    for scheme in ("light", "dark"):
        page = pages(color_scheme=scheme)
        page.goto(served.address)
        page.wait_for_selector("canvas.grid-canvas")
        assert problems(page) == []
        assert focus_problems(page) == []
        page.set_viewport_size({"width": 360, "height": 800})
        assert problems(page) == []
