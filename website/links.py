"""Links that work on a code host and on the site.

Pages are written for the repository: a link is a path in it, also where that leads out of ``docs/``, as in
``../examples/corridor.py`` or ``docs/maze.md`` of the README. The site has what such links lead to (pages of Markdown
as pages, source files and notebooks as pages that show them, pictures as they are), and this hook of MkDocs turns every
link into the one that leads there. The README is the home page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ALSO = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages outside of ``docs/`` that are on the site whether something links to them or not."""
COPIED = {".png", ".gif", ".svg", ".jpg", ".html"}
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".cff": "yaml", ".js": "javascript"}

LINK = re.compile(r"(\]\(|\b(?:src|href)=\")([^)\s#\":]+)(#[^)\s\"]*)?(?=[)\"])")
CODE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def targets(text: str, folder: Path) -> list[Path]:
    """Files that a page in this folder links to."""
    bare = CODE.sub("", text)
    return [(folder / match[2]).resolve() for match in LINK.finditer(bare)]


def address(path: Path) -> str:
    """Where a file of the repository is on the site, as MkDocs names sources."""
    if path == ROOT / "README.md":
        return "index.md"
    name = path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix()
    return name if path.suffix == ".md" or path.suffix in COPIED else f"{name}.md"


def reached() -> list[Path]:
    """What the site needs from outside of ``docs/``: pages, and what they and those in ``docs/`` link to."""
    found: list[Path] = []
    waiting = [*(ROOT / name for name in ALSO), *sorted(DOCS.rglob("*.md"))]
    while waiting:
        path = waiting.pop(0)
        if path in found or not path.is_file() or not path.is_relative_to(ROOT):
            continue  # MkDocs complains about links that lead nowhere
        found.append(path)
        if path.suffix == ".md":
            waiting += targets(path.read_text(), path.parent)
    return [path for path in found if not path.is_relative_to(DOCS)]


def shown(path: Path) -> str:
    """A page that shows a source file."""
    title = f"# `{path.relative_to(ROOT).as_posix()}`\n\n"
    if path.suffix == ".ipynb":
        return "\n\n".join(_cell(cell) for cell in json.loads(path.read_text())["cells"])
    fence = "````"
    return f"{title}{fence}{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n{fence}\n"


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"]).rstrip()
    return text if cell["cell_type"] == "markdown" else f"````python\n{text}\n````"


def relinked(text: str, here: Path) -> str:
    """The text of a page of the repository with the links of the site."""

    def relink(match: re.Match[str]) -> str:
        before, target, anchor = match[1], match[2], match[3] or ""
        path = (here.parent / target).resolve()
        if not path.is_file() or not path.is_relative_to(ROOT):
            return match[0]
        return f"{before}{relpath(address(path), dirname(address(here)) or '.')}{anchor}"

    pieces, last = [], 0
    for code in CODE.finditer(text):
        pieces += [LINK.sub(relink, text[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*pieces, LINK.sub(relink, text[last:])])


def on_files(files: Files, config: Any) -> Files:
    """Adds what is outside of ``docs/``."""
    for path in reached():
        inclusion = InclusionLevel.INCLUDED if path.name in ALSO else InclusionLevel.NOT_IN_NAV
        if path.suffix in COPIED:
            files.append(File.generated(config, address(path), abs_src_path=str(path)))
        else:
            text = path.read_text() if path.suffix == ".md" else shown(path)
            files.append(File.generated(config, address(path), content=relinked(text, path), inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns the links of pages in ``docs/``; those from elsewhere have been."""
    here = DOCS / page.file.src_uri
    return relinked(markdown, here) if here.is_file() and page.file.generated_by is None else markdown
