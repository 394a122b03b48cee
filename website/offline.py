"""A page of the site loads nothing from the network. This hook of MkDocs looks at every file that was built.

Links that a reader may click are no loads. What a script would fetch cannot be seen here: the theme's own scripts fetch
from a network for diagrams and for figures of a code host, neither of which is used.
"""

from __future__ import annotations

import logging
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.offline")
FOREIGN = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
NAMED = {"canonical", "alternate", "prev", "next", "author", "license"}
"""Kinds of ``<link>`` that name a page and load nothing."""


class Loads(HTMLParser):
    """Collects the addresses that a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.style = tag == "style"
        loaded = [given.get(name, "") for name in ("src", "poster", "data")]
        if tag == "link" and not set(given.get("rel", "").split()) <= NAMED:
            loaded.append(given.get("href", ""))
        loaded += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        loaded += IN_STYLES.findall(given.get("style", ""))
        self.found += [address for address in loaded if FOREIGN.match(address)]

    def handle_data(self, data: str) -> None:
        if self.style:
            self.found += IN_STYLES.findall(data)


def loads(text: str) -> list[str]:
    """Addresses on a network that a page of HTML loads."""
    page = Loads()
    page.feed(text)
    page.close()
    return page.found


def foreign(site: Path) -> dict[str, list[str]]:
    """By file of the built site, what it loads from a network."""
    found = {}
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            found[path.relative_to(site).as_posix()] = loads(path.read_text())
        elif path.suffix in (".css", ".svg"):
            found[path.relative_to(site).as_posix()] = IN_STYLES.findall(path.read_text())
    return {name: addresses for name, addresses in found.items() if addresses}


def on_post_build(config: Any) -> None:
    """Complains, which ends a strict build."""
    for name, addresses in foreign(Path(config.site_dir)).items():
        log.warning("%s loads %s from the network.", name, ", ".join(addresses))
