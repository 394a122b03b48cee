"""A page and everything that it needs as one file: style sheets, modules and data go into it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

WEB = Path(__file__).parents[1] / "web"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_STYLE = re.compile(r'<link rel="stylesheet" href="([\w-]+\.css)">')
_SCRIPT = re.compile(r'<script type="module" src="([\w-]+\.js)"></script>')
_DATA = re.compile(r'(<script type="application/json" id="content">)(</script>)')


def bundle(page: str, content: Any) -> str:
    """One of the pages of ``web/`` with its style sheets, its modules and its content inside."""
    text = _read(page)
    # Replaced by functions: the files may hold backslashes, which a plain replacement would read.
    text = _STYLE.sub(lambda found: f"<style>\n{_read(found[1])}</style>", text)
    text = _SCRIPT.sub(lambda found: f'<script type="module">\n{modules(found[1])}</script>', text)
    return _DATA.sub(lambda found: f"{found[1]}{embedded(content)}{found[2]}", text)


def modules(name: str) -> str:
    """A module and those that it imports as one text, each once and after what it needs.

    They share one scope then. A name that two of them declare is a syntax error, so it cannot pass unnoticed.
    """
    order: list[str] = []

    def visit(module: str) -> None:
        if module not in order:
            for _, needed in _IMPORT.findall(_read(module)):
                visit(needed)
            order.append(module)

    visit(name)
    return "\n".join(_inlined(module) for module in order)


def _inlined(module: str) -> str:
    text = _IMPORT.sub("", _read(module))
    text = re.sub(r"^export (?=(async )?(function|const|let|class) )", "", text, flags=re.MULTILINE)
    left = re.findall(r"^(?:import|export)\b.*", text, re.MULTILINE)
    assert not left, f"{module} has a line that cannot be inlined: {left[0]}"
    assert "</script" not in text, f"{module} would end its own script"
    return f"// --- {module}\n\n{text}"


def embedded(content: Any) -> str:
    """Data as JSON that stays data whatever is in it: no tag can begin in it."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")
