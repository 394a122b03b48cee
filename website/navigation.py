"""A folder in the navigation: ``results/*`` stands for all pages of that folder, its README first."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def expanded(entries: list[Any], docs: Path) -> list[Any]:
    """A list of the navigation with every folder as its pages."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("/*"):
            pages = sorted((docs / entry[:-2]).glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
            found += [page.relative_to(docs).as_posix() for page in pages]
        elif isinstance(entry, dict):
            found.append({k: expanded(v, docs) if isinstance(v, list) else v for k, v in entry.items()})
        else:
            found.append(entry)
    return found


def on_config(config: Any) -> Any:
    """Called once the configuration was read."""
    config.nav = expanded(config.nav, Path(config.docs_dir))
    return config
