"""What was tried, what held and what broke, by kind; and what was not tried, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Counts. Every attack is of a kind; one that broke something says what."""

    tried: Counter[str] = field(default_factory=Counter)
    broke: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """What could not be tried here, once for each reason."""

    def note(self, kind: str, problem: str = "") -> None:
        """One attack; ``problem`` is empty if everything held."""
        self.tried[kind] += 1
        if problem:
            self.broke.append((kind, problem))

    def skip(self, kind: str, reason: str) -> None:
        """Something that could not be tried here. It is neither tried nor held."""
        if (kind, reason) not in self.skipped:
            self.skipped.append((kind, reason))

    def add(self, other: Any) -> None:
        """What another process counted, as ``plain`` says it."""
        self.tried.update(other["tried"])
        self.broke += [(kind, problem) for kind, problem in other["broke"]]
        for kind, reason in other["skipped"]:
            self.skip(kind, reason)

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"tried": dict(self.tried), "broke": self.broke, "skipped": self.skipped}

    def table(self) -> str:
        """For a person, and for Markdown."""
        failures, skips = Counter(kind for kind, _ in self.broke), Counter(kind for kind, _ in self.skipped)
        kinds = list(dict.fromkeys([*self.tried, *skips]))
        rows = [(kind, self.tried[kind], failures[kind], skips[kind]) for kind in kinds]
        rows.append(("all", sum(self.tried.values()), len(self.broke), len(self.skipped)))
        lines = [
            f"| {kind} | {tried:,} | {tried - broke:,} | {broke:,} | {skip:,} |" for kind, tried, broke, skip in rows
        ]
        reasons = [f"Not tried: {kind}: {reason}" for kind, reason in self.skipped]
        head = ["| kind | tried | held | broke | not tried |", "|---|---|---|---|---|"]
        return "\n".join([*head, *lines, *([""] if reasons else []), *reasons])
