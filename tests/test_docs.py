"""What the documentation says can be run, runs; what it links to is there; what its tables say of settings is so."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

import tutelage
from tutelage.config import describe
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.methods.registry import built_in, names

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "benchmarks" / "README.md", *ROOT.glob("docs/**/*.md")])
SETTINGS_PAGES = sorted(
    [
        *(
            ROOT / "docs" / f"{name}.md"
            for name in ("walker", "minigrid", "lava", "fruit", "racing", "procgen", "differences")
        ),
        *ROOT.glob("docs/methods/*.md"),
    ]
)


def by_path(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# --- code


def blocks(name: str) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found


@pytest.mark.parametrize("name", ["docs/python.md", "docs/level-buffer.md", "docs/methods-of-your-own.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile("\n".join(blocks(name)), name, "exec")
    exec(code, {"__name__": "__main__"})


def test_environments_of_the_page_are_accepted(tmp_path: Path) -> None:
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file, text in zip(files, blocks("docs/environments.md"), strict=True):
        file.write_text(text)
        assert tutelage.build(tutelage.preset(str(file), "robust-plr")).students == 1


def test_the_method_of_the_page_trains(tmp_path: Path) -> None:
    file = tmp_path / "again.py"
    file.write_text(blocks("docs/methods-of-your-own.md")[0])
    settings = tutelage.override(tutelage.preset("matrix", str(file)), {"again.share": "0.25", "train.levels": "8"})
    trainer = tutelage.build(settings)
    _, report = tutelage.compiled(trainer, most=2)(trainer.init(seed=0), 2)
    assert report.sources.tolist() == [[0.75, 0.25, 0.0]] * 2
    assert "again/return" in report.metrics


# --- links and commands


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as they are made on the web."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_anchors_are_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), f"{page.name} links to #{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_commands_name_what_exists(page: Path) -> None:
    for environment, method in re.findall(r"tutelage train ([\w-]+) ([a-z-]+)(?![\w.])", page.read_text()):
        assert environment in ENVIRONMENTS
        assert method in names()


def test_every_method_has_a_page_and_a_line_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    table = dict(re.findall(r"^\| \[`([\w-]+)`\]\((docs/methods/[\w-]+\.md)\)", readme, re.MULTILINE))
    assert set(table) == set(built_in())
    for method, page in table.items():
        assert f"`{method}`" in (ROOT / page).read_text()


# --- tables of settings


class Claim(NamedTuple):
    """What a cell of a table says."""

    environment: str
    preset: str
    method: str
    setting: str
    text: str


def tables(text: str) -> list[list[list[str]]]:
    """Every table as rows of cells; the line under the header is left out."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for i, line in enumerate(table.splitlines()) if i != 1]
        for table in found
    ]


def claims(page: Path) -> list[Claim]:
    """Of the tables whose first column is ``setting``.

    A column says in its header, in backticks, for which environments (without one, the maze), presets (without one,
    all of these environments) and methods (without one, that of the page) its values are. Other columns are remarks.
    """
    found = []
    for header, *rows in tables(page.read_text()):
        if header[0] != "setting":
            continue
        for column, title in enumerate(header):
            words = re.findall(r"`([^`]+)`", title)
            if not words:
                continue
            environments = [word for word in words if word in ENVIRONMENTS] or ["maze"]
            methods = [word for word in words if word in names()] or [page.stem]
            presets = [word for word in words if word not in {*ENVIRONMENTS, *names()}]
            for environment, method in product(environments, methods):
                for preset in presets or ENVIRONMENTS[environment].presets:
                    for row in rows:
                        (setting,) = re.findall(r"`([^`]+)`", row[0])
                        found.append(Claim(environment, preset, method, setting, row[column]))
    return found


def value(claim: Claim) -> str | float:
    settings = tutelage.preset(claim.environment, claim.method, claim.preset)
    known = {name.removeprefix("curriculum."): text for name, _, text, _ in describe(settings)}
    assert claim.setting in known, f"{claim.method} has no {claim.setting}"
    return number(known[claim.setting])


def number(text: str) -> str | float:
    try:
        return float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return text


@pytest.mark.parametrize("page", SETTINGS_PAGES, ids=by_path)
def test_tables_of_settings_are_those_of_the_presets(page: Path) -> None:
    found = claims(page)
    assert len(found) >= 10
    for claim in found:
        assert number(claim.text) == value(claim), claim


def test_the_readme_lists_all_presets_with_their_length() -> None:
    (table,) = [rows for rows in tables((ROOT / "README.md").read_text()) if rows[0][:2] == ["environment", "preset"]]
    listed: dict[str, list[str]] = {name: [] for name in ENVIRONMENTS}
    environment = ""
    for first, second, *_, dr, accel in table[1:]:
        environment = (re.findall(r"`([\w-]+)`", first) or [environment if not first else ""])[0]
        if environment not in ENVIRONMENTS:
            continue
        (preset,) = re.findall(r"`([\w-]+)`", second)
        listed[environment].append(preset)
        assert ("(default)" in second) == (preset == ENVIRONMENTS[environment].default_preset), preset
        for method, text in (("dr", dr), ("accel", accel)):
            steps = tutelage.preset(environment, method, preset).train.steps
            assert text == f"{steps / 1e6:,.0f}M", (preset, method, steps)
    assert listed == {name: list(entry.presets) for name, entry in ENVIRONMENTS.items()}


def test_the_architecture_names_every_file_that_steps_environments() -> None:
    """Wrappers step what they wrap, and are environments themselves."""
    source = ROOT / "src" / "tutelage"
    steps = re.compile(r"(env|task|environments\[slot\])\.step\b")
    stepping = {path.relative_to(source) for path in source.rglob("*.py") if steps.search(path.read_text())}
    (sentence,) = re.findall(
        r"Environments are stepped by (.*?)\n\n", (ROOT / "docs/architecture.md").read_text(), re.S
    )
    named = set(re.findall(r"`([\w./]+)`", sentence))
    assert {f"{path.parts[0]}/" if path.parts[0] == "hosts" else str(path) for path in stepping} == named | {
        "envs/wrappers.py"
    }
    assert len((ROOT / "docs/architecture.md").read_text().splitlines()) <= 80
