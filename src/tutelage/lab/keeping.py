"""Levels that people keep, in the one file that a lab writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import UserError, require
from ..evaluation.suite_file import LARGEST, Entry, format_entries, read_entries
from ..runs.files import write_atomically

MOST_COMMENT = 500


class Keeper:
    """A file of levels, which is a suite."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Entry]:
        """What was kept so far."""
        return read_entries(self.path) if self.path.exists() else []

    def keep(self, name: Any, comment: Any, text: str) -> dict[str, Any]:
        """Add a level at the end. What is there stays as it is, comments included."""
        require(isinstance(name, str), "The name is missing; call the level something.")
        require(
            isinstance(comment, str) and len(comment) <= MOST_COMMENT and (comment.isprintable() or not comment),
            f"The comment has to be one line of at most {MOST_COMMENT} letters.",
        )
        new = format_entries([Entry(name.strip(), text, comment)])
        there = self.entries()
        if any(entry.name == name.strip() for entry in there):
            raise UserError(f"A level called '{name.strip()}' is in {self.path.name} already; choose another name.")
        before = self.path.read_text(encoding="utf-8") if there else self._head()
        whole = f"{before.rstrip()}\n\n{new}"
        require(len(whole.encode()) <= LARGEST, f"{self.path.name} is full; start the lab with another --keep.")
        write_atomically(self.path, whole.encode())
        return {"file": self.path.name, "levels": len(there) + 1}

    def _head(self) -> str:
        return (
            f"// Levels kept with `tutelage lab`. Play them: tutelage eval RUN --suite {self.path.name}\n"
            "// A line that begins with == is a name, one that begins with // a comment."
        )
