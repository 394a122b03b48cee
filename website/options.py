"""Settings in the API reference: the fields ``name: type = option(default, help)`` of a section as one table."""

from __future__ import annotations

import ast
from typing import Any

import griffe


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(node: ast.ClassDef) -> str:
    """The fields of a section that ``option`` made, in Markdown; empty where there are none."""
    rows = []
    for field in node.body:
        match field:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=kind, value=ast.Call(func=ast.Name(id="option"), args=args)
            ):
                default, sentence = ast.unparse(args[0]), str(ast.literal_eval(args[1]))
                rows.append(f"| `{name}` | `{_cell(ast.unparse(kind))}` | `{default}` | {_cell(sentence)} |")
    return "\n".join(["| name | type | default | what |", "|---|---|---|---|", *rows]) if rows else ""


class Options(griffe.Extension):
    """Adds the table to the docstring of every section."""

    def on_class_members(self, *, node: ast.AST | griffe.ObjectNode, cls: griffe.Class, **_: Any) -> None:
        """Called for every class whose members have been read."""
        made = table(node) if isinstance(node, ast.ClassDef) else ""
        if made and cls.docstring:
            cls.docstring.value += f"\n\n{made}"
