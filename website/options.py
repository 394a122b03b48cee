"""Settings in the API reference: ``option(0.3, "what it is")`` is shown as the default 0.3 and that sentence."""

from __future__ import annotations

import ast
from typing import Any

import griffe


class Options(griffe.Extension):
    """Reads defaults and help sentences from calls of ``option``."""

    def on_attribute_instance(self, *, node: ast.AST | griffe.ObjectNode, attr: griffe.Attribute, **_: Any) -> None:
        """Called for every attribute that was read."""
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.value, ast.Call):
            return
        call = node.value
        if not isinstance(call.func, ast.Name) or call.func.id not in ("option", "section"):
            return
        if call.func.id == "option":
            default, help_text = call.args[0], call.args[1]
            attr.value = ast.unparse(default)
            attr.docstring = griffe.Docstring(ast.literal_eval(help_text).strip() + ".", parent=attr)
        else:
            attr.value = f"{ast.unparse(call.args[0])}(...)"
