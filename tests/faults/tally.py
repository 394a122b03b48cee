"""What was tried, what held and what broke, by kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts. Every attack is of a kind; one that broke something says what."""

    tried: Counter[str] = field(default_factory=Counter)
    broke: list[tuple[str, str]] = field(default_factory=list)

    def note(self, kind: str, problem: str = "") -> None:
        """One attack; ``problem`` is empty if everything held."""
        self.tried[kind] += 1
        if problem:
            self.broke.append((kind, problem))

    def table(self) -> str:
        """For a person, and for Markdown."""
        failures = Counter(kind for kind, _ in self.broke)
        rows = [(kind, self.tried[kind], self.tried[kind] - failures[kind], failures[kind]) for kind in self.tried]
        rows.append(("all", sum(self.tried.values()), sum(self.tried.values()) - len(self.broke), len(self.broke)))
        lines = [f"| {kind} | {tried:,} | {held:,} | {broke:,} |" for kind, tried, held, broke in rows]
        return "\n".join(["| kind | tried | held | broke |", "|---|---|---|---|", *lines])
