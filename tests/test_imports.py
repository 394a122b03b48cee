"""Imports go downward only, and nothing slow is imported before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tutelage

ROOT = Path(tutelage.__file__).parent

FLOORS = [
    (
        "types",
        "errors",
        "machine",
        "leaving",
        "options",
        "teacher_settings",
        "settings",
        "config",
        "students",
        "devices",
        "seeds",
        "pictures",
        "plugins",
        "visible",
        "regular",
        "trusted",
        "guard",
        "streams",
        "player",
        "glossary",
    ),
    ("rl",),
    ("hosts",),
    ("envs",),
    ("rollout", "scores", "figures", "complexity"),
    ("curricula",),
    ("methods",),
    ("compose", "trainer", "experiment", "checking", "memory"),
    ("evaluation",),
    ("runs",),
    ("report",),
    ("lab",),
    ("reproduce",),
    ("cli",),
]
"""From the ground up. A room may import from its own floor and from those below."""

FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    """The modules of ours that a file imports anywhere, also inside functions. Those for type checkers are left out."""
    package = ["tutelage", *path.relative_to(ROOT).parts[:-1]]
    tree = ast.parse(path.read_text())
    unreal = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in unreal:
            continue
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{name.name}" for name in node.names} if not node.module else {module}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {module for module in found if module.split(".")[0] == "tutelage"}


FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.name not in ("__init__.py", "__main__.py")
)


def test_every_room_has_a_floor():
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert rooms == set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downward_only(path):
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    upward = {module for module in imports(path) if FLOOR[room_of(module)] > FLOOR[here]}
    assert not upward


def test_the_ground_floor_imports_nothing_of_ours_but_errors():
    for name in ("types", "students", "seeds", "errors", "machine"):
        assert imports(ROOT / f"{name}.py") == set()
    for name in ("options", "config", "devices", "pictures"):
        assert imports(ROOT / f"{name}.py") <= {"tutelage.errors"}
    assert imports(ROOT / "teacher_settings.py") == {"tutelage.errors", "tutelage.options"}
    assert imports(ROOT / "settings.py") == {"tutelage.errors", "tutelage.options", "tutelage.teacher_settings"}
    # Whether code had a core at all, and whether what is raised would be heard.
    assert imports(ROOT / "guard.py") == {"tutelage.errors", "tutelage.machine", "tutelage.leaving"}
    assert imports(ROOT / "plugins.py") == {"tutelage.errors", "tutelage.guard"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["train", "maze", "accel", "--help"], ["methods"]])
def test_help_waits_for_nothing_slow(words):
    slow = "{'jax', 'flax', 'optax', 'numpy', 'scipy'} & set(sys.modules)"
    code = f"import sys; from tutelage.cli import main; assert main({words!r}) == 0; print({slow})"
    assert run(code).splitlines()[-1] == "set()"
