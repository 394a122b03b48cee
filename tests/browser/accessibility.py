"""What can be checked of a page's accessibility by looking at it: WCAG 2.2, level AA, where a program can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_NAMED = {
    *("button", "checkbox", "radio", "combobox", "textbox", "spinbutton", "slider", "link", "img", "application"),
    *("tab", "listbox", "switch", "searchbox", "progressbar", "meter", "Canvas"),
}

_LOOKS = Path(__file__).with_suffix(".js").read_text()


def problems(page: Any) -> list[str]:
    """Of names, contrasts, sizes, headings and references, as the page is now."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    found = [
        f"a {node['role']['value']} has no name"
        for node in nodes
        if not node.get("ignored")
        and node["role"]["value"] in _NAMED
        and not node.get("name", {}).get("value", "").strip()
    ]
    session.detach()
    return found + _asked(page, "look")


def focus_problems(page: Any, most: int = 200) -> list[str]:
    """Go through the page with the tabulator key: in the order of the page, always to be seen, and out again."""
    found, last = [], -1
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    for reached in range(most):
        page.keyboard.press("Tab")
        at = _asked(page, "focused")
        if at is None or at["place"] < last:  # the browser's own parts, or the beginning again
            return found if reached > 5 else [*found, f"only {reached} elements can be reached by keyboard"]
        last = at["place"]
        if not at["marked"]:
            found.append(f"{at['told']}: the focus is not to be seen")
    return [*found, "the focus does not leave the page"]


def _asked(page: Any, name: str) -> Any:
    return page.evaluate(f"() => (\n{_LOOKS}\n).{name}()")
