"""The documentation's site in a real browser, opened from disk with the network off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return out


@pytest.mark.parametrize("width", [1400, 390])
def test_search_works_from_disk(site: Path, pages: Callable[..., Any], width: int) -> None:
    page = pages(viewport={"width": width, "height": 900}, offline=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input" if width > 1000 else "label.md-header__button[for=__search]")
    page.keyboard.type("staleness")
    page.wait_for_selector(".md-search-result__item")
    assert "matching documents" in page.inner_text(".md-search-result__meta")
    assert any("search_index.js" in url for url in asked)
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["index", "quickstart", "differences", "api/settings", "examples/corridor.py"])
def test_pages_fit_their_window(site: Path, pages: Callable[..., Any], name: str, width: int) -> None:
    page = pages(viewport={"width": width, "height": 900}, offline=True)
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
