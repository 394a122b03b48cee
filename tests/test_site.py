"""The documentation's site: links as they are written for the repository, nothing from a network, a complete API."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import tutelage

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "website"))  # hooks are files that MkDocs loads by their path
links, navigation, offline = (importlib.import_module(name) for name in ("links", "navigation", "offline"))
sys.path.pop(0)


@pytest.mark.parametrize(
    ("here", "written", "on_the_site"),
    [
        ("README.md", "[m](docs/maze.md#suites)", "[m](maze.md#suites)"),
        ("README.md", "[![p](docs/demo/mazes.png)](docs/page.md)", "[![p](demo/mazes.png)](page.md)"),
        ("README.md", '<img src="docs/demo/mazes.png">', '<img src="demo/mazes.png">'),
        ("README.md", "[l](LICENSE)", "[l](LICENSE.md)"),
        ("docs/environments.md", "[c](../examples/corridor.py)", "[c](examples/corridor.py.md)"),
        (
            "docs/devices.md",
            "[b](../benchmarks/README.md#one-device-and-two)",
            "[b](benchmarks/README.md#one-device-and-two)",
        ),
        ("docs/decisions/README.md", "[b](../../benchmarks/README.md)", "[b](../benchmarks/README.md)"),
        ("docs/methods/dr.md", "[m](../maze.md)", "[m](../maze.md)"),
        ("benchmarks/README.md", "[f](fast.md) [g](../docs/fast.md)", "[f](fast.md) [g](../fast.md)"),
        ("README.md", "[x](https://a.org/docs/maze.md) [y](#methods)", "[x](https://a.org/docs/maze.md) [y](#methods)"),
        (
            "README.md",
            "`[m](docs/maze.md)`\n\n    [m](docs/maze.md)\n",
            "`[m](docs/maze.md)`\n\n    [m](docs/maze.md)\n",
        ),
    ],
)
def test_links_lead_to_the_same_place(here: str, written: str, on_the_site: str) -> None:
    assert links.relinked(written, ROOT / here) == on_the_site


def test_what_is_linked_to_is_on_the_site() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in links.reached()}
    assert {"README.md", "CHANGELOG.md", "LICENSE", "benchmarks/README.md", "benchmarks/growth.png"} <= found
    assert "examples/corridor.py" in found
    assert "reset(key, level)" in links.shown(ROOT / "examples" / "corridor.py")
    assert len({links.address(ROOT / name) for name in found}) == len(found)


def test_a_folder_of_the_navigation_is_its_pages() -> None:
    entries = navigation.expanded([{"Why": ["decisions/*"]}, "maze.md"], ROOT / "docs")
    assert entries[0]["Why"][0] == "decisions/README.md"
    assert "decisions/trust.md" in entries[0]["Why"]
    assert entries[1] == "maze.md"


@pytest.mark.parametrize(
    ("page", "loaded"),
    [
        ('<script src="https://a.org/x.js"></script>', ["https://a.org/x.js"]),
        ('<link rel="stylesheet" href="//a.org/x.css">', ["//a.org/x.css"]),
        ('<link rel="preconnect" href="https://a.org">', ["https://a.org"]),
        ('<img src="x.png" srcset="x.png 1x, https://a.org/x.png 2x">', ["https://a.org/x.png"]),
        ("<style>@import 'https://a.org/x.css'; p {background: url(x.png)}</style>", ["https://a.org/x.css"]),
        ('<p style="background: url(https://a.org/x.png)">', ["https://a.org/x.png"]),
        ('<a href="https://a.org">a</a><link rel="canonical" href="https://a.org"><code>url(https://a.org)</code>', []),
        ('<img src="data:image/png;base64,AA"><script src="assets/x.js"></script>', []),
    ],
)
def test_what_a_page_loads_from_a_network(page: str, loaded: list[str]) -> None:
    assert offline.loads(page) == loaded


def test_foreign_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<img src="https://a.org/x.png">')
    (tmp_path / "b.css").write_text("@font-face {src: url('https://a.org/x.woff2')}")
    (tmp_path / "c.html").write_text('<a href="https://a.org/">')
    assert offline.foreign(tmp_path) == {"a.html": ["https://a.org/x.png"], "b.css": ["https://a.org/x.woff2"]}


def test_the_api_reference_has_every_public_name() -> None:
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    named = re.findall(r"^::: tutelage\.(\w+)$", text, re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(dir(tutelage)) <= set(named)
