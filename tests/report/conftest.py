from __future__ import annotations

from pathlib import Path

import pytest

from .made_runs import ACCEL, DR, seeds


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return seeds(tmp_path, "dr", DR) + seeds(tmp_path, "accel", ACCEL)
