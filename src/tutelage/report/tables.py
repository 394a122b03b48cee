"""A table of words, to be printed, put into Markdown or into HTML. All three show the same words."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from ..visible import one_line


class Cell(NamedTuple):
    """What a table shows in one place."""

    text: str
    bold: bool = False


class Table(NamedTuple):
    """Columns with names; the first names the rows."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    last_apart: bool = False
    """The last row sums up the others."""


def row(*words: str | Cell) -> tuple[Cell, ...]:
    """Cells, of which some need no more than their text."""
    return tuple(word if isinstance(word, Cell) else Cell(word) for word in words)


def to_text(table: Table) -> str:
    """For a terminal: bold figures have a mark, since not every terminal has bold letters."""
    marked = [list(table.columns), *([_marked(cell) for cell in cells] for cells in table.rows)]
    lines = [[one_line(word) for word in line] for line in marked]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    printed = [
        "  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    if table.last_apart:
        printed.insert(-1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(printed)


def _marked(cell: Cell) -> str:
    return f"[{cell.text}]" if cell.bold else cell.text


def to_markdown(table: Table) -> str:
    """Without its caption, which is for the page to place."""
    lines = [list(table.columns), ["---"] * len(table.columns)]
    lines += [[f"**{plain(cell.text)}**" if cell.bold else plain(cell.text) for cell in cells] for cells in table.rows]
    lines[0] = [plain(name) for name in lines[0]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Text that Markdown does not take for markup."""
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def to_html(table: Table) -> str:
    """With row headers. It scrolls sideways by itself where it is wider than the screen."""
    # The number of seeds stays in one piece where a narrow screen breaks lines.
    names = [escape(name).replace("n = ", "n&nbsp;=&nbsp;") for name in table.columns]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = ""
    for number, (name, *cells) in enumerate(table.rows, start=1):
        apart = ' class="apart"' if table.last_apart and number == len(table.rows) else ""
        figures = "".join(
            f"<td><b>{escape(cell.text)}</b></td>" if cell.bold else f"<td>{escape(cell.text)}</td>" for cell in cells
        )
        body += f'<tr{apart}><th scope="row">{escape(name.text)}</th>{figures}</tr>\n'
    return (
        f'<h3>{escape(table.caption)}</h3>\n<div class="scroll"><table aria-label="{escape(table.caption)}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )
