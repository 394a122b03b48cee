"""Text of unknown origin, as it may be shown: a name must not move a terminal's cursor or change its colours."""

from __future__ import annotations

import re

_OBEYED = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, separators of lines, marks that turn the direction of writing, and halves of characters."""
_IN_TEXT, _IN_A_LINE = re.compile(f"[{_OBEYED}]"), re.compile(f"[\t\n{_OBEYED}]")


def visible(text: str) -> str:
    """Text with everything spelled out that a terminal would obey; lines may end."""
    return _IN_TEXT.sub(_spelled, text)


def one_line(text: str) -> str:
    """The same on one line: for names."""
    return _IN_A_LINE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
