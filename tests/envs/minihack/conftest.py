"""These tests are left out where the extra ``minihack`` is not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("minihack") and find_spec("nle") else ["test_*.py"]
