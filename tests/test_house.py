"""Rules of the house that no other tool looks after."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 500
"""Lines of a file. One that needs more does more than one thing."""


def written_files() -> list[Path]:
    found = []
    for folder, inside, files in os.walk(ROOT):
        inside[:] = [name for name in inside if not name.startswith(".") and name not in ("build", "dist")]
        found += [Path(folder, name) for name in files if name.endswith((".py", ".js", ".css"))]
    return found


def test_no_file_is_too_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in written_files()}
    assert {"src/tutelage/trainer.py", "tests/test_house.py"} <= set(lengths)
    assert {name: lines for name, lines in lengths.items() if lines > MOST} == {}
