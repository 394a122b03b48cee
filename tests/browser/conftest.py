"""The system's own Chromium, driven by Playwright. Without one these tests are skipped, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tutelage

WEB = Path(tutelage.__file__).parent / "lab" / "web"
ADDRESS = "https://pages.test"
"""Where `pages` shows the files of `WEB`. No server is there: the browser is answered before it asks the network."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_EMPTY = """<!doctype html><html lang="en"><title>test</title><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="base.css"><main></main>"""
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser with a new profile, for the whole session. Contexts are a test's own."""
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"There is no browser here ({', '.join(_NAMES)}); install Chromium to run these tests.")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright, which drives the browser, is missing.")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def pages(browser: Any) -> Iterator[Callable[..., Any]]:
    """Makes pages with options of ``new_context``. An error on any of them fails the test."""
    contexts, problems = [], []

    def make(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        context.route(f"{ADDRESS}/**", _answer)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert problems == []


def _answer(route: Any) -> None:
    """A file of `WEB`; `/` is an empty page to try modules on."""
    name = route.request.url.removeprefix(ADDRESS).partition("?")[0].strip("/")
    if not name:
        route.fulfill(body=_EMPTY, content_type="text/html")
    elif (WEB / name).is_file():
        route.fulfill(body=(WEB / name).read_bytes(), content_type=_KINDS[Path(name).suffix])
    else:
        route.fulfill(status=204)
