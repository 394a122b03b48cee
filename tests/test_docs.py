"""What the documentation says can be run, runs; what it links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tutelage.algorithms import METHODS
from tutelage.envs.registry import ENVIRONMENTS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("name", ["docs/python.md", "docs/level-buffer.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    code = compile("\n".join(blocks), name, "exec")
    exec(code, {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_name_what_exists(page: Path) -> None:
    for environment, method in re.findall(r"tutelage train (\w+) ([\w-]+)", page.read_text()):
        assert environment in ENVIRONMENTS
        assert method in METHODS
