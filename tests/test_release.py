"""What a release promises: one version, a package with what its help and README name, a call for every command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import tutelage
from tutelage.cli import main
from tutelage.cli.commands import COMMANDS
from tutelage.errors import UserError
from tutelage.runs import grid

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tutelage.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version_everywhere():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    releases = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[:2] == ["Unreleased", version]
    assert releases[-1] == "0.1.0"


def test_python_says_the_version_as_well():
    assert tutelage.__version__ == PROJECT["version"]


def test_the_date_of_the_release_is_that_of_the_citation():
    (day,) = re.findall(r"^date-released: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert f"## {PROJECT['version']} - {day}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_pages_that_messages_name_are_in_the_package():
    sources = [file.read_text() for file in PACKAGE.rglob("*.py")]
    named = {page for source in sources for page in re.findall(r"\bdocs/[a-z/-]+\.md", source)}
    assert named
    assert not [page for page in named if not (PACKAGE / page).is_file()]
    assert (PACKAGE / "examples" / "sb3.py").is_file()


def test_help_says_where_they_are(capsys: pytest.CaptureFixture[str]):
    assert main(["--help"]) == 0
    assert f"docs, examples and studies are in {PACKAGE}." in capsys.readouterr().out


def test_studies_that_come_along_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert grid.read("studies/maze-small.toml").text == (ROOT / "studies" / "maze-small.toml").read_text()
    with pytest.raises(UserError, match=r"no-such\.toml"):
        grid.read("studies/no-such.toml")
    (tmp_path / "studies").mkdir()  # one's own counts first
    own = (ROOT / "studies" / "maze-small.toml").read_text() + "\n# mine\n"
    (tmp_path / "studies" / "maze-small.toml").write_text(own)
    assert grid.read("studies/maze-small.toml").text == own


CALLS = {
    "eval": "Run.evaluate",
    "show": "load",
    "levels": "Run",
    "report": "write_report",
    "page": "write_page",
}
"""Of commands whose call has another name."""
COMMANDS_ALONE = {"reproduce", "lab", "check", "methods", "envs"}


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - COMMANDS_ALONE))
def test_a_verb_is_a_call_as_well(command: str):
    found: object = tutelage
    for part in CALLS.get(command, command).split("."):
        found = getattr(found, part)
    assert callable(found)
    assert found.__doc__


def test_metrics_from_python():
    (figure,) = tutelage.metrics("replayed/return")
    assert "return" in figure.meaning
    assert len(tutelage.metrics()) > 40
    with pytest.raises(UserError, match="No figure is called 'retrun'"):
        tutelage.metrics("return", "retrun")
