"""An environment from a file of the user's. JAX is imported by the file, not here."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError, require
from ...hosts.simulator import load_file
from ...settings import Settings
from .definition import Gymnasium
from .settings import standard

if TYPE_CHECKING:
    from ..base import Domain
    from ..published import Published

NAME = "environment"


@dataclass(frozen=True)
class FileEntry:
    """What the registry offers for a file, as for an environment of ours."""

    name: str
    """The absolute path: a run can be resumed from anywhere."""
    default_preset: str = "standard"
    published: tuple[Published, ...] = ()

    @property
    def summary(self) -> str:
        return f"the environment of {self.name}"

    @property
    def presets(self) -> Mapping[str, Callable[[str], Settings]]:
        return {"standard": partial(_preset, self.name)}

    def build(self, settings: Any) -> Domain:
        """Build the environment from its part of the settings (``Settings.env``)."""
        from .domain import build

        return build(self.name, definition(self.name), settings)


def entry(path: str) -> FileEntry:
    """The environment of a file that exists."""
    file = Path(path).expanduser().resolve()
    require(
        file.is_file(),
        f"There is no file {path}; give the path of a Python file that defines '{NAME}', or an environment's name.",
    )
    return FileEntry(str(file))


def _preset(path: str, method: str) -> Settings:
    """A small student of vectors, and PPO's usual settings for them, with what the file changes."""
    from ...config import override

    return override(standard(path, method), definition(path).settings)


@lru_cache(maxsize=16)
def definition(path: str) -> Gymnasium:
    """What a file says about its environment."""
    try:
        module = load_file(path)
    except Exception as problem:
        frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == path]
        line = f", line {frames[-1].lineno}" if frames else ""
        if isinstance(problem, SyntaxError):
            line = f", line {problem.lineno}"
        raise UserError(
            f"{path}{line} could not be run: {type(problem).__name__}: {problem}. Correct it there."
        ) from problem
    found = getattr(module, NAME, None)
    require(
        isinstance(found, Gymnasium),
        f"{path} defines no environment: give it a line such as `{NAME} = tutelage.Gymnasium(make=..., sample=...)`."
        if found is None
        else f"'{NAME}' in {path} is of type {type(found).__name__}; make it a tutelage.Gymnasium(...).",
    )
    assert isinstance(found, Gymnasium)
    return found
